package trial

import (
	"fmt"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/rescheduler/planner"
)

// whatHelps says what would help a batch that has no room at a time that is known: more nodes, or nothing.
func (w *World) whatHelps(b *batch, part *Part, now *gang.Outlook) error {
	kinds := w.kinds(b)
	gone := w.everyEnd(kinds)
	empty, ok := w.gangs.Outlook(b.key, gone, true)
	if !ok {
		part.Outcome = Never
		return nil
	}
	if part.Unknown = empty.Fits(); !part.Unknown {
		part.Why = why(&empty, "if nothing else runs")
	}
	var like []*cluster.Node
	for _, pod := range kinds {
		switch node := w.fitsEmpty(pod, gone); {
		case node != nil && !slices.Contains(like, node):
			like = append(like, node)
		case node == nil && !part.Unknown:
			part.Outcome = Never
			return nil
		}
	}
	part.Outcome = MoreNodes
	return w.more(b, part, like, now.Wanted-now.Found)
}

// mostKinds is how many kinds of pods are looked at each by itself.
const mostKinds = 16

// kinds returns pods of a batch that are not known to be alike.
func (w *World) kinds(b *batch) (pods []*cluster.Pod) {
	seen := map[string]bool{}
	for _, pod := range b.pods {
		class := w.profiles.Of(pod.Spec.SchedulerName).HashOf(pod)
		if len(pods) == mostKinds || class != "" && seen[class] {
			continue
		}
		seen[class] = true
		pods = append(pods, pod)
	}
	return pods
}

// everyEnd has every pod end now that does not come with its node, and that none of some pods has to be near.
func (w *World) everyEnd(pods []*cluster.Pod) (ends []runtimes.End) {
	now, snap := w.stamps.Now(), w.cluster.Snapshot()
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			near := slices.ContainsFunc(pods, func(one *cluster.Pod) bool { return hasToBeNear(one, pod, snap) })
			if !near && !planner.GoesWithNode(pod) {
				ends = append(ends, runtimes.End{Pod: pod, Node: node, At: now})
			}
		}
	}
	return ends
}

// hasToBeNear reports whether a pod requires to be near another one.
func hasToBeNear(pod, other *cluster.Pod, snap *cluster.Snapshot) bool {
	if pod.Affinity == nil {
		return false
	}
	var namespace labels.Set
	if known, is := snap.Namespaces.Get(other.Namespace); is {
		namespace = known.Labels
	}
	return slices.ContainsFunc(pod.Affinity.Required, func(term cluster.AffinityTerm) bool { return term.Matches(other, namespace) })
}

// fitsEmpty returns a node on which a pod would fit once others are gone, nil when there is none.
func (w *World) fitsEmpty(pod *cluster.Pod, gone []runtimes.End) *cluster.Node {
	plan := placement.New(w.profiles.Of(pod.Spec.SchedulerName), []*cluster.Pod{pod}, 0)
	defer plan.Close()
	for _, end := range gone {
		plan.Take(end.Pod, end.Node.Index)
	}
	if node := plan.Place(pod); node >= 0 {
		return plan.Snapshot().Node(node)
	}
	return nil
}

// mostMore bounds the nodes that are added to see whether they help.
const mostMore = 1000

// more finds the nodes that would help a batch with pods that have no room, which are missing: the fewest like each of some nodes. It adds
// such nodes to the view, empty, and takes them away again.
func (w *World) more(b *batch, part *Part, like []*cluster.Node, missing int) error {
	if len(like) == 0 {
		return nil
	}
	added := addition{w, like, make([]int, len(like))}
	var err error
	fits := func(counts []int) bool {
		if err == nil {
			err = added.set(counts)
		}
		outlook, ok := w.gangs.Outlook(b.key, nil, false)
		return err == nil && ok && outlook.Fits()
	}
	counts, most := make([]int, len(like)), min(missing, mostMore)
	enough := false
	for each := 1; !enough && each < 2*most; each *= 2 {
		for i := range counts {
			counts[i] = min(each, most)
		}
		enough = fits(counts)
	}
	for i := len(counts) - 1; enough && i >= 0; i-- {
		counts[i] = sort.Search(counts[i], func(fewer int) bool {
			tried := slices.Clone(counts)
			tried[i] = fewer
			return fits(tried)
		})
	}
	for i, count := range counts {
		if count > 0 {
			part.More = append(part.More, More{Nodes: count, Like: like[i].Name})
		}
	}
	part.Doubtful = !enough
	if err == nil {
		err = added.set(make([]int, len(like)))
	}
	return err
}

// addition is nodes that are added to a world.
type addition struct {
	world  *World
	like   []*cluster.Node
	counts []int
}

// set has there be a number of nodes like each.
func (a *addition) set(counts []int) error {
	for i, want := range counts {
		for ; a.counts[i] < want; a.counts[i]++ {
			for _, object := range a.copyOf(i, a.counts[i]) {
				if err := a.world.cluster.Set(object); err != nil {
					return err
				}
			}
		}
		for ; a.counts[i] > want; a.counts[i]-- {
			for _, object := range slices.Backward(a.copyOf(i, a.counts[i]-1)) {
				if err := a.world.cluster.Delete(object); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// copyOf returns a copy of a node, and of the pods on it that come with it.
func (a *addition) copyOf(like, number int) []runtime.Object {
	node := a.like[like].DeepCopy()
	node.Name = fmt.Sprintf("muster-try-%d-%d", like, number)
	node.UID = types.UID(node.Name)
	if node.Labels[corev1.LabelHostname] != "" {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	objects := []runtime.Object{node}
	for _, pod := range a.like[like].Pods {
		if planner.GoesWithNode(pod) {
			with := pod.DeepCopy()
			with.Name += "-" + node.Name
			with.UID += "-" + node.UID
			with.Spec.NodeName = node.Name
			objects = append(objects, with)
		}
	}
	return objects
}
