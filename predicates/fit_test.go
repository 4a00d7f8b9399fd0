package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

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
		t.Error("a pod that is spread minds those that its constraint is not about")
	}
}
