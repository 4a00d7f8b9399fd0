package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/gang/operators/native"
	"muster.dev/muster/gang/operators/operatorstest"
)

const (
	dump  = "testdata/podgroups.yaml"
	later = "testdata/later.yaml"

	notRead   = "left: muster cannot read its PodGroup absent, or the cluster does not serve it"
	notServed = "left: KubernetesPodGroup is not in gangs.kinds"
)

// members are the pods of the dump, and what is made of them.
func members() map[string]string {
	return map[string]string{
		"train-0":          "train: 3",
		"marked-0":         "train: 3",
		"one-0":            "single: its PodGroup one: one pod is all that it has to start with",
		"basic-0":          "single: its PodGroup basic: its policy is not gang",
		"planned-0":        "planned: 3, assisted",
		"planned-by-136-0": "planned-by-136: 3, assisted",
		"started-0":        "started: 2, assisted",
		"racks-0":          "racks: 2, one rack",
		"leaf-0":           "leaf: 1 in tree:2",
		"child-0":          "child: 2 in tree:2",
		"twig-0":           "twig: 3 in tree:2/branch:1",
		"bush-0":           "bush: 2",
		"grass-0":          "single: its PodGroup grass: one pod is all that it has to start with",
		"oak-0":            "oak: 2 in grove:1",
		"lost-0":           "left: muster cannot read its CompositePodGroup nowhere, or the cluster does not serve it",
		"tulip-0":          "tulip: 2 in row:1, one rack of row",
		"planned-leaf-0":   "planned-leaf: 2, assisted in planned-tree:1",
		"deep-0":           "left: more than 3 groups of groups are above it",
		"round-0":          "left: more than 3 groups of groups are above it",
		"of-136-0":         "of-136: 2",
		"lonely":           notRead,
		"of-another-form":  "left: it names its group in a way that muster does not know",
	}
}

func TestPodsStartTogetherThatNameAPodGroup(t *testing.T) {
	operatorstest.Expect(t, native.Kind(), dump, members())
}

func TestAPodGroupMayAskForATopology(t *testing.T) {
	operatorstest.Expect(t, native.Kind(), "testdata/near.yaml", map[string]string{
		"racks-0":   "racks: 3, one rack",
		"leaf-0":    "leaf: 3 in tree:1, one rack",
		"planned-0": "left: it asks for a topology, and kube-scheduler starts it",
		"one-0":     "left: it asks for a topology, and its pods do not start together",
		"basic-0":   "left: it asks for a topology, and its pods do not start together",
		"two-0":     "left: it asks for a topology in a way that muster does not know",
		"none-0":    "none: 3",
		"wrong-0": "waits: metadata.annotations[muster.dev/required-topology]: Invalid value: \"no key\": " +
			"must be the key of a label of nodes, such as topology.kubernetes.io/zone",
	})
}

func TestAPodGroupMayChange(t *testing.T) {
	c, err := operatorstest.Load([]operators.Kind{native.Kind()}, nil, dump, later)
	if err != nil {
		t.Fatal(err)
	}
	want := members()
	want["train-0"], want["marked-0"] = "train: 2", "train: 2"
	want["of-136-0"] = "of-136: 2, assisted"
	want["leaf-0"], want["child-0"], want["twig-0"] = "leaf: 1 in tree:1", "child: 2 in tree:1", "twig: 3 in tree:1/branch:1"
	want["lost-0"] = "lost: 2 in nowhere:1"
	if diff := cmp.Diff(want, operatorstest.Members(c)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestAPodWaitsForItsPodGroupToAppear(t *testing.T) {
	kind := native.Kind()
	c, err := operatorstest.Load([]operators.Kind{kind}, nil, dump)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range kind.Groups {
		c.Owners.Handler(resource.GroupKind()).Watched(nil)
	}
	want := members()
	want["lonely"] = "waits: pod lonely: its KubernetesPodGroup has not been seen yet"
	want["lost-0"] = "waits: pod lost-0: its KubernetesPodGroup has not been seen yet"
	if diff := cmp.Diff(want, operatorstest.Members(c)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestAllAreLeftToTheSchedulerOnRequest(t *testing.T) {
	c, err := operatorstest.Load(kinds.All(), []config.GangKind{config.GangKindJobSet}, dump)
	if err != nil {
		t.Fatal(err)
	}
	want := members()
	for pod := range want {
		want[pod] = notServed
	}
	if diff := cmp.Diff(want, operatorstest.Members(c)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
