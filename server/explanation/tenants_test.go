package explanation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/explanation"
)

// The namespaces of two tenants, and what names of nodes begin with. No word of an explanation is like one of them.
const (
	mine, theirs = "alphazz", "omegazz"
	machine      = "machinezz"
)

// shared returns a situation of two tenants on the same nodes: the pods of each follow from a seed.
func shared(seed uint64) *situation {
	s, other := situationOf(seed), situationOf(seed^1<<60)
	for _, node := range s.nodes {
		node.Name = machine + node.Name
		node.Labels[corev1.LabelHostname] = node.Name
	}
	belongs := func(pod *corev1.Pod, namespace string) {
		pod.Namespace, pod.Name, pod.UID = namespace, namespace+pod.Name, types.UID(namespace)+pod.UID
		if gang := pod.Labels[v1alpha1.LabelMuster]; gang != "" {
			pod.Labels[v1alpha1.LabelMuster] = namespace + gang
		}
		for _, node := range []*string{&pod.Spec.NodeName, &pod.Status.NominatedNodeName} {
			if *node != "" {
				*node = s.nodes[len(*node+pod.Name)%len(s.nodes)].Name
			}
		}
	}
	first := len(s.pods)
	for i := range s.pods {
		belongs(s.pods[i], mine)
	}
	for i := range other.pods {
		belongs(other.pods[i], theirs)
	}
	for i := range s.changes {
		if s.changes[i].node != nil {
			s.changes[i].node.Name = machine + s.changes[i].node.Name
		} else if to := s.changes[i].to; to != nil {
			belongs(to, mine)
			to.Spec.NodeName = s.pods[s.changes[i].pod].Spec.NodeName
		}
	}
	s.pods = append(s.pods, other.pods...)
	for _, at := range other.asked {
		s.asked = append(s.asked, first+at)
	}
	return s
}

// own returns the names of nodes that the pods have, or are to go to.
func own(all ...*explanation.Pod) (nodes []string) {
	for _, e := range all {
		nodes = append(nodes, e.Bound, e.Counts)
		if e.Gang != nil {
			nodes = append(nodes, e.Gang.Node)
		}
		if e.Nomination != nil {
			nodes = append(nodes, e.Nomination.Node)
		}
	}
	return nodes
}

// machines finds the names of nodes.
var machines = regexp.MustCompile(machine + "[a-z0-9]*")

// leaks returns what a text names that who sees one namespace may not know.
func leaks(text, others string, own []string) string {
	if strings.Contains(text, others) {
		return "another namespace"
	}
	for _, node := range machines.FindAllString(text, -1) {
		if !slices.Contains(own, node) {
			return "node " + node
		}
	}
	return ""
}

func wholly(t *testing.T, answer inspect.Answer) string {
	var text strings.Builder
	if err := inspect.Print(&text, answer, inspect.JSON); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestNoAnswerNamesWhatIsOfOthers asks in the namespace of each tenant about each of its pods and gangs, in situations that
// follow from seeds. What muster knows names others in many of them.
func TestNoAnswerNamesWhatIsOfOthers(t *testing.T) {
	cfg := configurations(t)
	count := situations
	if testing.Short() {
		count = fewSituations
	}
	answers, names := 0, map[string]int{}
	for seed := range uint64(count) {
		l := newLab(t, cfg, shared(1<<40+seed), asked)
		check := func(namespace string, spec explanationv1alpha1.QuestionSpec, whole string, nodes []string) {
			answer := l.explainer.Answer(namespace, spec)
			others := map[string]string{mine: theirs, theirs: mine}[namespace]
			if what := leaks(fmt.Sprintf("%+v %+v", answer, answer.Refusals), others, nodes); what != "" {
				t.Fatalf("seed %d, %s in %s: the answer names %s:\n%s", seed, spec.About, namespace, what, answer.Text)
			}
			if answer.Outcome == explanationv1alpha1.NotFound || answer.Summary == "" || !strings.Contains(answer.Text, answer.Summary) ||
				len(answer.Text) > explanationv1alpha1.MaxText {
				t.Fatalf("seed %d: %s in %s is answered %+v", seed, spec.About, namespace, answer)
			}
			if elsewhere := l.explainer.Answer(others, spec); elsewhere.Outcome != explanationv1alpha1.NotFound {
				t.Fatalf("seed %d: %s of %s is answered in %s: %+v", seed, spec.About, namespace, others, elsewhere)
			}
			answers++
			what, _, _ := strings.Cut(leaks(whole, others, nodes), " ")
			names[what]++
		}
		gangs := map[types.NamespacedName][]*explanation.Pod{}
		for _, pod := range l.pods {
			told := l.explain(pod)
			check(pod.Namespace, explanationv1alpha1.About(explanationv1alpha1.Pod, pod.Name), wholly(t, told), own(told))
			if gang := pod.Labels[v1alpha1.LabelMuster]; gang != "" {
				name := types.NamespacedName{Namespace: pod.Namespace, Name: gang}
				gangs[name] = append(gangs[name], told)
			}
		}
		for name, members := range gangs {
			whole := l.explainer.Gangs(name)
			if len(whole.Gangs) == 0 {
				continue
			}
			check(name.Namespace, explanationv1alpha1.About(explanationv1alpha1.Gang, name.Name), wholly(t, whole), own(members...))
		}
	}
	t.Logf("figure tenants_answers=%d", answers)
	if names["another"] == 0 || names["node"] == 0 {
		t.Errorf("of %d explanations that are not in brief none name others: %v", answers, names)
	}
}
