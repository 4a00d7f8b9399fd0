package gangfaults

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// gang is a group of pods.
type gang struct {
	name      string
	label     string // one of [v1alpha1.GroupLabels]
	minMember int
	replicas  int
	milliCPU  int64
	devices   int64  // that a member claims
	priority  string // class
	timeout   time.Duration
	match     v1alpha1.MatchPolicy // "" for the default
	lax       bool                 // its mode is NonStrict
	with      []string             // the groups that start together, this one among them; none when it is alone
	// asks is the minResources of the PodGroup, in thousandths of a core; 0 for none.
	asks int64
	// finishing are how many members end by themselves after a while, replaced says that those
	// that are lost are replaced by new ones.
	finishing int
	replaced  bool
	former    bool // its members have had a former life
	// refused are the members that kube-scheduler puts on no node, though muster knows of nothing against it.
	refused []int
}

// hopeless says that too many members are refused for the gang to start.
func (g *gang) hopeless() bool { return g.replicas-len(g.refused) < g.minMember }

// pod makes the number-th member.
func (g *gang) pod(number int) *corev1.Pod {
	p := faultcampaign.NewPod(memberName(g.name, number), g.milliCPU, g.priority)
	p.Labels = map[string]string{g.label: g.name}
	if g.label == v1alpha1.LabelMuster {
		p.Annotations = g.says()
		p.Annotations[v1alpha1.AnnotationMinMember] = fmt.Sprint(g.minMember)
	}
	if g.devices > 0 {
		devices.Claim(&p.Spec, g.devices)
	}
	if number < g.finishing {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, controlplane.RunsForAnnotation, "300ms")
	}
	if slices.Contains(g.refused, number) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName},
		}}}
	}
	return p
}

func memberName(gang string, number int) string { return fmt.Sprintf("%s-%d", gang, number) }

// says are the annotations by which a group says how it is to start.
func (g *gang) says() map[string]string {
	says := map[string]string{}
	if g.match != "" {
		says[v1alpha1.AnnotationMatchPolicy] = string(g.match)
	}
	if g.lax {
		says[v1alpha1.AnnotationGangMode] = string(v1alpha1.GangNonStrict)
	}
	if len(g.with) > 0 {
		var names []string
		for _, name := range g.with {
			names = append(names, workload.Namespace+"/"+name)
		}
		text, err := json.Marshal(names)
		if err != nil {
			panic(err) // strings can be encoded
		}
		key := v1alpha1.AnnotationGroups
		if g.label == v1alpha1.LabelSigs {
			key = v1alpha1.AnnotationKoordinatorGroups
		}
		says[key] = string(text)
	}
	return says
}

// podGroup is the object of the gang, nil if it has none.
func (g *gang) podGroup() *unstructured.Unstructured {
	apiGroup := v1alpha1.APIGroupOf(g.label)
	if apiGroup == "" {
		return nil
	}
	spec := map[string]any{"minMember": int64(g.minMember), "scheduleTimeoutSeconds": int64(g.timeout / time.Second)}
	if g.asks > 0 {
		spec["minResources"] = map[string]any{"cpu": resource.NewMilliQuantity(g.asks, resource.DecimalSI).String()}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiGroup + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": g.name, "namespace": workload.Namespace},
		"spec":     spec,
	}}
	if says := g.says(); len(says) > 0 {
		object.SetAnnotations(says)
	}
	return object
}
