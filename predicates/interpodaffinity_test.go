package predicates

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
)

func TestInterPodAffinity(t *testing.T) {
	const (
		unmet     = "node(s) didn't match pod affinity rules"
		antiUnmet = "node(s) didn't match pod anti-affinity rules"
		existing  = "node(s) didn't satisfy existing pods anti-affinity rules"
		malformed = "parsing pod: malformed pod affinity"
		beyond    = "pod has more than 100 terms of pod affinity, or requirements in one"
	)
	zoneA := node(labelled("zone", "a"), labelled("host", "node"))
	neighbour := node(called("neighbour"), labelled("zone", "a"), labelled("host", "neighbour"))
	stranger := node(called("stranger"), labelled("zone", "b"), labelled("host", "stranger"))
	web, db := wearing("app", "web"), wearing("app", "db")
	nearWeb, offWeb, offDB := aboutPods("zone", "app", "web"), aboutPods("zone", "app", "web"), aboutPods("zone", "app", "db")
	many := &metav1.LabelSelector{
		MatchExpressions: slices.Repeat([]metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}, 101),
	}
	// among puts the pod into a cluster of three nodes, with the others where they say.
	among := func(asking *corev1.Pod, placed ...*corev1.Pod) scene {
		return scene{node: zoneA, others: []*corev1.Node{neighbour, stranger}, placed: placed, pod: asking}
	}
	checkVerdicts(t, config.InterPodAffinity, []verdictCase{
		{name: "a pod without terms fits where no pod is against it", scene: among(pod(web), pod(db, keepingOff(offDB)))},

		{name: "the pod that it wants is on the node", scene: among(pod(keepingTo(nearWeb)), pod(web))},
		{name: "the pod that it wants is elsewhere in the failure domain", scene: among(pod(keepingTo(nearWeb)), pod(web, onNode("neighbour")))},
		{
			name:   "the pod that it wants is in another domain, and eviction does not help",
			scene:  among(pod(keepingTo(nearWeb)), pod(web, onNode("stranger"))),
			reason: unmet,
		},
		{name: "the pod that it wants is nowhere", scene: among(pod(keepingTo(nearWeb)), pod(db)), reason: unmet},
		{name: "the pod that it wants is in another namespace", scene: among(pod(keepingTo(nearWeb)), pod(web, within("other"))), reason: unmet},
		{
			name:   "a node that lacks the topology key is near nothing",
			reason: unmet,
			scene:  scene{node: node(), pod: pod(keepingTo(nearWeb)), placed: []*corev1.Pod{pod(web)}},
		},
		{
			name:  "one pod must be such as all terms say",
			scene: among(pod(keepingTo(nearWeb, aboutPods("host", "tier", "front"))), pod(web, wearing("tier", "front"))),
		},
		{
			name:   "two pods that each term says one of are not enough",
			scene:  among(pod(keepingTo(nearWeb, aboutPods("host", "tier", "front"))), pod(web), pod(wearing("tier", "front"))),
			reason: unmet,
		},
		{
			name:   "each topology key has its own domain",
			scene:  among(pod(keepingTo(aboutPods("host", "app", "web"), nearWeb)), pod(web, onNode("neighbour"))),
			reason: unmet,
		},
		{
			name:  "two pods of the kind may make up for two keys",
			scene: among(pod(keepingTo(nearWeb, aboutPods("host", "app", "web"))), pod(web), pod(web, onNode("neighbour"))),
		},

		{name: "the first of a group may go anywhere", scene: among(pod(web, keepingTo(nearWeb)), pod(db))},
		{name: "the first of a group needs the topology key", scene: scene{node: node(), pod: pod(web, keepingTo(nearWeb))}, reason: unmet},
		{name: "the second of a group is not free", scene: among(pod(web, keepingTo(nearWeb)), pod(web, onNode("stranger"))), reason: unmet},
		{name: "one of the group that is in no domain does not count", scene: scene{
			node:   zoneA,
			others: []*corev1.Node{node(called("nowhere"))},
			pod:    pod(web, keepingTo(nearWeb)),
			placed: []*corev1.Pod{pod(web, onNode("nowhere"))},
		}},
		{
			name:   "one that matches only one of its own terms is not the first",
			scene:  among(pod(web, keepingTo(nearWeb, aboutPods("zone", "app", "db")))),
			reason: unmet,
		},
		{
			name:   "one in another namespace than its terms is not the first",
			scene:  among(pod(web, keepingTo(inNamespaces(nearWeb, "other")))),
			reason: unmet,
		},

		{
			name:       "the pod that it shuns is elsewhere in the failure domain, and eviction may help",
			scene:      among(pod(keepingOff(offWeb)), pod(web, onNode("neighbour"))),
			reason:     antiUnmet,
			resolvable: true,
		},
		{name: "the pod that it shuns is in another domain", scene: among(pod(keepingOff(offWeb)), pod(web, onNode("stranger")))},
		{
			name:  "a node that lacks the topology key has nothing to shun",
			scene: scene{node: node(), pod: pod(keepingOff(offWeb)), placed: []*corev1.Pod{pod(web)}},
		},
		{
			name:       "one term that forbids is enough",
			scene:      among(pod(keepingOff(offWeb, aboutPods("host", "app", "db"))), pod(web)),
			reason:     antiUnmet,
			resolvable: true,
		},
		{
			name:       "of two terms of one key the first forbids",
			scene:      among(pod(keepingOff(offWeb, offDB)), pod(web)),
			reason:     antiUnmet,
			resolvable: true,
		},
		{
			name:       "of two terms of one key the second forbids",
			scene:      among(pod(keepingOff(offWeb, offDB)), pod(db)),
			reason:     antiUnmet,
			resolvable: true,
		},

		{
			name:       "a pod in the failure domain shuns it",
			scene:      among(pod(web), pod(db, keepingOff(offWeb), onNode("neighbour"))),
			reason:     existing,
			resolvable: true,
		},
		{name: "a pod in another domain may shun it", scene: among(pod(web), pod(db, keepingOff(offWeb), onNode("stranger")))},
		{name: "a pod shuns pods of its own namespace", scene: among(pod(web), pod(within("other"), keepingOff(offWeb)))},
		{
			name:       "a pod that shuns another namespace by name",
			scene:      among(pod(web), pod(within("other"), keepingOff(inNamespaces(offWeb, "default")))),
			reason:     existing,
			resolvable: true,
		},
		{name: "a pod whose selector does not parse shuns nobody", scene: among(pod(web), pod(db, keepingOff(misspelt(offWeb))))},
		{name: "what a pod only prefers forbids nothing", scene: among(pod(web, shunning(100, offDB)), pod(db, shunning(100, offWeb)))},

		{
			name:   "affinity comes before anti-affinity",
			scene:  among(pod(web, keepingTo(aboutPods("zone", "app", "db")), keepingOff(offWeb)), pod(web)),
			reason: unmet,
		},
		{
			name:       "the pod's own anti-affinity comes before that of others",
			scene:      among(pod(web, keepingOff(offDB)), pod(db, keepingOff(offWeb))),
			reason:     antiUnmet,
			resolvable: true,
		},

		{name: "a selector that does not parse fits nowhere", scene: among(pod(keepingOff(misspelt(offWeb)))), reason: malformed},
		{
			name:  "as many terms as there may be are judged",
			scene: among(pod(keepingOff(slices.Repeat([]corev1.PodAffinityTerm{offDB}, 100)...)), pod(web)),
		},
		{
			name:   "with more a pod fits nowhere",
			scene:  among(pod(keepingTo(nearWeb), keepingOff(slices.Repeat([]corev1.PodAffinityTerm{offDB}, 100)...)), pod(web)),
			reason: beyond,
		},
		{
			name:   "so it does with more requirements in a selector",
			scene:  among(pod(keepingOff(corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: many})), pod(web)),
			reason: beyond,
		},
		{name: "a preference that does not parse fits nowhere either", scene: among(pod(liking(1, misspelt(nearWeb)))), reason: malformed},
		{
			name:  "a term without a selector is about no pod",
			scene: among(pod(web, keepingOff(corev1.PodAffinityTerm{TopologyKey: "zone"})), pod(web)),
		},
		{name: "an empty selector is about all", scene: among(pod(keepingOff(aboutPods("zone"))), pod(db)), reason: antiUnmet, resolvable: true},
	})
}

