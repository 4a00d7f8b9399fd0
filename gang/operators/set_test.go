package operators_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

// resource is one of a group of the test's own.
func resource(kind string) operators.Resource {
	return operators.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: strings.ToLower(kind) + "s"}, Kind: kind,
	}
}

// some are two kinds of owners, where the upper one owns the lower one, and groups that pods name in a label.
func some() []operators.Kind {
	place := func(pod *corev1.Pod) (instance, role string) { return pod.Labels["instance"], pod.Labels["role"] }
	return []operators.Kind{
		{Name: "Lower", Owners: []operators.Resource{resource("Lower")}, Place: place},
		{Name: "Upper", Owners: []operators.Resource{resource("Upper")}, Place: place},
		{Name: "Group", Groups: []operators.Resource{resource("Group")}, Names: func(pod *corev1.Pod) string { return pod.Labels["group"] }},
		{Name: "Off", Owners: []operators.Resource{resource("Off")}},
	}
}

func object(kind string, asks cluster.Asks) *cluster.Owner {
	return cluster.NewOwner(resource(kind).GroupKind(), &metav1.ObjectMeta{Name: strings.ToLower(kind)}, asks)
}

func TestToWhatAPodBelongs(t *testing.T) {
	set := operators.NewSet(some(), []config.GangKind{"Lower", "Upper", "Group"})
	whole, ref := operators.Whole, &metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Upper", Name: "upper"}
	roles := cluster.Asks{Roles: []cluster.Role{{Name: "a", Min: 2, All: 2}, {Name: "b", Min: 1, All: 1}}}
	instances := whole(4)
	instances.Instances = true
	for name, test := range map[string]struct {
		labels map[string]string
		chain  cluster.Chain
		gang   string
		least  int32
		why    string // a part of it
	}{
		"the uppermost owner counts": {
			chain: cluster.Chain{Owners: []*cluster.Owner{object("Lower", whole(2)), object("Upper", whole(3))}},
			gang:  "upper", least: 3, why: "its Upper upper: 3 of its 3 pods start together",
		},
		"an owner that is silent does not": {
			chain: cluster.Chain{Owners: []*cluster.Owner{object("Lower", whole(2)), object("Upper", cluster.Asks{})}},
			gang:  "lower", least: 2, why: "its Lower lower",
		},
		"one that wants no gang does": {
			chain: cluster.Chain{Owners: []*cluster.Owner{object("Lower", whole(2)), object("Upper", operators.Alone("it is slow"))}},
			why:   "its Upper upper: it is slow",
		},
		"what it names counts before its owners": {
			labels: map[string]string{"group": "group"},
			chain:  cluster.Chain{Owners: []*cluster.Owner{object("Upper", whole(3))}, Named: []*cluster.Owner{object("Group", whole(5))}},
			gang:   "group", least: 5, why: "its Group group",
		},
		"what it names is not there": {
			labels: map[string]string{"group": "group"}, why: "it names Group group, and the cluster has no Group of example.com",
		},
		"an owner is lost": {
			chain: cluster.Chain{Owners: []*cluster.Owner{object("Lower", whole(2))}, Lost: ref}, why: "its Upper upper is not in its namespace",
		},
		"an owner is not the one that is meant": {
			chain: cluster.Chain{Lost: ref, Namesake: object("Upper", whole(3))}, why: "that has another UID",
		},
		"an instance": {
			labels: map[string]string{"instance": "1"}, chain: cluster.Chain{Owners: []*cluster.Owner{object("Upper", instances)}},
			gang: "upper/1", least: 4,
		},
		"no known instance": {
			chain: cluster.Chain{Owners: []*cluster.Owner{object("Upper", instances)}}, why: "no label of the pod says which is its own",
		},
		"a role": {
			labels: map[string]string{"role": "b"}, chain: cluster.Chain{Owners: []*cluster.Owner{object("Upper", roles)}}, gang: "upper", least: 3,
		},
		"a role that nobody has named": {
			labels: map[string]string{"role": "c"}, chain: cluster.Chain{Owners: []*cluster.Owner{object("Upper", roles)}},
			why: `it plays no part that is waited for ("c")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: test.labels}}
			got := set.Affiliate(pod, &test.chain)
			if got.Gang != test.gang || got.MinMember != test.least || !strings.Contains(got.Why, test.why) {
				t.Errorf("it belongs to %+v", got)
			}
		})
	}
}

// An event about the gang of a pod is told to whom people created.
func TestAnAffiliationRefersToTheOwnerThatCounts(t *testing.T) {
	set := operators.NewSet(some(), []config.GangKind{"Lower", "Upper", "Group"})
	toUpper := metav1.OwnerReference{APIVersion: "example.com/v1beta1", Kind: "Upper", Name: "upper", UID: "u", Controller: new(true)}
	lower, upper, group := object("Lower", operators.Whole(2)), object("Upper", operators.Whole(4)), object("Group", operators.Whole(4))
	lower.OwnerReferences = []metav1.OwnerReference{toUpper}
	group.UID = "g"
	for name, test := range map[string]struct {
		labels map[string]string
		chain  cluster.Chain
		want   metav1.OwnerReference
	}{
		"the owner of its owner": {nil, cluster.Chain{Owners: []*cluster.Owner{lower, upper}}, toUpper},
		"its controller": {
			nil,
			cluster.Chain{Owners: []*cluster.Owner{lower}},
			metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Lower", Name: "lower", UID: "l", Controller: new(true)},
		},
		"a group that it names": {
			map[string]string{"group": "group"},
			cluster.Chain{Owners: []*cluster.Owner{lower, upper}, Named: []*cluster.Owner{group}},
			metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Group", Name: "group", UID: "g"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "example.com/v1", Kind: "Lower", Name: "lower", UID: "l", Controller: new(true)},
			}}}
			got := set.Affiliate(pod, &test.chain)
			if got.Owner == nil {
				t.Fatalf("no owner is referred to: %+v", got)
			}
			if diff := cmp.Diff(test.want, *got.Owner); diff != "" {
				t.Errorf("the reference (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodIsToldWhichKindIsOff(t *testing.T) {
	set := operators.NewSet(some(), []config.GangKind{"Lower"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Off", Name: "off", Controller: new(true)},
	}}}
	if got, want := set.Affiliate(pod, &cluster.Chain{}).Why, "its Off off: Off is not in gangs.kinds"; got != want {
		t.Errorf("told: %q, want %q", got, want)
	}
	for kind, want := range map[string]bool{"Lower": true, "Upper": false, "Off": false} {
		if got := set.Follows(resource(kind).GroupKind()); got != want {
			t.Errorf("%s is followed: %t", kind, got)
		}
	}
}

// Nobody would know otherwise why its pods start one by one.
func TestAMarkOfAKindThatIsOffIsIgnored(t *testing.T) {
	all := some()
	all[2].Marks = operators.Marks{Labels: []string{"group"}, Annotations: []string{"example.com/group"}}
	for name, test := range map[string]struct {
		on   []config.GangKind
		pod  metav1.ObjectMeta
		want string
	}{
		"a label": {
			[]config.GangKind{"Upper"}, metav1.ObjectMeta{Labels: map[string]string{"group": "g"}}, "its label group: Group is not in gangs.kinds",
		},
		"an annotation": {
			[]config.GangKind{"Upper"},
			metav1.ObjectMeta{Annotations: map[string]string{"example.com/group": "g"}},
			"its annotation example.com/group: Group is not in gangs.kinds",
		},
		"it is on, and the cluster has none": {
			[]config.GangKind{"Group"},
			metav1.ObjectMeta{Labels: map[string]string{"group": "g"}},
			"it names Group g, and the cluster has no Group of example.com",
		},
		"no mark": {[]config.GangKind{"Upper"}, metav1.ObjectMeta{Labels: map[string]string{"app": "g"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := operators.NewSet(all, test.on).Affiliate(&corev1.Pod{ObjectMeta: test.pod}, &cluster.Chain{})
			if got.Ignored != (test.want != "") || got.Why != test.want {
				t.Errorf("it belongs to %+v", got)
			}
		})
	}
}

func TestOnlyWhatCanBeANameNamesAGroup(t *testing.T) {
	set := operators.NewSet(some(), []config.GangKind{"Group", "Upper"})
	for name, want := range map[string]bool{
		"group": true, "a.group-1": true, "My_Group": false, "-": false, "": false,
		strings.Repeat("x", 253): true, strings.Repeat("x", 254): false,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"group": name}}}
		if _, got, names := set.Names(pod); names != want || names && got != name {
			t.Errorf("%q names a group: %t, %q", name, names, got)
		}
		chain := cluster.Chain{Owners: []*cluster.Owner{object("Upper", operators.Whole(3))}}
		if got := set.Affiliate(pod, &chain); !want && got.Gang != "upper" {
			t.Errorf("with %q it belongs to %+v, and not to its owner", name, got)
		}
	}
}

// Each pod of an owner names the gangs of all its roles.
func TestRolesThatStartTogetherAreBounded(t *testing.T) {
	asked := cluster.Asks{}
	all := some()
	all[1].Asks = func(operators.Object) cluster.Asks { return asked }
	set := operators.NewSet(all, []config.GangKind{"Upper"})
	roles := func(n int, spare int32) (roles []cluster.Role) {
		for i := range n {
			roles = append(roles, cluster.Role{Name: fmt.Sprint("r", i), Min: 2, All: 2 + spare})
		}
		return roles
	}
	for name, test := range map[string]struct {
		roles    []cluster.Role
		gang     string
		together int
		why      string // a part of it
	}{
		"elastic":       {roles(100, 1), "upper/r0", 100, "200 of its pods start together"},
		"too many":      {roles(101, 1), "", 0, "has more roles than may start together: 101"},
		"many as one":   {roles(101, 0), "upper", 0, "202 of its 202 pods start together"},
		"a longer name": {append(roles(1, 1), cluster.Role{Name: strings.Repeat("x", 64), Min: 1, All: 2}), "", 0, "too long for a label"},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Roles = test.roles
			owner := set.Owner(custom("Upper", "upper"))
			got := set.Affiliate(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"role": "r0"}}},
				&cluster.Chain{Owners: []*cluster.Owner{owner}})
			if got.Gang != test.gang || len(got.Together) != test.together || !strings.Contains(got.Why, test.why) {
				t.Errorf("it belongs to %+v", got)
			}
		})
	}
}

// custom returns an object as the API server has it.
func custom(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": name},
	}}
}
