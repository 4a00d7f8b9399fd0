package fit

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Apart is an error when a pod stands where its own required anti-affinity or one of its
// DoNotSchedule spread constraints forbids it. Terms are taken to be about the pod's own
// namespace, and every node with the label to count; pods whose constraints say
// otherwise must not be judged here. Nodes by a name that is not given have no labels.
func Apart(nodes []*corev1.Node, pods []*corev1.Pod) error {
	l := &layout{nodes: map[string]*corev1.Node{}, counted: map[string]map[string]int{}}
	for _, n := range nodes {
		l.nodes[n.Name] = n
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" && !finished(p) {
			l.pods = append(l.pods, p)
		}
	}
	for _, p := range l.pods {
		if err := l.judge(p); err != nil {
			return fmt.Errorf("pod %s on node %s: %w", p.Name, p.Spec.NodeName, err)
		}
	}
	return nil
}

// layout is where pods are.
type layout struct {
	nodes   map[string]*corev1.Node
	pods    []*corev1.Pod
	counted map[string]map[string]int // by namespace, node label and selector
}

// counts are numbers of pods.
type counts struct {
	// by the values of a node label.
	by map[string]int
	// itself is 1 when the pod that they are for is among them.
	itself int
}

func (l *layout) judge(p *corev1.Pod) error {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, term := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			counts, err := l.count(p, term.TopologyKey, term.LabelSelector)
			if err != nil {
				return err
			}
			if domain, ok := l.domain(p, term.TopologyKey); ok && counts.by[domain] > counts.itself {
				return fmt.Errorf("pods that its anti-affinity is about are at %s %s as well", term.TopologyKey, domain)
			}
		}
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		counts, err := l.count(p, c.TopologyKey, c.LabelSelector)
		if err != nil {
			return err
		}
		numbers := slices.Collect(maps.Values(counts.by))
		if len(numbers) > 0 && slices.Max(numbers)-slices.Min(numbers) > int(c.MaxSkew) {
			return fmt.Errorf(
				"pods that its spread constraint is about, by %s: %v; that is a skew of more than %d", c.TopologyKey, counts.by, c.MaxSkew,
			)
		}
	}
	return nil
}

// count is how many pods of p's namespace a selector matches, by the values of a node
// label.
func (l *layout) count(p *corev1.Pod, key string, terms *metav1.LabelSelector) (counts, error) {
	selector, err := metav1.LabelSelectorAsSelector(terms)
	if err != nil {
		return counts{}, err
	}
	matches := func(other *corev1.Pod) bool {
		return other.Namespace == p.Namespace && selector.Matches(labels.Set(other.Labels))
	}
	itself := 0
	if matches(p) {
		itself = 1
	}
	id := p.Namespace + "/" + key + "/" + selector.String()
	if by, ok := l.counted[id]; ok {
		return counts{by, itself}, nil
	}
	by := map[string]int{}
	for _, n := range l.nodes {
		if domain, ok := n.Labels[key]; ok {
			by[domain] = 0
		}
	}
	for _, other := range l.pods {
		if domain, ok := l.domain(other, key); ok && matches(other) {
			by[domain]++
		}
	}
	l.counted[id] = by
	return counts{by, itself}, nil
}

func (l *layout) domain(p *corev1.Pod, key string) (string, bool) {
	n := l.nodes[p.Spec.NodeName]
	if n == nil {
		return "", false
	}
	domain, ok := n.Labels[key]
	return domain, ok
}
