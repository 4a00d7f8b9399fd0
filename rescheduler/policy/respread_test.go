package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

func TestRespread(t *testing.T) {
	const old, fresh = time.Hour, time.Minute
	only := func(node string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node} }
	}
	for name, test := range map[string]struct {
		scene func(*scene)
		want  []string
		why   string
	}{
		"nothing without a new node": {
			func(s *scene) { s.node("a", "10", old); s.node("b", "10", 10*time.Minute); s.pod("x-1", "a", "8") }, nil, "no node is new",
		},
		"nothing while a pod is pending": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				s.pod("x-1", "a", "4")
				s.pod("y-1", "a", "4")
				s.pod("z-1", "", "1")
			},
			nil, "pods are pending: 1",
		},
		"nothing where the new node would be as full as the other one was": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				s.pod("x-1", "a", "8")
			}, nil, "nothing would be gained by moving pods onto new nodes",
		},
		"not a pod whose move would gain less than it should": {
			func(s *scene) {
				s.node("a", "100", old)
				s.node("n", "100", fresh)
				s.pod("x-1", "a", "51")
				s.pod("y-1", "a", "9") // 60 % before, 51 % after
			}, []string{"y-1: a → n"}, "",
		},
		"half of what a full node has": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				for i := range 4 {
					s.pod(fmt.Sprintf("x-%d", i), "a", "2")
				}
			}, []string{"x-0: a → n", "x-1: a → n"}, "",
		},
		"no gang, of one neither": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				for i := range 4 {
					s.pod(fmt.Sprintf("x-%d", i), "a", "2", gangOfOne)
				}
			}, nil, "nothing would be gained by moving pods onto new nodes",
		},
		"no group of Kubernetes' own": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				for i := range 4 {
					s.pod(fmt.Sprintf("x-%d", i), "a", "2", ofKubernetesOwnGroup)
				}
			}, nil, "nothing would be gained by moving pods onto new nodes",
		},
		"from the fullest node, and no further than it pays": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("b", "10", old)
				s.node("n", "10", fresh)
				s.pod("x-1", "a", "3")
				s.pod("x-2", "a", "3")
				s.pod("x-3", "a", "3")
				s.pod("y-1", "b", "3")
				s.pod("y-2", "b", "3")
			}, []string{"x-1: a → n"}, "", // 60, 60 and 30 %
		},
		"onto the new nodes, which share it": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				s.node("o", "10", fresh)
				s.pod("x-1", "a", "3")
				s.pod("y-1", "a", "3")
				s.pod("z-1", "a", "3")
			}, []string{"x-1: a → n", "y-1: a → o"}, "",
		},
		"other pods where the best ones must stay": {
			func(s *scene) {
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				s.pod("x-1", "a", "4", only("a"))
				s.pod("y-1", "a", "2")
			}, []string{"y-1: a → n"}, "",
		},
		"as many as the budgets allow": {
			func(s *scene) {
				s.problem.Budgets.PerWorkload = 1
				s.node("a", "10", old)
				s.node("n", "10", fresh)
				for i := range 4 {
					s.pod(fmt.Sprintf("x-%d", i), "a", "2")
				}
			}, []string{"x-0: a → n"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.scene(s)
			plan, why := respread(&s.config.Rescheduler.Respread)(s.situation())
			if diff := cmp.Diff(test.want, steps(plan)); diff != "" || why != test.why {
				t.Errorf("because %q, want %q; steps (-want +got):\n%s", why, test.why, diff)
			}
		})
	}
}

// TestEveryMoveOntoANewNodeIsAGain respreads random clusters: each step gains as much as it
// should, and in the end nothing does.
func TestEveryMoveOntoANewNodeIsAGain(t *testing.T) {
	moved, stayed := 0, 0
	seeded.Until(t, func() bool { return moved > 0 && stayed > 0 }, func(t *rapid.T) {
		s := newScene(t)
		nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
		joined := map[string]bool{}
		for n := range nodes {
			name, ago := fmt.Sprintf("n%d", n), time.Hour
			if joined[name] = n > 0 && rapid.Bool().Draw(t, "new"); joined[name] {
				ago = 0
			}
			cpu := rapid.IntRange(4, 16).Draw(t, "cpu")
			s.node(name, fmt.Sprint(cpu), ago)
			for i := range 8 {
				size := rapid.IntRange(1, 4).Draw(t, "size")
				if cpu -= size; cpu < 0 || joined[name] && rapid.IntRange(0, 2).Draw(t, "is there") > 0 {
					break
				}
				s.pod(fmt.Sprintf("p%d%d-x", n, i), name, fmt.Sprint(size))
			}
		}
		situation := s.situation()
		plan, _ := respread(&s.config.Rescheduler.Respread)(situation)
		after := map[string]*cluster.Node{}
		for node := range situation.Problem.Snapshot.Nodes() {
			after[node.Name] = node
		}
		gains := func(pod *cluster.Pod, from, to *cluster.Node) float64 {
			return shareOf(from).value() - shareOf(to).with(pod, +1).value()
		}
		if plan != nil {
			moved += len(plan.Steps)
			for _, step := range plan.Steps {
				from, to := after[step.From.Name], after[step.To.Name]
				if got := gains(step.Pod, from, to); !joined[to.Name] || joined[from.Name] || got < leastGain {
					t.Fatalf("%s moves from %s to %s, and gains %.3f", step.Pod.Name, from.Name, to.Name, got)
				}
				after[from.Name], after[to.Name] = from.WithoutPod(step.Pod.UID), to.WithPod(step.Replacement)
			}
		}
		if plan == nil || len(plan.Steps) == 0 {
			stayed++
		}
		for _, from := range after {
			for _, to := range after {
				for _, pod := range from.Pods {
					if joined[from.Name] || !joined[to.Name] || pod.Spec.NodeName == "" ||
						pod.Requests.MilliCPU > to.Allocatable.MilliCPU-to.Requested.MilliCPU {
						continue
					}
					if got := gains(pod, from, to); got >= leastGain {
						t.Fatalf("after %v %s would gain %.3f on %s instead of %s", steps(plan), pod.Name, got, to.Name, from.Name)
					}
				}
			}
		}
	})
	if moved == 0 || stayed == 0 {
		t.Errorf("%d pods moved, and %d clusters stayed as they were: too few to tell anything", moved, stayed)
	}
}
