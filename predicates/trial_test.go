package predicates

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestATrialMayRelyOnWhatDigestsSayOfThemselves draws two nodes and pods that come to
// them. A digest that does not mind a pod must say the same when it has come, and nodes of
// one group must be judged and rated alike.
func TestATrialMayRelyOnWhatDigestsSayOfThemselves(t *testing.T) {
	profile, err := NewProfile(
		withEveryPlugin(profileWith(config.ServiceAffinity, &config.ServiceAffinityArgs{AffinityLabels: []string{"zone"}})),
	)
	if err != nil {
		t.Fatal(err)
	}
	minded, unminded, alike := map[string]bool{}, map[string]bool{}, map[string]bool{}
	lacking := func() (never []string) {
		for name := range unminded {
			if !alike[name] && name != config.NodeVolumeLimits+" filter" {
				never = append(never, fmt.Sprintf("to %s no two nodes are ever alike", name))
			}
		}
		for _, name := range []string{config.PodTopologySpread, config.InterPodAffinity} {
			for _, name := range []string{name + " filter", name + " score"} {
				if !minded[name] || !unminded[name] {
					never = append(never, fmt.Sprintf("%s minds pods: %v, does not: %v; both should come up", name, minded[name], unminded[name]))
				}
			}
		}
		return never
	}
	seeded.Until(t, func() bool { return len(lacking()) == 0 }, func(t *rapid.T) {
		c := newCluster()
		setNode(t, c, "a")
		setNode(t, c, "b")
		setVolumes(t, c)
		if err := c.Set(service("x", map[string]string{"app": "x"})); err != nil {
			t.Fatal(err)
		}
		snap := c.Snapshot()
		a, b := crowd(t, snap.NodeByName("a")), crowd(t, snap.NodeByName("b"))
		pod, comes := cluster.NewPod(drawPod(t)), cluster.NewPod(drawPod(t))
		says := map[string]saying{}
		for _, predicate := range profile.predicates {
			check := predicate.For(pod, snap)
			if digest, ok := check.(Digest); ok {
				says[predicate.Name()+" filter"] = saying{digest, func() [2]int64 {
					return [2]int64{int64(check.Verdict(a)), int64(check.Verdict(b))}
				}, func() bool {
					spanning, ok := check.(Spanning)
					return ok && spanning.Group(a) == spanning.Group(b)
				}}
			}
		}
		for _, score := range profile.scores {
			if among := score.For(pod, snap).Among; among != nil {
				says[score.Name()+" score"] = saying{among, func() (rates [2]int64) {
					among.Rate([]int32{a.Index, b.Index}, nil, rates[:])
					return rates
				}, func() bool { return among.Group(a.Index) == among.Group(b.Index) }}
			}
		}
		for name, s := range says {
			suppose(s.digest, snap, a, b)
			before := s.says()
			if s.alike() {
				if alike[name] = true; before[0] != before[1] {
					t.Fatalf("%s says %d of nodes of one group", name, before)
				}
			}
			m, ok := s.digest.(mindful)
			if !ok || m.minds(comes) {
				minded[name] = true
				continue
			}
			unminded[name] = true
			s.digest.Suppose(snap, a.WithPod(comes))
			if after := s.says(); after != before {
				t.Fatalf("%s does not mind a pod, and says %d before it comes and %d then", name, before, after)
			}
		}
	})
	for _, never := range lacking() {
		t.Error(never)
	}
}

// saying is a digest and what a plugin says by it of two nodes.
type saying struct {
	digest Digest
	says   func() [2]int64
	alike  func() bool
}
