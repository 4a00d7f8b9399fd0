package cluster

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

const zone = "topology.kubernetes.io/zone"

func inZone(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[zone] = name }
}

func TestDomains(t *testing.T) {
	c := newCluster(t)
	set(
		t, c, nodeObject("a", inZone("x")), nodeObject("b", inZone("y")), nodeObject("c", inZone("x")), nodeObject("d"),
		nodeObject("e", inZone("")),
	)
	before := c.Snapshot()
	d := before.Domains(zone)
	of := func(s *Snapshot, name string) int32 { return s.Domains(zone).Of(s.NodeByName(name).Index) }

	t.Run("nodes with the same value are in one domain", func(t *testing.T) {
		if of(before, "a") != of(before, "c") || of(before, "a") == of(before, "b") {
			t.Errorf("a, b and c are in %d, %d and %d, their zones are x, y and x", of(before, "a"), of(before, "b"), of(before, "c"))
		}
	})
	t.Run("an empty value is a domain, no label is none", func(t *testing.T) {
		if of(before, "e") < 0 || of(before, "e") == of(before, "a") || of(before, "e") == of(before, "b") {
			t.Errorf("the node with the empty label is in %d", of(before, "e"))
		}
		if of(before, "d") != -1 {
			t.Errorf("the node without the label is in %d", of(before, "d"))
		}
	})
	t.Run("an index without a node is in no domain", func(t *testing.T) {
		for _, index := range []int32{-1, 5, 1000} {
			if id := d.Of(index); id != -1 {
				t.Errorf("index %d is in %d", index, id)
			}
		}
	})
	t.Run("a number not in use has no members", func(t *testing.T) {
		for _, id := range []int32{-1, int32(d.End()), 1000} {
			if members := slices.Collect(d.Members(id)); members != nil {
				t.Errorf("domain %d has the members %d", id, members)
			}
		}
	})
	t.Run("a key that no node has makes no domains", func(t *testing.T) {
		if none := before.Domains("none"); none.End() != 0 || none.Of(0) != -1 {
			t.Errorf("End is %d and node 0 is in %d", none.End(), none.Of(0))
		}
	})
	t.Run("a pod that comes changes no domains", func(t *testing.T) {
		set(t, c, podObject("p", onNode("a")))
		if c.Snapshot().Domains(zone) != d {
			t.Error("there are new domains")
		}
	})
	t.Run("a change of another label changes no domains", func(t *testing.T) {
		set(t, c, nodeObject("a", inZone("x"), func(n *corev1.Node) { n.Labels["other"] = "label" }))
		if c.Snapshot().Domains(zone) != d {
			t.Error("there are new domains")
		}
	})
	t.Run("a domain that is gone gets its number back, and no other gets it", func(t *testing.T) {
		y := of(before, "b")
		remove(t, c, nodeObject("b"))
		if members := slices.Collect(c.Snapshot().Domains(zone).Members(y)); members != nil {
			t.Fatalf("a domain without nodes has the members %d", members)
		}
		set(t, c, nodeObject("f", inZone("z")), nodeObject("g", inZone("y")))
		if z := of(c.Snapshot(), "f"); z == y {
			t.Errorf("zone z has the number %d of zone y", z)
		}
		if again := of(c.Snapshot(), "g"); again != y {
			t.Errorf("zone y was %d and is %d", y, again)
		}
	})
}

// Nodes come, go and change labels, snapshots are taken and kept, and any of them
// is asked at any time: each snapshot has the domains of its own nodes, and a
// value has the same number in all between which the journal can be replayed.
func TestDomainsAreWhatTheNodesSay(t *testing.T) {
	keys := []string{"k", "l"}
	seeded.Check(t, func(r *rapid.T) {
		c := newCluster(t)
		c.view.domains.spare = rapid.SampledFrom([]int{1, spareNumbers}).Draw(r, "spare")
		c.view.domains.enough = c.view.domains.spare + 1
		kept := []*Snapshot{c.Snapshot()}
		numbers := map[*domainNumbers]map[string]int32{} // by key and value
		r.Repeat(map[string]func(*rapid.T){
			"a node is set": func(r *rapid.T) {
				labels := rapid.MapOf(rapid.SampledFrom(keys), rapid.SampledFrom([]string{"", "x", "y", "z"})).Draw(r, "labels")
				set(t, c, nodeObject(drawNode(r), func(n *corev1.Node) { n.Labels = labels }))
			},
			"a node goes":  func(r *rapid.T) { remove(t, c, nodeObject(drawNode(r))) },
			"a pod is set": func(r *rapid.T) { set(t, c, podObject("p", onNode(drawNode(r)))) },
			"a snapshot is taken": func(*rapid.T) {
				kept = append(kept, c.Snapshot())
			},
			"a snapshot is asked": func(r *rapid.T) {
				at := rapid.IntRange(0, len(kept)-1).Draw(r, "snapshot")
				s, key := kept[at], rapid.SampledFrom(keys).Draw(r, "key")
				if numbers[s.domains.numbers] == nil {
					numbers[s.domains.numbers] = map[string]int32{}
				}
				checkDomains(r, s, key, numbers[s.domains.numbers])
				if at > 0 && s.domains.numbers != kept[at-1].domains.numbers {
					if _, replayable := s.Since(kept[at-1].Generation); replayable {
						r.Fatalf("numbers are other ones at generation %d, and what changed since %d can be replayed", s.Generation, kept[at-1].Generation)
					}
				} else if at > 0 && sameLabels(kept[at-1], s) && kept[at-1].Domains(key) != s.Domains(key) {
					r.Fatalf("there are new domains at generation %d, and no node changed since %d", s.Generation, kept[at-1].Generation)
				}
			},
		})
	})
}

