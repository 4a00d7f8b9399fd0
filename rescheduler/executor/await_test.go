package executor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func TestAStepIsDoneWhenItsPodHasEnded(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come")
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "default/small-1 has not ended yet")
	w.gone("small-1")
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "waits until default/big is bound")
}

// A replacement comes before its claims are made, and fits nowhere until then.
func TestAPlanWaitsForTheClaimsOfAReplacement(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.set(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}) // devices can be read
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come")
	w.gone("small-1")
	claiming := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("claim")}}
		return pod
	}
	w.set(claiming(w.small("small-2", "")))
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "the ResourceClaims of default/small-2, which replaces default/small-1, are not there")
	w.set(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim"}})
	w.set(claiming(w.small("small-2", "n2")))
	w.want(v1alpha1.Executing, v1alpha1.StepMoved, "waits until default/big is bound")
}

func TestWhoSawTheOthersBeforeFindsAReplacementElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		restarts bool
		step     v1alpha1.StepPhase
		message  string
	}{
		"the process that evicted": {step: v1alpha1.StepMoved, message: "waits until default/big is bound"},
		"another process":          {restarts: true, step: v1alpha1.StepEvicted, message: "nothing has come"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.node("n3", "4")
			w.set(w.small("sibling", "n3"))
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come")
			if test.restarts {
				w.restart()
			}
			w.gone("small-1")
			w.set(w.small("small-2", "n3"))
			w.want(v1alpha1.Executing, test.step, test.message)
		})
	}
}
