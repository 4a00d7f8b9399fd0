package reschedulerfaults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// illTaint is one that nobody tolerates.
const illTaint = "example.com/ill"

// addWishes gives those policies something to do that would have nothing otherwise.
func (w *writer) addWishes() {
	on := w.settings.policies
	if on.Has(v1alpha1.Separate) {
		for range 4 + w.rand.IntN(3) {
			w.askToLeave()
		}
	}
	if on.Has(v1alpha1.Repair) {
		for range 1 + w.rand.IntN(2) {
			w.taintNode()
		}
	}
	if w.settings.spreads() {
		for range 1 + w.rand.IntN(2) {
			w.addNodeAt(event{at: w.within(window / 2)})
		}
	}
}

// askToLeave asks that one pod to three leave their nodes, or another pod there.
func (w *writer) askToLeave() {
	var picks []int
	for range 1 + w.rand.IntN(3) {
		picks = append(picks, w.rand.IntN(1000))
	}
	fromPod := w.rand.IntN(2) == 0
	e := event{at: w.within(window * 2 / 3), what: "ask that pods leave their nodes", fault: separated}
	e.do = func(ctx context.Context, r *run) error {
		for _, pick := range picks {
			if err := r.askToLeave(ctx, pick, fromPod); err != nil {
				return err
			}
		}
		return nil
	}
	w.add(e)
}

// askToLeave asks so of the pod of a number, among those on nodes.
func (r *run) askToLeave(ctx context.Context, pick int, fromPod bool) error {
	pods := r.podsOnNodes()
	made := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return controllerOf(p) == "" })
	if len(made) == 0 {
		return nil
	}
	pod := made[pick%len(made)]
	from := pod.Spec.NodeName
	if at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p != pod && p.Spec.NodeName == from }); fromPod && at >= 0 {
		from = pods[at].Namespace + "/" + pods[at].Name
	}
	r.Note(fmt.Sprintf("ask that pod %s leaves %s", pod.Name, from))
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, v1alpha1.AnnotationSeparateFrom, from)
	_, err := r.lane.Client.CoreV1().Pods(workload.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "annotate pod", pod.Name)
}

// podsOnNodes returns the pods that run, by name.
func (r *run) podsOnNodes() (pods []*corev1.Pod) {
	r.record.look(func(s *state) {
		for _, p := range s.pods {
			if p.leaves.IsZero() && !p.bound.IsZero() && isReady(p.object) && p.object.Namespace == workload.Namespace {
				pods = append(pods, p.object)
			}
		}
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// taintNode has a node be such that no pod would come there any more, in half of the cases for a while only.
func (w *writer) taintNode() {
	some, heals, after := w.nodes[w.rand.IntN(len(w.nodes))].Name, w.rand.IntN(2) == 0, w.within(window/2)
	w.add(event{at: w.within(window / 2), what: "taint node " + some, fault: nodeTainted, do: func(ctx context.Context, r *run) error {
		if err := r.taint(ctx, some, true); err != nil || !heals {
			return err
		}
		faultcampaign.Pause(ctx, after)
		return r.taint(ctx, some, false)
	}})
}

// taint puts a taint on a node, or takes it off.
func (r *run) taint(ctx context.Context, name string, ill bool) error {
	r.Note(fmt.Sprintf("taint node %s: %t", name, ill))
	nodes := r.lane.Client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == illTaint })
		if ill {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: illTaint, Effect: corev1.TaintEffectNoSchedule})
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	return faultcampaign.UnlessDone(err, "taint node", name)
}

// resizePrefix begins the annotations of the namespace that say what pods of a workload request when they are created,
// whatever its template says: the name of the workload is the rest.
const resizePrefix = "resize.e2e.muster.dev/"

// resizer changes requests on creation, as a vertical autoscaler does.
const resizer = "resizer"

// startResizer has the API server change requests on creation from now on.
func (l *lane) startResizer(ctx context.Context) error {
	app := `object.metadata.labels["` + appLabel + `"]`
	says := `has(object.metadata.labels) && "` + appLabel + `" in object.metadata.labels && has(namespaceObject.metadata.annotations) && ` +
		`("` + resizePrefix + `" + ` + app + `) in namespaceObject.metadata.annotations`
	change := `JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", ` +
		`value: namespaceObject.metadata.annotations["` + resizePrefix + `" + ` + app + `]}`
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: resizer},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: says + " ? [" + change + "] : []"},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: resizer}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: resizer},
	}
	registration := l.Client.AdmissionregistrationV1()
	_, policyErr := registration.MutatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	_, bindingErr := registration.MutatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err := errors.Join(policyErr, bindingErr); err != nil {
		return fmt.Errorf("have requests changed on creation: %w", err)
	}
	return nil
}

