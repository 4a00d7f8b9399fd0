package conformance

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Mode is who picks the nodes of pods, and who looks at predicates.
type Mode struct {
	Selection config.NodeSelection
	// Offload has kube-scheduler ask about every node. Without it, it asks about some: those on which its own plugins
	// would have the pod.
	Offload bool
	// Nominates has muster nominate every pod. Without it, a nomination saves too little.
	Nominates bool
}

// Modes are all of them.
func Modes() []Mode {
	modes := []Mode{{Selection: config.NodeSelectionScheduler}}
	for _, nominates := range []bool{false, true} {
		for _, offload := range []bool{false, true} {
			modes = append(modes, Mode{Selection: config.NodeSelectionMuster, Offload: offload, Nominates: nominates})
		}
	}
	return modes
}

func (m Mode) String() string {
	text := string(m.Selection)
	if m.Offload {
		text += " offload"
	}
	if m.Nominates {
		text += " nominates"
	}
	return text
}

// picks reports whether muster picks the nodes.
func (m Mode) picks() bool { return m.Selection != config.NodeSelectionScheduler }

// Interleaving is a cluster in which several pods are between filter and bind at a time. The verbs of muster are called
// for them in an order that is drawn, while nodes and pods change, and muster's watch shows it late. Each binding that
// the API server has made is noted, to be judged:
//
//	i, err := conformance.NewInterleaving(ctx, seed)
//	...
//	err = i.Step()
//	for _, binding := range i.Bindings {
//		err := judge.HearBinding(ctx, binding)
//
// The same seed makes the same interleaving, except for the time of nominations. It is for one goroutine,
// in a bubble of testing/synctest, whose end waits for the context's.
type Interleaving struct {
	Mode Mode
	// Bindings were made, and Refused is how many muster has refused to ask for.
	Bindings []*Binding
	Refused  int

	source    *source
	scenario  *Scenario // its profile, its objects, and how nodes and pods are drawn
	wild      bool      // as in the first campaign
	templates []*corev1.Pod
	api       *apiServer
	cluster   *cluster.Cluster
	verbs     http.Handler
	// during happens while a pod is judged, by its name.
	during map[string]func()
	// offers are what filter has answered last, by pod.
	offers map[types.UID]*offered
	// doubts are binding calls that may have been served as far as muster knows, by pod: until it hears, or takes the
	// pod for another node, the pod keeps its node.
	doubts map[types.UID]*offered
	born   int
	events []string
	failed error // of what happened during a call
}

// offered is an answer of filter about a pod.
type offered struct {
	pod   *corev1.Pod
	nodes []string
	// judged is the cluster in which muster has picked the node, nil if it has not, or if the watch has shown since
	// then a reason to judge the pod again. Of a doubt it is the cluster of the first call.
	judged *Scenario
}

// Binding is a pod that was bound to a node.
type Binding struct {
	Mode Mode
	Node string
	// Known is the cluster as muster could know it at that moment: every node and pod as the watch had shown it, and
	// every binding that muster has made. Counted has besides where pods count that muster has found a place for.
	// Picked is the cluster when muster picked the node, nil if the watch has shown since a reason to judge the pod
	// again.
	Known, Counted, Picked *Scenario
	// Events led to it, one a line.
	Events string
}

// Step makes one step: a call of a verb, a change, or that the watch shows something.
func (i *Interleaving) Step() error {
	if err := i.keepUp(slowStep); err != nil {
		return err
	}
	if i.Mode.Nominates {
		time.Sleep(one(i.source, 0, 30*time.Millisecond)) // for the Nominator to place pods
	}
	switch draw := i.source.upTo(99); {
	case draw < 14:
		i.create()
		return nil
	case draw < 38:
		return i.filter(i.anyPending())
	case draw < 62:
		return i.bind()
	case draw < 76:
		return i.show()
	case draw < 83:
		i.changeNode()
		return nil
	case draw < 91:
		return i.changePod()
	case draw < 94:
		i.nominate()
		return nil
	case draw < 97:
		return i.prioritize()
	default:
		return i.pass(one(i.source, time.Second, 10*time.Second, 2*assumeTTL))
	}
}

func (i *Interleaving) note(format string, args ...any) {
	i.events = append(i.events, fmt.Sprintf(format, args...))
}

// keepUp has the watch show what it must before so much time has passed: it may lag by any number of steps, but not for
// longer than muster counts on what it has decided.
func (i *Interleaving) keepUp(within time.Duration) error {
	if i.api.due(within) {
		return i.showPods(all)
	}
	return nil
}

// slowStep is longer than any step takes but one that lets time pass: calls wait for pods that the watch has not shown.
const slowStep = 2 * time.Second

// pass lets time pass.
func (i *Interleaving) pass(d time.Duration) error {
	if err := i.keepUp(d + slowStep); err != nil {
		return err
	}
	i.note("%v pass", d)
	time.Sleep(d)
	return nil
}

// anyPending draws a waiting pod that muster's watch need not have heard of; nil if there is none.
func (i *Interleaving) anyPending() *corev1.Pod {
	pods := i.api.podsThat(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil })
	if len(pods) == 0 {
		return nil
	}
	return one(i.source, pods...)
}

