package predicates

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

func replicationControllerNamed(name string, selector map[string]string) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: corev1.ReplicationControllerSpec{Selector: selector},
	}
}

func replicaSetNamed(name string, selector *metav1.LabelSelector) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: appsv1.ReplicaSetSpec{Selector: selector},
	}
}

func statefulSetNamed(name string, selector *metav1.LabelSelector) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: appsv1.StatefulSetSpec{Selector: selector},
	}
}

func TestTheKinOfAPodAreThoseThatItsServicesAndItsControllerSelect(t *testing.T) {
	ofWeb := map[string]string{"app": "web"}
	webs := &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "www"}}},
	}
	elsewhere := service("web", ofWeb)
	elsewhere.Namespace = "other"
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		objects []runtime.Object
		want    string // "" selects nothing
	}{
		{"nothing selects it", web(""), nil, ""},
		{"a service", web(""), []runtime.Object{service("web", ofWeb)}, "app=web"},
		{
			"services together", web("", wearing("tier", "front")),
			[]runtime.Object{service("web", ofWeb), service("front", map[string]string{"tier": "front"})},
			"app=web,tier=front",
		},
		{"a service of other pods", web(""), []runtime.Object{service("db", map[string]string{"app": "db"})}, ""},
		{"a service of another namespace", web(""), []runtime.Object{elsewhere}, ""},
		{"a service without a selector", web(""), []runtime.Object{service("external", nil)}, ""},
		{
			"a replica set", web("", controlled("apps/v1", "ReplicaSet", "web-1")),
			[]runtime.Object{replicaSetNamed("web-1", webs)},
			"app in (web,www)",
		},
		{
			"a replica set and a service", web("", controlled("apps/v1", "ReplicaSet", "web-1")),
			[]runtime.Object{replicaSetNamed("web-1", webs), service("web", ofWeb)},
			"app=web,app in (web,www)",
		},
		{
			"a replica set of another pod", web("", controlled("apps/v1", "ReplicaSet", "web-1")),
			[]runtime.Object{replicaSetNamed("web-2", webs)},
			"",
		},
		{
			"a replica set that selects nothing", web("", controlled("apps/v1", "ReplicaSet", "web-1")),
			[]runtime.Object{replicaSetNamed("web-1", nil), service("web", ofWeb)},
			"app=web",
		},
		{"a replica set whose selector does not parse", web("", controlled("apps/v1", "ReplicaSet", "web-1")), []runtime.Object{
			replicaSetNamed("web-1", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "no value: of a label"}}), service("web", ofWeb),
		}, "app=web"},
		{
			"a stateful set", web("", controlled("apps/v1", "StatefulSet", "web")),
			[]runtime.Object{statefulSetNamed("web", webs), replicaSetNamed("web", nil)},
			"app in (web,www)",
		},
		{
			"a replication controller", web("", controlled("v1", "ReplicationController", "web")),
			[]runtime.Object{replicationControllerNamed("web", ofWeb)},
			"app=web",
		},
		{"a replication controller that leaves its own pod out", web("", controlled("v1", "ReplicationController", "web")), []runtime.Object{
			replicationControllerNamed("web", map[string]string{"app": "db"}), service("web", ofWeb),
		}, "app=db"},
		{"a controller of another kind", web("", controlled("batch/v1", "Job", "web")), []runtime.Object{replicaSetNamed("web", webs)}, ""},
		{
			"a kind of that name of others", web("", controlled("example.com/v1", "ReplicaSet", "web")),
			[]runtime.Object{replicaSetNamed("web", webs)},
			"",
		},
		{
			"an owner that is no controller",
			web("", controlled("apps/v1", "ReplicaSet", "web"), func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }),
			[]runtime.Object{replicaSetNamed("web", webs)},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			snap, _, _ := scene{objects: test.objects}.raise(t)
			selector := kinOf(test.pod).selector(snap.Objects)
			if got := selector.String(); got != test.want || selector.Empty() != (test.want == "") {
				t.Errorf("selector %q, want %q", got, test.want)
			}
		})
	}
}

