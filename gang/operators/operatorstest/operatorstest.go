// Package operatorstest lets tests ask to what pods belong, in a dump of objects as their controllers make them.
package operatorstest

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators"
)

// Load returns a cluster with the objects of dumps, in which kinds are switched on: all if none is named.
func Load(all []operators.Kind, on []config.GangKind, paths ...string) (*cluster.Cluster, error) {
	if on == nil {
		on = config.GangKinds()
	}
	set := operators.NewSet(all, on)
	c := cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour, Affiliator: set,
	})
	if _, err := c.Load(paths, nil, set.Dumped(c)...); err != nil {
		return nil, err
	}
	return c, nil
}

// Expect holds what pods of a dump belong to against what is expected, as [Members] says it, where one kind is known.
func Expect(t *testing.T, kind operators.Kind, path string, want map[string]string) {
	t.Helper()
	c, err := Load([]operators.Kind{kind}, nil, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Members(c)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// Members says of each pod of a cluster, by its name, to what it belongs: as in "train: 4", "ray/head: 1 with ray/gpu", "train: 4,
// assisted", "leaf: 2 in root:2/branch:1", "single: why", or "left: why" where that is for kube-scheduler.
// What is asked of the network comes last, see near.
func Members(c *cluster.Cluster) map[string]string {
	bounds := membership.Bounds{Timeout: time.Minute, MaxTimeout: time.Hour, MaxMembers: 10_000}
	told := map[string]string{}
	for _, pod := range c.Pending() {
		if membership.Left(pod) {
			told[pod.Name] = "left: " + pod.Affiliation.Why
			continue
		}
		key, member := membership.Of(pod)
		if !member {
			told[pod.Name] = "single: " + pod.Affiliation.Why
			continue
		}
		spec := bounds.Said(slices.Values([]*cluster.Pod{pod}))
		if not := membership.Unasked(key, spec); not != nil {
			told[pod.Name] = "waits: " + not.Why
			continue
		}
		told[pod.Name] = fmt.Sprintf("%s: %d", key.Name, spec.MinMember)
		if spec.Assisted {
			told[pod.Name] += ", assisted"
		}
		var with []string
		for _, name := range spec.Policy.Groups {
			if name != key.NamespacedName {
				with = append(with, name.Name)
			}
		}
		if len(with) > 0 {
			told[pod.Name] += " with " + strings.Join(with, ", ")
		}
		var above []string
		for _, group := range spec.Above {
			above = append(above, fmt.Sprintf("%s:%d", group.Name, group.AtLeast))
		}
		if len(above) > 0 {
			told[pod.Name] += " in " + strings.Join(above, "/")
		}
		told[pod.Name] += near(&spec.Policy.Topology)
		for i := range spec.Within {
			told[pod.Name] += near(&spec.Within[i].Topology) + " of " + spec.Within[i].Name
		}
	}
	return told
}

// near says what members ask of the network, as in ", one zone, few rack", by keys without what comes before a slash.
func near(t *v1alpha1.Topology) (told string) {
	levels := append(slices.Clone(t.Levels), corev1.LabelHostname)
	for i, key := range levels {
		short := key[strings.LastIndex(key, "/")+1:]
		switch {
		case t.Required == i+1:
			told += ", one " + short
		case i < len(t.Levels) || t.Nodes:
			told += ", few " + short
		}
	}
	return told
}
