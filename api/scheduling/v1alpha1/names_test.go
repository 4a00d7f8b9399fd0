package v1alpha1

import "testing"

func TestGroupLabel(t *testing.T) {
	tests := []struct {
		name                  string
		labels                map[string]string
		label, group, inGroup string
	}{
		{name: "a pod of no group", labels: map[string]string{"app": "nginx"}},
		{"a PodGroup of scheduler-plugins", map[string]string{LabelX: "a"}, LabelX, "a", GroupX},
		{"one of the first PodGroups", map[string]string{LabelSigs: "b"}, LabelSigs, "b", GroupSigs},
		{"a group without an object", map[string]string{LabelMuster: "c"}, LabelMuster, "c", ""},
		{"of several labels the first counts", map[string]string{LabelMuster: "c", LabelSigs: "b", LabelX: "a"}, LabelX, "a", GroupX},
		{"of two as well", map[string]string{LabelMuster: "c", LabelSigs: "b"}, LabelSigs, "b", GroupSigs},
		{"an empty label does not count", map[string]string{LabelMuster: "c", LabelX: ""}, LabelMuster, "c", ""},
		{name: "and makes no group", labels: map[string]string{LabelX: ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			label, group, member := GroupLabel(test.labels)
			if label != test.label || group != test.group || member != (test.group != "") {
				t.Errorf("%q, %q, %t, want %q, %q", label, group, member, test.label, test.group)
			}
			if got := APIGroupOf(label); got != test.inGroup {
				t.Errorf("API group %q, want %q", got, test.inGroup)
			}
		})
	}
}
