package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlicesDivideTheGroup(t *testing.T) {
	const name = "metadata.annotations[muster.dev/topology-slices]: "
	for want, topology := range map[string]Topology{
		"": {Required: 1, Slices: []TopologySlice{{4, 1}, {2, 2}}},
		name + "slices of 3 do not divide 8 pods":                                {Slices: []TopologySlice{{3, 1}}},
		name + "slices of 3 do not divide 4 pods":                                {Slices: []TopologySlice{{4, 1}, {3, 2}}},
		name + "slices of 4 pods are at a level above the one that has them all": {Required: 2, Slices: []TopologySlice{{4, 1}}},
	} {
		got := ""
		if err := topology.Check(8); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("of %+v it is said %q, want %q", topology, got, want)
		}
	}
}

func TestBatchesHaveNoSlices(t *testing.T) {
	_, err := DecodePolicy(map[string]string{AnnotationMatchPolicy: "only-waiting", AnnotationTopologySlices: "1@example.com/rack"})
	want := "metadata.annotations[muster.dev/topology-slices]: Forbidden: batches (only-waiting) have no slices"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTopologiesInTheWordsOfOthers(t *testing.T) {
	const lists = `must be a JSON list such as [{"topology": "example.com/rack", "size": 16}]`
	for name, test := range map[string]struct {
		annotations map[string]string
		want        Topology
		err         string
	}{
		"Kueue: nothing but that room is counted": {annotations: map[string]string{"kueue.x-k8s.io/podset-unconstrained-topology": "true"}},
		"Kueue: slices in one another": {
			annotations: map[string]string{
				AnnotationKueueRequiredTopology: "block",
				AnnotationKueueSlices:           `[{"topology": "rack", "size": 16}, {"topology": "kubernetes.io/hostname", "size": 4}]`,
			},
			want: Topology{Levels: []string{"block", "rack"}, Required: 1, Slices: []TopologySlice{{16, 2}, {4, 3}}},
		},
		"Kueue: a size without a level": {annotations: map[string]string{AnnotationKueueSliceSize: "4"}},
		"Kueue: a level without a size": {annotations: map[string]string{AnnotationKueueSliceTopology: "rack"}},
		"Kueue: few nodes": {
			annotations: map[string]string{AnnotationKueuePreferredTopology: "kubernetes.io/hostname"}, want: Topology{Nodes: true, Preferred: 1},
		},
		"Kueue: obeyed by itself": {annotations: map[string]string{
			AnnotationKueueWorkload: "job-a", AnnotationKueueRequiredTopology: "rack", AnnotationKueueSlices: "no list",
		}},
		"Kueue: no list": {
			annotations: map[string]string{AnnotationKueueSlices: `{"topology": "rack"}`},
			err:         `[kueue.x-k8s.io/podset-slice-required-topology-constraints]: Invalid value: "{\"topology\": \"rack\"}": ` + lists,
		},
		"Kueue: an empty list": {
			annotations: map[string]string{AnnotationKueueSlices: "[]"},
			err:         `[kueue.x-k8s.io/podset-slice-required-topology-constraints]: Invalid value: "[]": ` + lists,
		},
		"Kueue: a list that is too long": {
			annotations: map[string]string{AnnotationKueueSlices: "[" + strings.Repeat(" ", maxListLength) + "]"},
			err:         "[kueue.x-k8s.io/podset-slice-required-topology-constraints]: Too long: may not be more than 4096 bytes",
		},
		"Kueue: too many slices": {
			annotations: map[string]string{AnnotationKueueSlices: `[{"topology": "a", "size": 8}, {"topology": "b", "size": 4},
				{"topology": "c", "size": 2}, {"topology": "d", "size": 1}]`},
			err: "[kueue.x-k8s.io/podset-slice-required-topology-constraints]: Too many: 4: must have at most 3 items",
		},
		"Kueue: no size": {
			annotations: map[string]string{AnnotationKueueSlices: `[{"topology": "rack", "size": 0}]`},
			err: `[kueue.x-k8s.io/podset-slice-required-topology-constraints]: Invalid value: "0@rack": ` +
				"must be as 16@KEY: how many pods have nodes with the same label",
		},
		"Kueue: exact shares": {
			annotations: map[string]string{AnnotationKueueSlices: `[{"topology": "rack", "sizes": [1, 3]}]`},
			err: "[kueue.x-k8s.io/podset-slice-required-topology-constraints][0].sizes: Forbidden: " +
				"domains with sizes of their own are not placed yet",
		},
		"KAI": {
			annotations: map[string]string{
				AnnotationKAITopology: "network", AnnotationKAIRequiredTopology: "zone", AnnotationKAIPreferredTopology: "rack",
			},
			want: Topology{Name: "network", Levels: []string{"zone", "rack"}, Required: 1, Preferred: 2},
		},
		"KAI: segments": {
			annotations: map[string]string{
				AnnotationKAITopology: "network", AnnotationKAIRequiredTopology: "zone",
				AnnotationKAISegmentSize: "4", AnnotationKAISegmentTopology: "rack",
			},
			want: Topology{Name: "network", Levels: []string{"zone", "rack"}, Required: 1, Slices: []TopologySlice{{4, 2}}},
		},
		"KAI: segments that are better whole": {
			annotations: map[string]string{
				AnnotationKAITopology: "network", AnnotationKAISegmentSize: "4", AnnotationKAISegmentPreferred: "rack",
			},
			want: Topology{Name: "network", Levels: []string{"rack"}},
		},
		"KAI: no Topology is named": {annotations: map[string]string{
			AnnotationKAIRequiredTopology: "zone", AnnotationKAISegmentSize: "4", AnnotationKAISegmentTopology: "rack",
		}},
		"KAI: a Topology is named for nothing": {annotations: map[string]string{AnnotationKAITopology: "network"}},
		"KAI: no name": {
			annotations: map[string]string{AnnotationKAITopology: "No name", AnnotationKAIRequiredTopology: "rack"},
			err:         `[kai.scheduler/topology]: Invalid value: "No name": must be the name of a Topology`,
		},
		"what muster is told comes first": {
			annotations: map[string]string{
				AnnotationRequiredTopology: "a", AnnotationKueueRequiredTopology: "b", AnnotationKAIRequiredTopology: "c",
				AnnotationPreferredTopology: "a", AnnotationKueuePreferredTopology: "b",
				AnnotationTopologySlices: "2@a", AnnotationKueueSlices: "no list", AnnotationKueueSliceTopology: "b", AnnotationKueueSliceSize: "2",
			},
			want: Topology{
				Levels: []string{"a"}, Required: 1, Preferred: 1, WaitFor: DefaultTopologyWait, Slices: []TopologySlice{{2, 1}},
			},
		},
	} {
		policy, err := DecodePolicy(test.annotations)
		said := ""
		if err != nil {
			said = strings.TrimPrefix(err.Error(), "metadata.annotations")
		}
		if diff := cmp.Diff(test.want, policy.Topology); diff != "" || said != test.err {
			t.Errorf("%s: error %q, want %q; (-want +got):\n%s", name, said, test.err, diff)
		}
	}
}
