package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// Parts of a pod's spec, as patches have them.
const (
	liftsAhead = `"schedulingGates": [{"$patch": "delete", "name": "muster.dev/ahead"}]`
	liftsGang  = `"schedulingGates": [{"$patch": "delete", "name": "muster.dev/gang"}]`
	// Each term of the pod is tightened; it has one.
	pin = `"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [` +
		`{"matchExpressions": [{"key": "pool", "operator": "Exists"}], ` +
		`"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["account"]}]}]}}}`
)

func change(spec ...string) string { return `{"spec": {` + strings.Join(spec, ", ") + `}}` }

// aheadPods are gated, and require or prefer something of nodes.
func (c *cluster) aheadPods(names ...string) {
	c.Helper()
	pool := corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpExists}},
	}
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{pool}},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: pool}},
	}}
	for _, name := range names {
		c.Create(newPod(name, "account", "1", gatedBy("example.com/approval", v1alpha1.AheadGate), func(p *corev1.Pod) {
			p.Spec.Affinity = affinity
		}))
	}
}

const ahead = "--set=scheduler.mode=ahead,config.profiles[0].nodeSelection=Muster,config.profiles[0].gates=UntilPlace"

func TestAMusterAheadThatIsTakenOverCannotHoldPodsToNodes(t *testing.T) {
	lab.Long(t)
	c := accounts(t, ahead)
	c.aheadPods("one", "two")
	a := c.takeOver("muster")
	a.inForce()
	a.try(changesOfPods())
	a.try([]write{
		patch("hold a pod to a node that stays gated", "pods/one", change(pin), ofSpec),
		patch("hold a pod to a node as its gate goes", "pods/one", change(liftsAhead, pin), ofSpec),
		patch("change what a pod prefers as its gate goes", "pods/one", change(liftsAhead,
			`"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}`), ofSpec),
	})
	// The API server refuses everybody to add a gate.
	w := patch("", "pods/one", change(`"schedulingGates": [{"name": "evil.example/never"}]`), "")
	if err := w.do(a); !apierrors.IsInvalid(err) {
		t.Errorf("to add a gate is answered with %v", err)
	}
	a.try([]write{
		{"nominate a gated pod", func(a *account) error { return a.nominations().Nominate(a.Context(), a.pod("one"), "account") }, ""},
		{"lift a gate", func(a *account) error { return a.nominations().LiftGate(a.Context(), a.pod("one"), v1alpha1.AheadGate) }, ""},
		patch("lift a gate by a patch", "pods/two", change(liftsAhead), ""),
		{"bind a pod", bind("pending", nil, nil), forbidden},
	})
	for _, name := range []string{"one", "two"} {
		if gates := gatesOf(a.pod(name)); !slices.Equal(gates, []string{"example.com/approval"}) {
			t.Errorf("%s has the gates %v, want that of another one", name, gates)
		}
	}
}

// createPod creates a pod in the namespace of the release, as the account.
func createPod(name string, gates ...string) func(a *account) error {
	return func(a *account) error {
		pod := newPod(name, "account", "1", workload.In(namespace), gatedBy(gates...))
		_, err := a.client.CoreV1().Pods(namespace).Create(a.Context(), pod, metav1.CreateOptions{})
		return err
	}
}

func TestAMusterAheadThatKeepsRoomForPlansCreatesNothingThatRuns(t *testing.T) {
	lab.Long(t)
	c := accounts(t, ahead, "--set=rescheduler.enabled=true,config.rescheduler.mode=Auto")
	a := c.takeOver("muster")
	a.inForce()
	remove := func(a *account) error {
		return a.client.CoreV1().Pods(namespace).Delete(a.Context(), "room", metav1.DeleteOptions{})
	}
	ungate := func(a *account) error {
		lifts := change(`"schedulingGates": [{"$patch": "delete", "name": "muster.dev/placeholder"}]`)
		return a.client.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).Namespace(namespace).Resource("pods").Name("room").
			Body([]byte(lifts)).Do(a.Context()).Error()
	}
	a.try([]write{
		{"create a pod that runs", createPod("evil"), ofCreation},
		{"create a pod that it can let go", createPod("evil", v1alpha1.AheadGate), ofCreation},
		{"create a placeholder pod", createPod("room", v1alpha1.PlaceholderGate), ""},
		{"let a placeholder pod run", ungate, ofGates},
		{"delete a placeholder pod", remove, ""},
	})
}
