package extender

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/servertest"
)

// interruption is a predicate that lets others at the cluster while a pod is judged.
type interruption struct{ during map[string]func() } // by the name of the pod

func (i *interruption) Name() string { return config.LoadAware }

func (i *interruption) Aspects() cluster.Aspect { return 0 }

func (i *interruption) For(pod *cluster.Pod, _ *cluster.Snapshot) predicates.Check {
	if f := i.during[pod.Name]; f != nil {
		f()
	}
	return nil
}

// interrupted is a bench whose pods have no class, so that each call judges its pod.
func interrupted(t *testing.T, o benchOptions) (*bench, *interruption) {
	t.Helper()
	b := newBench(t, o)
	i := &interruption{during: map[string]func(){}}
	cfg := b.config.Profiles[0]
	cfg.Plugins.Filter.Enabled = append(cfg.Plugins.Filter.Enabled, config.Plugin{Name: config.LoadAware})
	profile, err := predicates.NewProfile(&cfg, predicates.Plugin{
		Name: config.LoadAware, Filter: func(predicates.Verdict) predicates.Predicate { return i },
		Reads: func(*cluster.Pod) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.profiles.Replace(
		predicates.NewVerdictStore(profile, b.Cluster, 1<<20, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{}),
	)
	return b, i
}

func TestAPodThatHasAPlaceKeepsItsRoomWhileTheSchedulerAsksAboutIt(t *testing.T) {
	member := func(pod *corev1.Pod) *corev1.Pod {
		pod.Labels = map[string]string{v1alpha1.LabelMuster: pod.Name}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "1"}
		return pod
	}
	alone := func(pod *corev1.Pod) *corev1.Pod { return pod }
	for _, test := range []struct {
		name      string
		selection config.NodeSelection
		pod, next func(*corev1.Pod) *corev1.Pod
		among     []string // the nodes of the second call
		want      string
	}{
		{"a member of a gang, and a pod of none", config.NodeSelectionMuster, member, alone, []string{"a"}, "a"},
		{"a member of a gang, and one of another gang", config.NodeSelectionScheduler, member, member, []string{"a"}, "a"},
		{"a member that is offered another node", config.NodeSelectionScheduler, member, member, []string{"b"}, "b"},
		{"a pod of no gang", config.NodeSelectionMuster, alone, alone, []string{"a"}, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, i := interrupted(t, benchOptions{selection: test.selection, gangs: true})
			b.Node("a", "1")
			pod, next := test.pod(servertest.Pod("p", "1")), test.next(servertest.Pod("next", "1"))
			if err := b.Cluster.Set(pod.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			if got := b.Filter(pod, "a"); !slices.Equal(*got.NodeNames, []string{"a"}) {
				t.Fatalf("p is to go to %v", got.NodeNames)
			}
			b.Node("b", "2") // for the other one, too
			asked := false
			i.during["p"] = func() {
				asked = true
				delete(i.during, "p")
				if got := b.Filter(next, "a"); len(*got.NodeNames) > 0 {
					t.Errorf("while p is judged, its room is given to another pod")
				}
			}
			got := b.Filter(pod, test.among...)
			if diff := cmp.Diff([]string{test.want}, *got.NodeNames); diff != "" || !asked {
				t.Errorf("answer (-want +got), interrupted: %t:\n%s", asked, diff)
			}
			if got := b.Cluster.Assumed(pod.UID); got != test.want {
				t.Errorf("it counts on %q", got)
			}
		})
	}
}