// There are the namespaces red and blue, whose labels say so, and pods of web in both.
func TestInterPodAffinityAcrossNamespaces(t *testing.T) {
	const antiUnmet, existing = "node(s) didn't match pod anti-affinity rules", "node(s) didn't satisfy existing pods anti-affinity rules"
	web := wearing("app", "web")
	offWeb := aboutPods("zone", "app", "web")
	is := func(team string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
	}
	isNot := &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"red", "blue"}},
		},
	}
	meeting := func(asking, placed *corev1.Pod) scene {
		return scene{
			node: node(labelled("zone", "a")), objects: []runtime.Object{namespace("red", "team", "red"), namespace("blue", "team", "blue")},
			placed: []*corev1.Pod{placed}, pod: asking,
		}
	}
	red, blue, unknown := pod(web, within("red")), pod(web, within("blue")), pod(web, within("unknown"))
	asks := func(term corev1.PodAffinityTerm) *corev1.Pod { return pod(within("red"), keepingOff(term)) }
	has := func(term corev1.PodAffinityTerm) *corev1.Pod { return pod(within("unknown"), keepingOff(term)) }
	checkVerdicts(t, config.InterPodAffinity, []verdictCase{
		{name: "its own namespace is meant where none is named", scene: meeting(asks(offWeb), red), reason: antiUnmet, resolvable: true},
		{name: "others are not", scene: meeting(asks(offWeb), blue)},
		{name: "one that is named is", scene: meeting(asks(inNamespaces(offWeb, "blue")), blue), reason: antiUnmet, resolvable: true},
		{name: "then its own is not", scene: meeting(asks(inNamespaces(offWeb, "blue")), red)},
		{
			name:       "one that is named need not be known",
			scene:      meeting(asks(inNamespaces(offWeb, "unknown")), unknown),
			reason:     antiUnmet,
			resolvable: true,
		},
		{name: "one that is selected is", scene: meeting(asks(inNamespacesThat(offWeb, is("blue"))), blue), reason: antiUnmet, resolvable: true},
		{name: "where some are selected, its own is not", scene: meeting(asks(inNamespacesThat(offWeb, is("blue"))), red)},
		{
			name:       "names and a selector add up",
			scene:      meeting(asks(inNamespacesThat(inNamespaces(offWeb, "red"), is("blue"))), red),
			reason:     antiUnmet,
			resolvable: true,
		},
		{
			name:       "an empty selector selects all",
			scene:      meeting(asks(inNamespacesThat(offWeb, &metav1.LabelSelector{})), unknown),
			reason:     antiUnmet,
			resolvable: true,
		},
		{name: "one that is not known is not selected", scene: meeting(asks(inNamespacesThat(offWeb, is("unknown"))), unknown)},
		{name: "one that has the label is not selected by its absence", scene: meeting(asks(inNamespacesThat(offWeb, isNot)), blue)},
		{name: "one that is not known is not selected by absence", scene: meeting(asks(inNamespacesThat(offWeb, isNot)), unknown)},

		{
			name:       "a pod shuns the namespace that it selects",
			scene:      meeting(red, has(inNamespacesThat(offWeb, is("red")))),
			reason:     existing,
			resolvable: true,
		},
		{name: "a pod does not shun another", scene: meeting(blue, has(inNamespacesThat(offWeb, is("red"))))},
		{name: "a pod may select by absence and mean it", scene: meeting(blue, has(inNamespacesThat(offWeb, isNot)))},
		{
			name:       "a namespace that is not known has no labels",
			scene:      meeting(unknown, has(inNamespacesThat(offWeb, isNot))),
			reason:     existing,
			resolvable: true,
		},
	})
}