// sameLabels says that between two snapshots no node came, went or changed labels.
func sameLabels(a, b *Snapshot) bool {
	changes, _ := b.Since(a.Generation)
	return !slices.ContainsFunc(changes, func(c Change) bool { return c.Aspects&AspectLabels != 0 })
}

func checkDomains(r *rapid.T, s *Snapshot, key string, numbers map[string]int32) {
	d := s.Domains(key)
	want := map[int32][]int32{}
	for index := range int32(s.IndexEnd()) {
		id := d.Of(index)
		node := s.Node(index)
		value, labelled := "", false
		if node != nil {
			value, labelled = node.Labels[key]
		}
		if labelled != (id >= 0) || id < -1 || int(id) >= d.End() {
			r.Fatalf("node %d (labelled: %v) is in %d, the end is %d", index, labelled, id, d.End())
		}
		if !labelled {
			continue
		}
		want[id] = append(want[id], index)
		if before, known := numbers[key+"="+value]; known && before != id {
			r.Fatalf("%s=%s had the number %d and has %d", key, value, before, id)
		}
		numbers[key+"="+value] = id
	}
	values := map[int32]string{}
	for value, id := range numbers {
		if value[:len(key)] != key {
			continue
		}
		if other, taken := values[id]; taken {
			r.Fatalf("%s and %s have the number %d", value, other, id)
		}
		values[id] = value
	}
	for id := range int32(d.End()) {
		if diff := cmp.Diff(want[id], slices.Collect(d.Members(id))); diff != "" {
			r.Fatalf("members of %d (-want +got):\n%s", id, diff)
		}
	}
}

// Nodes that come and go leave no numbers behind for ever.
func TestNumbersOfNodesThatAreGoneAreGivenAnew(t *testing.T) {
	const nodes, rounds = 50, 400
	c := newCluster(t)
	for round := range rounds {
		for n := range nodes {
			set(t, c, nodeObject(fmt.Sprint(round, "-", n)))
			remove(t, c, nodeObject(fmt.Sprint(round-1, "-", n)))
		}
		if end := c.Snapshot().Domains(corev1.LabelHostname).End(); end > spareNumbers+6*nodes {
			t.Fatalf("the last number is %d after %d rounds, with %d nodes", end, round, nodes)
		}
	}
}

// A caller that asks for keys that no node has, or that nodes no longer have, does not make others pay for
// them.
func TestKeysThatNobodyUsesCostNothing(t *testing.T) {
	const nodes, keys = 1000, 2000
	c := newCluster(t)
	for n := range nodes {
		set(t, c, nodeObject(fmt.Sprint("node-", n), inZone(fmt.Sprint(n%3))))
	}
	c.Snapshot().Domains(zone)
	before := heap()
	for i := range keys {
		if d := c.Snapshot().Domains(fmt.Sprint("attack/", i)); d.End() != 0 || d.Of(0) != noDomain {
			t.Fatal("there are domains of a key that no node has")
		}
	}
	if more := heap() - before; more > 100<<10 {
		t.Errorf("%d keys that no node has take %d bytes", keys, more)
	}
	relabel := func(round int) {
		set(t, c, nodeObject("node-0", inZone(fmt.Sprint(round%3)), func(n *corev1.Node) { n.Labels["rare"] = fmt.Sprint(round) }))
	}
	relabel(0)
	c.Snapshot().Domains("rare")
	for round := range idleTurns + 1 {
		relabel(round + 1)
		c.Snapshot().Domains(zone)
	}
	if kept := fmt.Sprint(slices.Sorted(maps.Keys(c.view.domains.last.byKey))); kept != "["+zone+"]" {
		t.Errorf("the domains of %.100s are kept up to date, and only the zone is asked for", kept)
	}
	runtime.KeepAlive(c)
}

func TestDomainsMayBeAskedForFromManySides(t *testing.T) {
	const nodes, rounds = 20, 50
	c := newCluster(t)
	want := map[string]int{}
	for n := range nodes {
		set(t, c, nodeObject(fmt.Sprint(n), inZone(fmt.Sprint(n%3))))
		want[fmt.Sprint(n%3)]++
	}
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for round := range rounds {
				s := c.Snapshot()
				key := []string{zone, "kubernetes.io/hostname", fmt.Sprint(round)}[round%3]
				d := s.Domains(key)
				if d != s.Domains(key) {
					t.Error("one snapshot has two tables of domains")
				}
				for node := range s.Nodes() {
					if id := d.Of(node.Index); id >= 0 && !slices.Contains(slices.Collect(d.Members(id)), node.Index) {
						t.Errorf("node %d is no member of its domain %d", node.Index, id)
					}
				}
			}
		})
	}
	for round := range rounds {
		set(t, c, nodeObject(fmt.Sprint(round%nodes), inZone(fmt.Sprint((round%nodes+1)%3))))
		set(t, c, nodeObject(fmt.Sprint(round%nodes), inZone(fmt.Sprint(round%nodes%3))))
	}
	asking.Wait()
	s, got := c.Snapshot(), map[string]int{}
	for node := range s.Nodes() {
		if members := slices.Collect(s.Domains(zone).Members(s.Domains(zone).Of(node.Index))); members[0] == node.Index {
			got[node.Labels[zone]] = len(members)
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("the zones have %v nodes, want %v", got, want)
	}
}