func TestASpreadByDefaultDependsOnWhatSelectsThePod(t *testing.T) {
	webs := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	ofDB := map[string]string{"app": "db"}
	byDefault := web("", controlled("apps/v1", "ReplicaSet", "web"))
	for _, test := range []struct {
		name   string
		pod    *corev1.Pod
		before []runtime.Object
		change runtime.Object
		kind   cluster.Aspect
		want   bool
	}{
		{"a service of the pod comes", byDefault, nil, service("web", webs.MatchLabels), cluster.AspectService, true},
		{
			"a service of the pod becomes one of others", byDefault,
			[]runtime.Object{service("web", webs.MatchLabels)},
			service("web", ofDB), cluster.AspectService, true,
		},
		{"a service of others comes", byDefault, nil, service("db", ofDB), cluster.AspectService, false},
		{"the pod's replica set comes", byDefault, nil, replicaSetNamed("web", webs), cluster.AspectSelector, true},
		{
			"the pod's replica set changes", byDefault,
			[]runtime.Object{replicaSetNamed("web", nil)},
			replicaSetNamed("web", webs),
			cluster.AspectSelector, true,
		},
		{"another replica set comes", byDefault, nil, replicaSetNamed("db", webs), cluster.AspectSelector, false},
		{
			"a stateful set of the name of the replica set comes", byDefault,
			[]runtime.Object{replicaSetNamed("web", webs)},
			statefulSetNamed("web", webs), cluster.AspectSelector, false,
		},
		{
			"a pod has constraints of its own", web("", spreadBy("zone", 1, corev1.ScheduleAnyway)), nil, service("web", webs.MatchLabels),
			cluster.AspectService, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, _, pod := scene{objects: test.before, pod: test.pod}.raise(t)
			after, _, _ := scene{objects: append(test.before, test.change)}.raise(t)
			score, err := newPodTopologySpreadScore(profileWith("", nil))
			if err != nil {
				t.Fatal(err)
			}
			selective, ok := score.For(pod, before).Among.(Selective)
			if !ok {
				t.Fatal("it is not selective")
			}
			name := types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: test.change.(metav1.Object).GetName()}
			if got := selective.DependsOn(test.kind, name, before.Objects, after.Objects); got != test.want {
				t.Errorf("it depends on it: %v", got)
			}
			name.Namespace = "other"
			if selective.DependsOn(test.kind, name, before.Objects, after.Objects) {
				t.Error("it depends on objects of another namespace")
			}
		})
	}
}

func TestEqualPodsOfTwoControllersShareAClassUnlessTheyAreSpreadWithTheirKin(t *testing.T) {
	own := spreadBy("zone", 1, corev1.ScheduleAnyway)
	for _, test := range []struct {
		name  string
		kin   bool
		one   *corev1.Pod
		other *corev1.Pod
		want  bool
	}{
		{
			"two replica sets", true, web("", controlled("apps/v1", "ReplicaSet", "one")),
			web("", controlled("apps/v1", "ReplicaSet", "two")), false,
		},
		{
			"two kinds of one name", true, web("", controlled("apps/v1", "ReplicaSet", "one")),
			web("", controlled("apps/v1", "StatefulSet", "one")), false,
		},
		{"one replica set", true, web("", controlled("apps/v1", "ReplicaSet", "one")), web("", controlled("apps/v1", "ReplicaSet", "one")), true},
		{
			"two jobs, whose selectors nobody reads", true, web("", controlled("batch/v1", "Job", "one")),
			web("", controlled("batch/v1", "Job", "two")), true,
		},
		{
			"two replica sets whose pods have constraints", true, web("", own, controlled("apps/v1", "ReplicaSet", "one")),
			web("", own, controlled("apps/v1", "ReplicaSet", "two")), true,
		},
		{
			"two replica sets where nothing is spread by default", false, web("", controlled("apps/v1", "ReplicaSet", "one")),
			web("", controlled("apps/v1", "ReplicaSet", "two")), true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := classes{equivalence: config.EquivalenceTemplate, kin: test.kin}
			if got := c.of(cluster.NewPod(test.one)) == c.of(cluster.NewPod(test.other)); got != test.want {
				t.Errorf("they share a class: %v", got)
			}
		})
	}
}

func TestAProfileReadsWhatItsPluginsRead(t *testing.T) {
	none := &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}
	filters := &config.PodTopologySpreadArgs{
		DefaultingType:     config.ListDefaulting,
		DefaultConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule}},
	}
	for name, test := range map[string]struct {
		args config.PluginArgs
		want bool
	}{
		"the system's default constraints are scored": {nil, true},
		"a default constraint filters":                {filters, true},
		"there are no default constraints":            {none, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := profileWith(config.PodTopologySpread, test.args)
			cfg.NodeSelection = config.NodeSelectionMuster
			profile, err := NewProfile(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := profile.DependsOn(cluster.AspectSelector); got != test.want {
				t.Errorf("it reads selectors of controllers: %v", got)
			}
		})
	}
}