// resize has the pods of a workload request so much when they are created, a JSON string, or what its template says again,
// which is null.
func (l *lane) resize(ctx context.Context, name, cpu string) error {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %s}}}`, resizePrefix+name, cpu)
	_, err := l.Client.CoreV1().Namespaces().Patch(ctx, workload.Namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change what pods of %s request: %w", name, err)
	}
	return nil
}

// createClaim makes the claim that pods with one share, and its volume, as if a controller had bound them.
func (l *lane) createClaim(ctx context.Context) error {
	room := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: claim, Namespace: workload.Namespace, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: shared, StorageClassName: new(""), VolumeName: claim, Resources: corev1.VolumeResourceRequirements{Requests: room},
		},
	}
	pvc, err := l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).Create(ctx, pvc, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a claim: %w", err)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: room, AccessModes: shared,
			ClaimRef:               &corev1.ObjectReference{Namespace: workload.Namespace, Name: claim, UID: pvc.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"}},
		},
	}
	_, volumeErr := l.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	pvc.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: shared, Capacity: room}
	_, claimErr := l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
	if err := errors.Join(volumeErr, claimErr); err != nil {
		return fmt.Errorf("bind a claim: %w", err)
	}
	return nil
}

const (
	// measuring is how often it is measured what nodes use.
	measuring = time.Second
	// mild is the usage of pods of no workload, in percent of their requests.
	mild = 50
)

// measure tells what nodes use, until the context ends: what their pods do, which is a part of what these request, or more.
func (r *run) measure(ctx context.Context) error {
	if !r.script.settings.measured() {
		return nil
	}
	metrics, known := r.lane.Dynamic.Resource(slov1alpha1.NodeMetrics()), map[string]bool{}
	for ; ctx.Err() == nil; faultcampaign.Pause(ctx, measuring) {
		for node, status := range r.usage(time.Now()) {
			if !known[node] {
				object := &unstructured.Unstructured{}
				object.SetAPIVersion(slov1alpha1.Group + "/" + slov1alpha1.Version)
				object.SetKind(slov1alpha1.Kind)
				object.SetName(node)
				_, err := metrics.Create(ctx, object, metav1.CreateOptions{})
				if err := faultcampaign.UnlessDone(err, "create NodeMetric", node); err != nil && ctx.Err() == nil {
					return err
				}
				known[node] = true
			}
			patch, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				return fmt.Errorf("encode what a node uses: %w", err)
			}
			_, err = metrics.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			if err := faultcampaign.UnlessDone(err, "write NodeMetric", node); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// usage returns the present usage of nodes, by their names.
func (r *run) usage(now time.Time) map[string]*slov1alpha1.NodeMetricStatus {
	used, pods := map[string]int64{}, map[string][]slov1alpha1.PodMetricInfo{}
	r.record.look(func(s *state) {
		for name, n := range s.nodes {
			if !n.gone {
				used[name] = 0
			}
		}
		for _, p := range s.pods {
			node := p.object.Spec.NodeName
			if _, there := used[node]; p.gone || !there || p.object.Status.Phase != corev1.PodRunning {
				continue
			}
			uses := milliCPU(p.object) * r.heat(p.object) / 100
			used[node] += uses
			pods[node] = append(pods[node], slov1alpha1.PodMetricInfo{Namespace: p.object.Namespace, Name: p.object.Name, PodUsage: cores(uses)})
		}
	})
	all := map[string]*slov1alpha1.NodeMetricStatus{}
	for node, uses := range used {
		all[node] = &slov1alpha1.NodeMetricStatus{
			UpdateTime: &metav1.Time{Time: now}, NodeMetric: &slov1alpha1.NodeMetricInfo{NodeUsage: cores(min(uses, coresOfANode*1000))},
			PodsMetric: pods[node],
		}
	}
	return all
}

// heat returns the usage of a pod, in percent of its request.
func (r *run) heat(pod *corev1.Pod) int64 {
	if w := r.script.workload(pod.Labels[appLabel]); w != nil {
		return w.heat
	}
	return mild
}

// cores are of CPU. What has no memory is not believed.
func cores(milli int64) slov1alpha1.ResourceMap {
	return slov1alpha1.ResourceMap{Resources: corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("1Mi"),
	}}
}
