package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAJournalReplaysWhatCameAfterAGeneration(t *testing.T) {
	var j journal
	for g := uint64(1); g <= 3; g++ {
		j.append(Change{Generation: g, Node: int32(g)})
	}
	tests := []struct {
		name  string
		since uint64
		want  []int32
	}{
		{"everything since the start", 0, []int32{1, 2, 3}},
		{"what came after", 1, []int32{2, 3}},
		{"nothing since the last", 3, nil},
		{"nothing since the future", 9, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changes, ok := j.since(test.since)
			if !ok {
				t.Fatal("forgotten")
			}
			var nodes []int32
			for _, c := range changes {
				nodes = append(nodes, c.Node)
			}
			if diff := cmp.Diff(test.want, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAJournalForgetsAndSaysSo(t *testing.T) {
	var j journal
	const last = 5*journalLength + 7
	old := journal{}
	for g := uint64(1); g <= last; g++ {
		j.append(Change{Generation: g})
		if g == journalLength {
			old = j
		}
	}
	if _, ok := j.since(0); ok {
		t.Error("the start is still known")
	}
	if _, ok := j.since(j.forgotten - 1); ok {
		t.Error("a forgotten change is replayed")
	}
	for _, since := range []uint64{j.forgotten, last - journalLength, last - 1} {
		changes, ok := j.since(since)
		if !ok || uint64(len(changes)) != last-since || changes[0].Generation != since+1 {
			t.Errorf("since %d: %d changes, %v; want all %d", since, len(changes), ok, last-since)
		}
	}
	if changes, ok := old.since(0); !ok || len(changes) != journalLength || changes[0].Generation != 1 {
		t.Error("the journal of an older snapshot changed")
	}
}

func TestAJournalSharesNoRoomToAppend(t *testing.T) {
	var j journal
	for g := uint64(1); g <= 3; g++ {
		j.append(Change{Generation: g})
	}
	changes, _ := j.since(0)
	_ = append(changes, Change{Generation: 99})
	j.append(Change{Generation: 4})
	if got, _ := j.since(3); len(got) != 1 || got[0].Generation != 4 {
		t.Errorf("after a reader appended to its part: %v", got)
	}
}

func TestAspectsSayTheirNames(t *testing.T) {
	tests := map[Aspect]string{
		0:                              "",
		AspectLabels | AspectTaints:    "labels,taints",
		AspectCustom:                   "custom",
		AspectDisruptionBudget:         "poddisruptionbudgets",
		AspectWorkload:                 "workloads",
		AspectNode & AspectAllocatable: "allocatable",
	}
	for aspects, want := range tests {
		if got := aspects.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	named := map[string]bool{}
	for aspect := Aspect(1); aspect < aspectEnd; aspect <<= 1 {
		name := aspect.String()
		if name == "" || named[name] {
			t.Errorf("aspect %b is called %q", aspect, name)
		}
		named[name] = true
	}
	if got := aspectEnd.String(); got != "" {
		t.Errorf("what is no aspect is called %q", got)
	}
	if AspectNode&AspectPods == 0 || AspectNode&AspectPersistentVolume != 0 {
		t.Error("the last aspect of a node is not the one before the first of the cluster")
	}
	if AspectNode&AspectCustom != 0 {
		t.Error("custom resources are an aspect of the cluster and of no node")
	}
}
