package predicates

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// Profiles are the verdict stores of the profiles in force, by scheduler name. They are
// replaced as a whole while others ask: who was given a store goes on with it. All stores
// are about the same cluster, so that pods of several profiles cannot race for a node. It is
// safe for concurrent use.
type Profiles struct {
	inForce atomic.Pointer[inForce]
}

// inForce is one set of profiles. It is immutable.
type inForce struct {
	stores   map[string]*VerdictStore
	replaced chan struct{} // closed when there are others
}

// NewProfiles returns profiles of different names.
func NewProfiles(stores ...*VerdictStore) *Profiles {
	p := &Profiles{}
	p.inForce.Store(newInForce(stores))
	return p
}

func newInForce(stores []*VerdictStore) *inForce {
	set := &inForce{stores: make(map[string]*VerdictStore, len(stores)), replaced: make(chan struct{})}
	for _, store := range stores {
		set.stores[store.Profile.Name] = store
	}
	return set
}

// Of returns the store of a scheduler name, nil when there is no such profile. The empty name
// means the default scheduler, as for the API server.
func (p *Profiles) Of(schedulerName string) *VerdictStore {
	if schedulerName == "" {
		schedulerName = corev1.DefaultSchedulerName
	}
	return p.inForce.Load().stores[schedulerName]
}

// Named is Of. The error for a name that no profile has lists the names of all profiles.
func (p *Profiles) Named(schedulerName string) (*VerdictStore, error) {
	if store := p.Of(schedulerName); store != nil {
		return store, nil
	}
	var known []string
	for _, store := range p.Stores() {
		known = append(known, store.Profile.Name)
	}
	return nil, fmt.Errorf("no profile for spec.schedulerName %q; the profiles are: %s", schedulerName, strings.Join(known, ", "))
}

// Stores returns the stores of all profiles, by name.
func (p *Profiles) Stores() []*VerdictStore {
	stores := p.inForce.Load().stores
	var all []*VerdictStore
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		all = append(all, stores[name])
	}
	return all
}

// Replace puts other profiles in force, all at once.
func (p *Profiles) Replace(stores ...*VerdictStore) {
	close(p.inForce.Swap(newInForce(stores)).replaced)
}

// Replaced is closed once the profiles that are in force now are so no more.
func (p *Profiles) Replaced() <-chan struct{} { return p.inForce.Load().replaced }
