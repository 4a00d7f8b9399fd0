package core

import (
	"fmt"
	"iter"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
)

// object is a pod as the watch shows it.
func (w *world) object(i int) *cluster.Pod {
	p := &w.pod[i]
	on := ""
	if p.runs() {
		on = nodeName(p.place)
	}
	key := fmt.Sprint(i, p.version, p.created, on, p.free, p.nominated, p.touched, p.refused, p.phase == isLeaving)
	if w.made[key] == nil {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: fmt.Sprint("p", i, p.version), UID: w.uid(i), CreationTimestamp: metav1.NewTime(at(p.created)),
				Labels: map[string]string{v1alpha1.LabelX: groupNames[w.groups[i]]}, ResourceVersion: key,
			},
			Spec: corev1.PodSpec{NodeName: on, Priority: &w.ranks[i], SchedulerName: "s"},
		}
		if p.phase == isLeaving {
			pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		p.dress(pod)
		if w.gated && !p.free {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
		}
		w.made[key] = &cluster.Pod{Pod: pod, Namespace: "n"}
	}
	return w.made[key]
}

// Now implements [Ports].
func (w *world) Now() time.Time { return at(w.now) }

// Generation implements [View], as all that follow.
func (w *world) Generation() uint64 { return w.moment }

func (w *world) PodGroup(key membership.Key) *v1alpha1.Observed {
	return w.group[key.Name[0]-'a'].object
}

// readGroup has the watch show a PodGroup as the API server has it.
func (w *world) readGroup(group int) {
	g := &w.group[group]
	text := fmt.Sprint(group, g.variant, g.life, g.born)
	if g.record != nil {
		text = fmt.Sprint(text, g.record.Members, g.record.MinMember, g.record.Time.Unix(), g.record.Since.Unix(), g.record.PodGroup)
	}
	if w.objects[text] == nil {
		annotations := map[string]any{}
		if w.policy != "" {
			annotations[v1alpha1.AnnotationMatchPolicy] = w.policy
		}
		if w.bundle {
			annotations[v1alpha1.AnnotationGroups] = `["n/a", "n/b"]`
		}
		if r := g.record; r != nil {
			annotations[record.Annotation] = fmt.Sprintf(`{"members":%d,"minMember":%d,"time":%q,"podGroup":%q,"since":%q}`,
				r.Members, r.MinMember, r.Time.Format(time.RFC3339), r.PodGroup, r.Since.Format(time.RFC3339))
		}
		w.objects[text] = v1alpha1.Observe(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
			"metadata": map[string]any{
				"name": groupNames[group], "namespace": "n", "annotations": annotations, "uid": fmt.Sprint(groupNames[group], g.life),
				"creationTimestamp": at(g.born).Format(time.RFC3339),
			},
			"spec": map[string]any{"minMember": w.least[group][g.variant]},
		}})
	}
	g.object = w.objects[text]
}

func (w *world) Node(name string) *cluster.Node {
	node := nodeIndex(name)
	if node < 0 || w.gone[node] {
		return nil
	}
	key := [2]int{int(node)}
	for i, on := range w.singles {
		if on == int(node) && w.single[i] < 2 {
			key[1] |= 1 << i
		}
	}
	if w.seen[key] == nil {
		n := &cluster.Node{}
		for i := range w.singles {
			if key[1]&(1<<i) != 0 {
				n.Pods = append(n.Pods, w.singlePod(i))
			}
		}
		w.seen[key] = n
	}
	return w.seen[key]
}

func (w *world) singlePod(i int) *cluster.Pod {
	key := fmt.Sprint("single ", i)
	if w.made[key] == nil {
		w.made[key] = &cluster.Pod{Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: key, UID: types.UID("s" + strconv.Itoa(i)), Namespace: "n"},
			Spec:       corev1.PodSpec{NodeName: nodeName(int8(w.singles[i]))},
		}, Namespace: "n"}
	}
	return w.made[key]
}

func (w *world) NodeCount() int { return len(w.room) }

func (w *world) NodeNames() *cluster.NodeNames { return nil }

func (w *world) Ages() (ages runtimes.Ages) { return ages }

func (w *world) Pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for i := range w.singles {
			if w.single[i] < 2 && !yield(w.singlePod(i)) {
				return
			}
		}
		for i := range w.pods {
			if w.pod[i].runs() && !yield(w.object(i)) {
				return
			}
		}
	}
}

func (w *world) Assumed(uid types.UID) string {
	if i := w.index(uid); i >= 0 && w.pod[i].phase == waits {
		return nodeName(w.pod[i].place)
	}
	return ""
}

func (w *world) Binding(uid types.UID) string {
	if i := w.index(uid); i >= 0 && w.pod[i].mayBind {
		return nodeName(w.pod[i].place)
	}
	return ""
}

func (w *world) Blocked(types.UID) bool { return false }

func (w *world) Came() uint64 { return 0 }

func (w *world) Untried(string, uint64, time.Time) bool { return false }

func (w *world) Waits(uint64) bool { return true }

func (w *world) Profile(string) *predicates.VerdictStore { return w.store }
