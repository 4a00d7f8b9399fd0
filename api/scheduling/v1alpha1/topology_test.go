package v1alpha1

import "testing"

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
