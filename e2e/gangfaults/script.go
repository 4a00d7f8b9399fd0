package gangfaults

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 1500 * time.Millisecond

// script is what is done in a run, whatever comes of it.
type script struct {
	seed    uint64
	gates   string         // gangs.gates of muster's configuration
	nodes   []*corev1.Node // that are there before
	gangs   map[string]*gang
	events  []event
	trouble faultcampaign.Trouble
	slow    map[string]bool // gangs whose bindings take their time on the way to the API server
}

// event is something that is done to the cluster, not before a time since the run began, and
// not before a moment in the life of a gang.
type event struct {
	at     time.Duration
	moment moment
	what   string              // for people
	fault  faultcampaign.Fault // "" for what is none
	do     func(context.Context, *run) error
}

// moment is one that a gang comes to: so many bind calls about members have reached muster, or
// muster has begun to bind members. The zero moment is always.
type moment struct {
	gang      string
	held      int
	committed bool
}

// gang is a group of pods.
type gang struct {
	name      string
	label     string // one of [v1alpha1.GroupLabels]
	minMember int
	replicas  int
	milliCPU  int64
	priority  string // class
	timeout   time.Duration
	// finishing are how many members end by themselves after a while, replaced says that those
	// that are lost are replaced by new ones.
	finishing int
	replaced  bool
}

// pod makes the number-th member.
func (g *gang) pod(number int) *corev1.Pod {
	p := faultcampaign.NewPod(memberName(g.name, number), g.milliCPU, g.priority)
	p.Labels = map[string]string{g.label: g.name}
	if g.label == v1alpha1.LabelMuster {
		p.Annotations = map[string]string{v1alpha1.AnnotationMinMember: fmt.Sprint(g.minMember)}
	}
	if number < g.finishing {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, controlplane.RunsForAnnotation, "300ms")
	}
	return p
}

func memberName(gang string, number int) string { return fmt.Sprintf("%s-%d", gang, number) }

// podGroup is the object of the gang, nil if it has none.
func (g *gang) podGroup() *unstructured.Unstructured {
	apiGroup := v1alpha1.APIGroupOf(g.label)
	if apiGroup == "" {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiGroup + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": g.name, "namespace": workload.Namespace},
		"spec":     map[string]any{"minMember": int64(g.minMember), "scheduleTimeoutSeconds": int64(g.timeout / time.Second)},
	}}
}
