package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/quantity"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// togetherWithin is within what time pods of one owner come that are one job.
const togetherWithin = time.Minute

// readDump reads the pods of a dump that have ended, as jobs, and the nodes. Pods of one owner that were created together are one job; it
// is a gang if they are marked as members of a group.
func readDump(name string, text []byte) (*Trace, error) {
	b, nodes, groups := newBuilder(), &Nodes{}, map[string][]*corev1.Pod{}
	err := eachObject(name, text, func(o object) error {
		if err := nodes.take(o); err != nil || o.Kind != "Pod" {
			return err
		}
		pod := &corev1.Pod{}
		if err := bounded.Decode(o.text, pod); err != nil {
			return err
		}
		if why := leavesOutPod(pod); why != "" {
			b.leaveOut(why)
			return nil
		}
		owner := "pod/" + pod.Name
		if by := metav1.GetControllerOfNoCopy(pod); by != nil {
			owner = by.Kind + "/" + by.Name + "/" + string(by.UID)
		}
		key := pod.Namespace + "/" + group(pod) + "/" + owner
		groups[key] = append(groups[key], pod)
		return nil
	})
	if err != nil {
		return nil, err
	}
	stamps := map[*Job]time.Time{}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		for _, pods := range comeTogether(groups[key]) {
			j, stamp := jobOf(pods)
			if err := b.add(j); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			stamps[j] = stamp
		}
	}
	if err := b.stamp(name, stamps); err != nil {
		return nil, err
	}
	if len(nodes.Nodes) > 0 {
		b.trace.Nodes = nodes
	}
	return b.finish(name)
}

// leavesOutPod says why a pod is not replayed, "" if it is.
func leavesOutPod(pod *corev1.Pod) string {
	_, _, known := ran(pod)
	switch {
	case stays(pod):
		return "come with their nodes, and stay there"
	case pod.Status.Phase == corev1.PodRunning:
		return runsStill
	case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		return neverRan
	case !known || pod.CreationTimestamp.IsZero():
		return unknownEnd
	}
	return ""
}

// ran returns when a pod started and ended.
func ran(pod *corev1.Pod) (from, to time.Time, known bool) {
	if pod.Status.StartTime != nil {
		from = pod.Status.StartTime.Time
	}
	for i := range pod.Status.ContainerStatuses {
		if last := pod.Status.ContainerStatuses[i].State.Terminated; last != nil && last.FinishedAt.After(to) {
			to = last.FinishedAt.Time
		}
	}
	return from, to, !from.IsZero() && to.After(from) && to.Sub(from) <= LongestRun
}

// group is the group that a pod is marked to be of, "" for none.
func group(pod *corev1.Pod) string {
	if pod.Spec.SchedulingGroup != nil && pod.Spec.SchedulingGroup.PodGroupName != nil {
		return *pod.Spec.SchedulingGroup.PodGroupName
	}
	for _, mark := range []string{
		v1alpha1.LabelMuster, v1alpha1.LabelX, v1alpha1.LabelSigs, "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
		"leaderworkerset.sigs.k8s.io/group-key", "ray.io/cluster", "volcano.sh/job-name", "kueue.x-k8s.io/pod-group-name",
	} {
		if name := pod.Labels[mark]; name != "" {
			return name
		}
	}
	return pod.Annotations["scheduling.k8s.io/group-name"]
}

// mostParts is of how many parts that came last a pod may be.
const mostParts = 16

// comeTogether parts pods of one owner by when they came. All pods of a part ask for the same.
func comeTogether(pods []*corev1.Pod) (parts [][]*corev1.Pod) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		last := parts[max(0, len(parts)-mostParts):]
		of := slices.IndexFunc(last, func(part []*corev1.Pod) bool {
			return pod.CreationTimestamp.Sub(part[0].CreationTimestamp.Time) <= togetherWithin && len(part) < MostPodsOfJob &&
				same(asksOf(pod), asksOf(part[0]))
		})
		if of < 0 {
			parts = append(parts, []*corev1.Pod{pod})
		} else {
			last[of] = append(last[of], pod)
		}
	}
	return parts
}

func same(a, b corev1.ResourceList) bool {
	return len(a) == len(b) && !slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(name corev1.ResourceName) bool {
		q, there := b[name]
		return !there || q.Cmp(a[name]) != 0
	})
}

// asksOf sums up the requests of a pod, with its overhead and its init containers.
func asksOf(pod *corev1.Pod) corev1.ResourceList {
	asks := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	quantity.Cap(asks)
	return asks
}

// jobOf makes a job of pods, which runs for as long as the longest of them did.
func jobOf(pods []*corev1.Pod) (j *Job, stamp time.Time) {
	first := pods[0]
	j = &Job{
		Name: first.Name, Namespace: first.Namespace, App: first.Name, Scheduler: first.Spec.SchedulerName, Pods: len(pods),
		Gang: len(pods) > 1 && group(first) != "", Priority: corev1helpers.PodPriority(first), Asks: asksOf(first), Says: says(first),
		Template: template(&first.Spec),
	}
	if by := metav1.GetControllerOfNoCopy(first); by != nil {
		j.Name, j.App = strings.ToLower(by.Kind)+"/"+by.Name, by.Name
	}
	for _, pod := range pods {
		from, to, _ := ran(pod)
		j.runs = max(j.runs, to.Sub(from))
	}
	return j, first.CreationTimestamp.Time
}

// says returns how long a pod says that it runs, 0 if it says nothing.
func says(pod *corev1.Pod) time.Duration {
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(min(*seconds, int64(LongestRun/time.Second))) * time.Second
	}
	said, err := time.ParseDuration(pod.Annotations[v1alpha1.AnnotationExpectedRuntime])
	if err != nil || said < 0 {
		return 0
	}
	return min(said, LongestRun)
}

// template has the demands of a pod on its node: without volumes, claims and devices, which are not in the simulation.
func template(of *corev1.PodSpec) *corev1.PodSpec {
	return &corev1.PodSpec{NodeSelector: of.NodeSelector, Affinity: of.Affinity, Tolerations: of.Tolerations}
}
