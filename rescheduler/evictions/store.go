package evictions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"muster.dev/muster/cluster"
)

// Store keeps a text for later processes.
type Store interface {
	// Load returns the text that is stored and its version; both are "" when nothing is.
	Load(ctx context.Context) (text, version string, err error)
	// Save replaces the text of a version, and returns the new one. Somebody else's text is not replaced: that
	// is an error of the API server's (a conflict, not found, or already there).
	Save(ctx context.Context, text, version string) (newVersion string, err error)
}

// dataKey is where the evictions are in the ConfigMap.
const dataKey = "evictions"

// callTimeout is how long the API server may take to answer.
const callTimeout = 10 * time.Second

// ConfigMap is a [Store] in the API server.
type ConfigMap struct {
	client typedcorev1.ConfigMapInterface
	name   string
}

// NewConfigMap returns the store of a name, in the namespace of the client.
func NewConfigMap(client typedcorev1.ConfigMapInterface, name string) *ConfigMap {
	return &ConfigMap{client, name}
}

// Load implements [Store].
func (c *ConfigMap) Load(ctx context.Context) (text, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, err := c.client.Get(ctx, c.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("ConfigMap %s: %w", c.name, err)
	}
	return object.Data[dataKey], object.ResourceVersion, nil
}

// Save implements [Store].
func (c *ConfigMap) Save(ctx context.Context, text, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if version != "" {
		return c.change(ctx, text, version)
	}
	object, err := c.client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: map[string]string{
			"app.kubernetes.io/name": "muster", "app.kubernetes.io/component": "rescheduler",
		}},
		Data: map[string]string{dataKey: text},
	}, metav1.CreateOptions{FieldManager: cluster.FieldManager})
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s: %w", c.name, err)
	}
	return object.ResourceVersion, nil
}

// change replaces the text of that version. Whatever others have put on the object stays.
func (c *ConfigMap) change(ctx context.Context, text, version string) (string, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": version}, "data": map[string]string{dataKey: text},
	})
	if err != nil {
		return "", err
	}
	object, err := c.client.Patch(ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager})
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s: %w", c.name, err)
	}
	return object.ResourceVersion, nil
}

var _ Store = (*ConfigMap)(nil)

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
