package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
)

// gangOfOne makes a pod one.
func gangOfOne(p *corev1.Pod) {
	p.Labels[schedulingv1alpha1.LabelMuster] = p.Name
	p.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: "1"}
}

// ofKubernetesOwnGroup has a pod name one, which nobody serves.
func ofKubernetesOwnGroup(p *corev1.Pod) {
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new(p.Name)}
}

func (s *scene) uneven() *Hot {
	return NewUneven(&s.config.Rescheduler.Balance, NewMeter(s.config, s.load), s.sampled(UnevenSamples))
}

// balanced returns the policy's finding after a number of samples of the present use.
func (s *scene) balanced(samples int) (moves []string, why string) {
	uneven := s.uneven()
	for range samples {
		uneven.Observe(s.cluster.Snapshot(), never)
	}
	plan, why := balanced(&s.config.Rescheduler.Budgets, uneven)(s.situation())
	return steps(plan), why
}

func TestANodeThatUsesMuchMoreThanTheOthersGivesAsMuchAsIsTooMuch(t *testing.T) {
	const none = "no node uses much more than the others for long enough"
	used := func(a, b, c int64, ofA map[string]int64) func(*scene) {
		return func(s *scene) {
			s.uses("a", 0, a, ofA)
			s.uses("b", 0, b, nil)
			s.uses("c", 0, c, nil)
		}
	}
	pods := map[string]int64{"x-1": 3000, "x-2": 1000, "x-3": 2000}
	for name, test := range map[string]struct {
		change func(*scene)
		want   []string
		why    string
	}{
		// The mean is 30 %, so that 50 % is too much, and pods move to nodes below 40 %.
		"one gives": {used(6000, 1500, 1500, pods), []string{"x-3: a → b"}, ""},
		"what it uses too much is being deleted": {func(s *scene) {
			used(6000, 1500, 1500, map[string]int64{"x-1": 1000, "x-2": 1000, "x-3": 1500, "g-1": 1500})(s)
			s.pod("g-1", "a", "1", going)
		}, nil, "pods that are being deleted relieve a, which uses 60 % of its cpu"},
		"just at the margin": {used(5000, 2000, 2000, pods), []string{"x-2: a → b"}, ""},
		"just below it":      {used(4990, 2000, 2010, pods), nil, none},
		"all use the same":   {used(9000, 9000, 9000, pods), nil, none},
		"of a gang": {func(s *scene) {
			used(6000, 1500, 1500, pods)(s)
			for _, name := range []string{"x-1", "x-2", "x-3"} {
				s.pod(name, "a", "1", func(p *corev1.Pod) {
					p.Labels[schedulingv1alpha1.LabelMuster] = "g"
					p.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: "3"}
				})
			}
		}, nil, "no pod can leave a, which uses 60 % of its cpu: too little of what it bears could be moved: 3 pods: " +
			"it is of a gang with a pod that may not be moved"},
		"gangs of one": {func(s *scene) {
			used(6000, 1500, 1500, pods)(s)
			for _, name := range []string{"x-1", "x-2", "x-3"} {
				s.pod(name, "a", "1", gangOfOne)
			}
		}, nil, "no pod can leave a, which uses 60 % of its cpu: too little of what it bears could be moved: 3 pods: " +
			"it is of a gang, and no gang is moved for balance"},
		"groups of Kubernetes' own": {func(s *scene) {
			used(6000, 1500, 1500, pods)(s)
			for _, name := range []string{"x-1", "x-2", "x-3"} {
				s.pod(name, "a", "1", ofKubernetesOwnGroup)
			}
		}, nil, "no pod can leave a, which uses 60 % of its cpu: too little of what it bears could be moved: 3 pods: " +
			"it is of a gang, and no gang is moved for balance"},
		"somebody waits": {func(s *scene) {
			used(6000, 1500, 1500, pods)(s)
			s.pod("y-1", "", "1")
		}, nil, "pods are pending, which get the room first"},
		"others are protected already": {func(s *scene) {
			used(6000, 1500, 1500, pods)(s)
			s.problem.Rules.ExceptNamespaces = sets.New("default")
		}, nil, "no pod can leave a, which uses 60 % of its cpu: too little of what it bears could be moved: 3 pods: " +
			"its namespace is protected"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.samples = 1
			for _, node := range []string{"a", "b", "c"} {
				s.node(node, "10", time.Hour)
			}
			for name := range pods {
				s.pod(name, "a", "1")
			}
			test.change(s)
			moves, why := s.balanced(1)
			if diff := cmp.Diff(test.want, moves); diff != "" || why != test.why {
				t.Errorf("%q (-want +got):\n%s", why, diff)
			}
		})
	}
}

// TestBalanceEnds carries out what Balance plans, as if pods used the same everywhere, until there is nothing to do. With
// each move the fuller of two nodes becomes less full, by the least gain at least.
func TestBalanceEnds(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := newScene(t)
		s.samples = 1
		margin := rapid.Int64Range(1, 40).Draw(t, "margin")
		s.config.Rescheduler.Balance.Margins = map[corev1.ResourceName]int64{corev1.ResourceCPU: margin}
		count := rapid.IntRange(2, 6).Draw(t, "nodes")
		uses, on := map[string]int64{}, map[string]string{}
		for i := range count {
			s.node(fmt.Sprint("n", i), "10", time.Hour)
			for j := range rapid.IntRange(0, 6).Draw(t, "pods") {
				name := fmt.Sprintf("x-%d-%d", i, j)
				uses[name], on[name] = rapid.Int64Range(0, 2000).Draw(t, "uses"), fmt.Sprint("n", i)
			}
		}
		for round := 0; ; round++ {
			if round > len(uses) {
				t.Fatalf("it goes on after %d moves", round)
			}
			total := map[string]int64{}
			for i := range count {
				pods := map[string]int64{}
				for name, node := range on {
					if node == fmt.Sprint("n", i) {
						pods[name] = uses[name]
						total[node] += uses[name]
						s.pod(name, node, "100m")
					}
				}
				s.uses(fmt.Sprint("n", i), time.Duration(round)*time.Minute, total[fmt.Sprint("n", i)], pods)
			}
			uneven := s.uneven()
			uneven.Observe(s.cluster.Snapshot(), never)
			plan, _ := balanced(&s.config.Rescheduler.Budgets, uneven)(s.situation())
			if plan == nil || len(plan.Steps) == 0 {
				return
			}
			for _, step := range plan.Steps {
				from, to := total[step.From.Name], total[step.To.Name]+uses[step.Pod.Name]
				if from-to < max(margin/2, 1)*100 {
					t.Fatalf("%s leaves %d for %d", step.Pod.Name, from, to)
				}
				on[step.Pod.Name], total[step.To.Name] = step.To.Name, to
				if err := s.cluster.Delete(step.Pod.Pod); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestBalanceIsAPolicyOfAConfiguration(t *testing.T) {
	s := newScene(t)
	p, err := Named(&s.config.Rescheduler, Measured{Uneven: s.uneven()}, v1alpha1.Balance)
	if err != nil || p.Enabled {
		t.Errorf("%+v, %v", p, err)
	}
}