func onNode(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

func namespace(name string, namesAndValues ...string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: inTurn(namesAndValues)}}
}

func inTurn(namesAndValues []string) map[string]string {
	labels := map[string]string{}
	for i := 0; i < len(namesAndValues); i += 2 {
		labels[namesAndValues[i]] = namesAndValues[i+1]
	}
	return labels
}

// aboutPods is a term about pods with those labels.
func aboutPods(topologyKey string, namesAndValues ...string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: inTurn(namesAndValues)}}
}

func inNamespaces(term corev1.PodAffinityTerm, names ...string) corev1.PodAffinityTerm {
	term.Namespaces = names
	return term
}

func inNamespacesThat(term corev1.PodAffinityTerm, selector *metav1.LabelSelector) corev1.PodAffinityTerm {
	term.NamespaceSelector = selector
	return term
}

// misspelt is a term that does not parse.
func misspelt(term corev1.PodAffinityTerm) corev1.PodAffinityTerm {
	term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	return term
}

// keepingTo gives the pod a required affinity.
func keepingTo(terms ...corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) { podAffinityOf(p).RequiredDuringSchedulingIgnoredDuringExecution = terms }
}

// keepingOff gives the pod a required anti-affinity.
func keepingOff(terms ...corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) { podAntiAffinityOf(p).RequiredDuringSchedulingIgnoredDuringExecution = terms }
}

// liking adds to the pod's preferred affinity.
func liking(weight int32, term corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		to := &podAffinityOf(p).PreferredDuringSchedulingIgnoredDuringExecution
		*to = append(*to, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
	}
}

// shunning adds to the pod's preferred anti-affinity.
func shunning(weight int32, term corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		to := &podAntiAffinityOf(p).PreferredDuringSchedulingIgnoredDuringExecution
		*to = append(*to, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
	}
}

func podAffinityOf(p *corev1.Pod) *corev1.PodAffinity {
	a := affinityOf(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	return a.PodAffinity
}

func podAntiAffinityOf(p *corev1.Pod) *corev1.PodAntiAffinity {
	a := affinityOf(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	return a.PodAntiAffinity
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func TestTermsOfOthersAboutKeysThatNoNodeHasCostNothing(t *testing.T) {
	placed := make([]*corev1.Pod, 50)
	for i := range placed {
		key := fmt.Sprint("attack/", i)
		placed[i] = pod(onNode("node"), keepingOff(aboutPods(key)), shunning(1, aboutPods(key)))
		placed[i].Name, placed[i].UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
	}
	snap, _, asked := scene{node: node(labelled("zone", "a")), placed: placed, pod: pod()}.raise(t)
	check := interPodAffinity{}.For(asked, snap).(*podAffinityCheck)
	check.Update(snap, indexes(snap))
	comparison := interPodAffinityScore{}.For(asked, snap).Among.(*podAffinityComparison)
	comparison.Update(snap, indexes(snap))
	if len(check.opposing)+len(comparison.sums) > 0 {
		t.Errorf("%d and %d keys are kept, want none", len(check.opposing), len(comparison.sums))
	}
}
