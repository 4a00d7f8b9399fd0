package predicates

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

func TestVerdictsOfRoomAreThoseOfNodeResourcesFit(t *testing.T) {
	ofRoom := map[string]bool{}
	for code, reason := range reasons {
		v := Verdict(code)
		if v.OfRoom() != (v | hopeless).OfRoom() {
			t.Errorf("%q is of room only when evictions help, or only when they do not", reason)
		}
		if v.OfRoom() {
			ofRoom[reason] = true
		}
	}
	want := map[string]bool{
		"Too many pods": true, "Insufficient cpu": true, "Insufficient memory": true, "Insufficient ephemeral-storage": true,
	}
	if diff := cmp.Diff(want, ofRoom); diff != "" {
		t.Errorf("verdicts of room (-want +got):\n%s", diff)
	}
	if !insufficientScalar.OfRoom() || !(insufficientScalar + 3).OfRoom() {
		t.Error("a scalar resource that is short is not of room")
	}
}

func TestJudgeFitSaysAllThatIsAgainstANode(t *testing.T) {
	full := node(offering("cpu", "1", "memory", "1Gi", "pods", "110"))
	full.Spec.Unschedulable = true
	snap, at, asking := scene{node: full, pod: pod(asking("cpu", "2"))}.raise(t)
	profile, err := NewProfile(&config.Profile{SchedulerName: corev1.DefaultSchedulerName})
	if err != nil {
		t.Fatal(err)
	}
	judgement := profile.JudgeFit(asking, snap)
	var got []string
	judgement.Verdicts(at, func(v Verdict) { got = append(got, judgement.Reason(v)) })
	want := []string{"node(s) were unschedulable", "Insufficient cpu"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if judgement.Verdict(at) != profile.Judge(asking, snap).Verdict(at) {
		t.Error("without the scores a verdict is another one")
	}
}

// TestEveryReasonAgainstANodeIsTold asks about a node that has several things against a pod, by plugin.
func TestEveryReasonAgainstANodeIsTold(t *testing.T) {
	tight := node(offering("cpu", "1", "memory", "1Gi", "pods", "0"), reporting(corev1.NodeMemoryPressure), reporting(corev1.NodeDiskPressure))
	gpus := asking("cpu", "2", "memory", "2Gi", "example.com/gpu", "1")
	added := &config.NodeAffinityArgs{AddedAffinity: required(label("zone", corev1.NodeSelectorOpIn, "b"))}
	for name, test := range map[string]struct {
		args  config.PluginArgs
		scene scene
		want  []string
	}{
		config.NodeResourcesFit: {
			scene: scene{node: tight, pod: pod(gpus)},
			want:  []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu"},
		},
		config.NodeConditions: {
			scene: scene{node: tight, pod: pod()},
			want:  []string{"node(s) had memory pressure", "node(s) had disk pressure"},
		},
		config.NodeAffinity: {
			args:  added,
			scene: scene{pod: pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })},
			want:  []string{"node(s) didn't match scheduler-enforced node affinity", "node(s) didn't match Pod's node affinity/selector"},
		},
		config.NodeVolumeLimits: {
			scene: scene{
				objects: slices.Concat(disks(ebsDriver, "a"), disks(otherDriver, "x"), []runtime.Object{
					csiDriver(ebsDriver, true), csiNode("node", otherDriver, 0),
				}),
				pod: pod(claiming("a", "x")),
			},
			want: []string{"CSI driver is not installed on the node", "node(s) exceed max volume count"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			snap, at, asking := test.scene.raise(t)
			profile, err := NewProfile(withEveryPlugin(profileWith(name, test.args)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, objection := range profile.Judge(asking, snap).Reasons(at) {
				if objection.Predicate == name {
					got = append(got, objection.Reason)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMindsTellsWhichPodsMatterOnOtherNodes(t *testing.T) {
	snap, _, web := scene{pod: web("", spreadBy(corev1.LabelHostname, 1, corev1.DoNotSchedule))}.raise(t)
	profile, err := NewProfile(&config.Profile{SchedulerName: corev1.DefaultSchedulerName})
	if err != nil {
		t.Fatal(err)
	}
	plain := cluster.NewPod(pod())
	if profile.JudgeFit(plain, snap).Minds(plain) {
		t.Error("a pod without affinity or spread minds others like it")
	}
	if !profile.JudgeFit(web, snap).Minds(web) {
		t.Error("a pod that is spread does not mind others like it")
	}
	if profile.JudgeFit(web, snap).Minds(plain) {
		t.Error("a pod that is spread minds pods that its constraint is not about")
	}
}
