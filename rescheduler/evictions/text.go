package evictions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxBytes bounds what is stored, below what the API server takes for one object. It is room for some thousands of
// evictions.
const maxBytes = 900_000

var errFull = errors.New("the record of evictions is full: nothing is evicted until some of them are old enough")

// entry is an eviction as it is stored.
type entry struct {
	Pod        types.UID `json:"pod"`
	Plan       types.UID `json:"plan"`
	Controller types.UID `json:"controller,omitempty"`
	Node       string    `json:"node"`
	Budgets    []string  `json:"budgets,omitempty"`
	Differs    bool      `json:"differs,omitempty"`
	// AgeSeconds is how long ago it was asked for when all of them were stored.
	AgeSeconds int64 `json:"ageSeconds"`
}

// oldest is an age beyond which nothing is remembered, and that no arithmetic on times overflows with.
const oldest = int64(math.MaxInt64 / time.Second / 4)

func encode(evictions []Eviction, now time.Time) (string, error) {
	entries := make([]entry, 0, len(evictions))
	for i := range evictions {
		e := &evictions[i]
		entries = append(entries, entry{
			Pod: e.Pod, Plan: e.Plan, Controller: e.Controller, Node: e.Node, Budgets: e.Budgets, Differs: e.Differs,
			AgeSeconds: max(0, int64(now.Sub(e.At)/time.Second)),
		})
	}
	text, err := json.Marshal(entries)
	if err == nil && len(text) > maxBytes {
		err = errFull
	}
	return string(text), err
}

// decode is the reverse of encode. "" is no eviction.
func decode(text string, now time.Time) ([]Eviction, error) {
	if text == "" {
		return []Eviction{}, nil
	}
	var entries []entry
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", dataKey, err)
	}
	evictions := make([]Eviction, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.Pod == "" || e.AgeSeconds < 0 || e.AgeSeconds > oldest {
			return nil, fmt.Errorf("%s[%d]: pod %q, ageSeconds %d: want a UID, and from 0 to %d seconds", dataKey, i, e.Pod, e.AgeSeconds, oldest)
		}
		evictions = append(evictions, Eviction{
			Pod: e.Pod, Plan: e.Plan, Controller: e.Controller, Node: e.Node, Budgets: e.Budgets, Differs: e.Differs,
			At: now.Add(-time.Duration(e.AgeSeconds) * time.Second),
		})
	}
	return evictions, nil
}