// filter asks about a pod, on some nodes or all of them.
func (i *Interleaving) filter(pod *corev1.Pod) error {
	if pod == nil {
		return nil
	}
	s := i.source
	names := several(s, mostNodes, i.api.nodeNames()...)
	if i.Mode.Offload {
		names = i.api.nodeNames()
	}
	if nominated := pod.Status.NominatedNodeName; nominated != "" && i.api.node(nominated) != nil && s.chance(80) {
		names = []string{nominated}
	}
	if s.chance(25) {
		i.meanwhile(pod)
	}
	var answer extenderv1.ExtenderFilterResult
	if err := i.ask("filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names}, &answer); err != nil {
		return err
	}
	delete(i.offers, pod.UID)
	if doubt := i.doubts[pod.UID]; doubt != nil && i.cluster.Assumed(pod.UID) != doubt.nodes[0] {
		delete(i.doubts, pod.UID)
	}
	offer := &offered{pod: pod}
	if answer.NodeNames != nil {
		offer.nodes = *answer.NodeNames
	}
	i.note("filter %s among %v: %v %s", pod.Name, names, offer.nodes, answer.Error)
	if len(offer.nodes) == 0 {
		return nil
	}
	// One that counts somewhere, as its binding had no answer, is judged there and offered that node alone.
	if counts := i.cluster.Assumed(pod.UID) != ""; (counts || i.Mode.picks()) && i.api.pods.shown[pod.UID] != nil {
		offer.judged = i.api.known(pod.UID, i.counted())
	}
	i.offers[pod.UID] = offer
	return nil
}

// counted are the nodes on which pods count that are not bound as far as the watch shows, by pod.
func (i *Interleaving) counted() map[types.UID]string {
	counted := map[types.UID]string{}
	for uid := range i.api.pods.shown {
		if node := i.cluster.Assumed(uid); node != "" {
			counted[uid] = node
		}
	}
	return counted
}

// anyOffer draws a pod that filter has offered nodes for; nil if there is none.
func (i *Interleaving) anyOffer() *offered {
	uids := slices.Sorted(maps.Keys(i.offers))
	if len(uids) == 0 {
		return nil
	}
	return i.offers[one(i.source, uids...)]
}

// prioritize asks how well nodes suit a pod.
func (i *Interleaving) prioritize() error {
	offer := i.anyOffer()
	if offer == nil || i.Mode.picks() {
		return nil
	}
	var scores extenderv1.HostPriorityList
	return i.ask("prioritize", extenderv1.ExtenderArgs{Pod: offer.pod, NodeNames: &offer.nodes}, &scores)
}

// bind asks to bind a pod, mostly to a node that was offered for it. The call may be repeated.
func (i *Interleaving) bind() error {
	offer := i.anyOffer()
	if offer == nil {
		return i.filter(i.anyPending())
	}
	s, pod := i.source, offer.pod
	node := one(s, offer.nodes...)
	if s.chance(3) {
		node = nodeName(s.upTo(mostRivalled - 1))
	}
	if s.chance(30) {
		i.meanwhile(pod)
	}
	i.note("bind %s to %s", pod.Name, node)
	var answer extenderv1.ExtenderBindingResult
	err := i.ask("bind", extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}, &answer)
	i.note("bind %s to %s: %q", pod.Name, node, answer.Error)
	if strings.Contains(answer.Error, "does not fit") {
		i.Refused++
	}
	if answer.Error == "" || s.chance(80) {
		delete(i.offers, pod.UID)
	}
	return err
}

// taken notes a binding that is about to be made.
func (i *Interleaving) taken(pod *corev1.Pod, node string) {
	b := &Binding{
		Mode: i.Mode, Node: node, Events: strings.Join(i.events, "\n"),
		Known: i.api.known(pod.UID, nil), Counted: i.api.known(pod.UID, i.counted()),
	}
	if offer := i.offers[pod.UID]; offer != nil {
		b.Picked = offer.judged
	}
	if doubt := i.doubts[pod.UID]; doubt != nil && b.Picked == nil && doubt.nodes[0] == node {
		b.Picked = doubt.judged
	}
	for _, s := range []*Scenario{b.Known, b.Counted, b.Picked} {
		if s != nil {
			s.Profile, s.Objects = i.scenario.Profile, i.scenario.Objects
		}
	}
	i.Bindings = append(i.Bindings, b)
}

// doubted notes a binding call when muster does not hear whether it was served.
func (i *Interleaving) doubted(pod *corev1.Pod, node string) {
	if doubt := i.doubts[pod.UID]; doubt == nil || doubt.nodes[0] != node {
		i.doubts[pod.UID] = &offered{pod: pod, nodes: []string{node}, judged: i.api.known(pod.UID, i.counted())}
	}
}

// ask calls a verb, during which anything may happen that was drawn.
func (i *Interleaving) ask(verb string, request, answer any) error {
	defer clear(i.during)
	return errors.Join(call(i.verbs, verb, request, answer), i.failed)
}
