package gangfaults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/workload"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 1500 * time.Millisecond

// script is done in a run, whatever comes of it.
type script struct {
	seed    uint64
	setup   setup
	nodes   []*corev1.Node // that are there before
	gangs   map[string]*gang
	events  []event
	trouble faultcampaign.Trouble
	slow    map[string]bool // gangs that take their time to be let go, on the way to the API server
	behind  time.Duration   // what muster knows may be so much older than it is without faults
	small   small           // pods that keep the cluster busy
}

// length is how long things happen.
func (s *script) length() time.Duration {
	if s.setup.booking {
		return bookedWindow
	}
	return window
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

// moment is a point that a gang comes to: a number of bind calls about members have reached muster, muster has
// begun to bind members, it has asked the API server a number of times to nominate members or to lift a gate
// of theirs, or room is booked for the gang. The zero moment is always.
type moment struct {
	gang      string
	held      int
	committed bool
	nominated int
	lifted    int
	booked    bool
}

// Priority classes above the default of 0.
const raised, urgent = "raised", "urgent"

// Of nodes and of what is on them.
const coresOfANode = 4

// write draws the script of a seed, for a scheduler that calls muster.
func write(seed uint64) *script { return draw(seed, setupOf(seed), (*writer).addFaults) }

// draw draws a script with faults.
func draw(seed uint64, to setup, addFaults func(*writer)) *script {
	w := newWriter(seed, to)
	room := int64(len(w.nodes)) * coresOfANode * 1000
	load, atLeast := int64(0), room*int64(50+w.rand.IntN(110))/100
	for len(w.gangs) < 5 && (len(w.gangs) == 0 || load < atLeast) {
		g := w.addGang("")
		load += g.milliCPU * int64(g.replicas)
	}
	for range w.rand.IntN(4) {
		w.addPod("", "")
	}
	addFaults(w)
	return w.finished()
}

// newWriter draws the nodes of a script.
func newWriter(seed uint64, to setup) *writer {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &writer{
		rand: r,
		script: script{
			seed:    seed,
			setup:   to,
			gangs:   map[string]*gang{},
			trouble: faultcampaign.NewTrouble(seed),
			slow:    map[string]bool{},
		},
	}
	for i := range 4 + r.IntN(5) {
		node := workload.NewNode(fmt.Sprintf("s%d-node-%d", seed, i), workload.Milli(1000*coresOfANode), workload.Room(64, 20))
		w.offerDevices(node)
		w.placeInRack(node)
		w.nodes = append(w.nodes, node)
	}
	return w
}

// finished returns the script with its events in order.
func (w *writer) finished() *script {
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
	return &w.script
}

// writer writes a script.
type writer struct {
	script
	rand     *rand.Rand
	pods     int
	refusing bool // there is a gang with members that the scheduler refuses
}

func (w *writer) add(e event) { w.events = append(w.events, e) }

// within draws a time of the window.
func (w *writer) within(part time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(part)))
}

// addGang draws a gang of a priority class, or of any that is not urgent, and has its pods come
// one after the other, soon.
func (w *writer) addGang(priority string) *gang {
	g := w.drawGang(priority)
	w.addEvents(g)
	return g
}

// drawGang draws a gang that is not there yet.
func (w *writer) drawGang(priority string) *gang {
	r := w.rand
	label := v1alpha1.LabelX
	switch r.IntN(6) {
	case 0:
		label = v1alpha1.LabelSigs
	case 1:
		label = v1alpha1.LabelMuster
	}
	if w.setup.native {
		label = native
	}
	g := &gang{
		name:      fmt.Sprintf("s%d-%c", w.seed, 'a'+rune(len(w.gangs))),
		label:     label,
		minMember: 2 + r.IntN(5),
		milliCPU:  []int64{500, 1000, 1500, 2000, 3000}[r.IntN(5)],
		timeout:   []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second, 20 * time.Second}[r.IntN(4)],
		match:     matchPolicies()[r.IntN(5)],
		lax:       r.IntN(4) == 0,
		replaced:  r.IntN(2) == 0,
		priority:  priority,
	}
	g.replicas = g.minMember + r.IntN(3)
	if label == v1alpha1.LabelMuster || label == native {
		g.timeout = gangTimeout
	}
	if label == native {
		g.match, g.lax = "", false
	}
	if priority == "" && r.IntN(4) == 0 {
		g.priority = raised
	}
	switch r.IntN(12) {
	case 0, 1:
		g.asks = g.milliCPU * int64(g.minMember)
	case 2:
		g.asks = 1_000_000 // more than there is
	}
	if label == native {
		g.asks = 0
	}
	w.claimDevices(g)
	w.askForNearness(g)
	w.gangs[g.name] = g
	return g
}

// matchPolicies are drawn from; "" has a group say nothing.
func matchPolicies() []v1alpha1.MatchPolicy {
	return []v1alpha1.MatchPolicy{"", "", v1alpha1.MatchWaitingAndBound, v1alpha1.MatchOnceSatisfied, v1alpha1.MatchOnlyWaiting}
}

// addEvents has the PodGroup of a gang and its pods come.
func (w *writer) addEvents(g *gang) {
	at := w.within(window / 4)
	if object := g.podGroup(); object != nil {
		w.add(event{at: at, what: "create PodGroup " + g.name, do: createGroup(object)})
	}
	spread := w.within(window/10) + 1
	for i := range g.replicas {
		pod := g.pod(i)
		w.add(event{
			at:   at + w.within(spread),
			what: "create pod " + pod.Name,
			do:   func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) },
		})
	}
}

// addPod has a pod of no gang come.
func (w *writer) addPod(priority string, of faultcampaign.Fault) {
	pod := workload.NewPod(
		fmt.Sprintf("s%d-single-%d", w.seed, w.pods),
		workload.Milli([]int64{500, 1000, 2000}[w.rand.IntN(3)]),
		workload.OfPriority(priority),
	)
	w.pods++
	w.add(event{
		at:    w.within(window),
		fault: of,
		what:  "create pod " + pod.Name,
		do:    func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) },
	})
}

// someGang draws one of the existing gangs.
func (w *writer) someGang() *gang {
	names := slices.Sorted(maps.Keys(w.gangs))
	return w.gangs[names[w.rand.IntN(len(names))]]
}

// someTime draws when something happens to a gang: in half of the cases while members of it are
// held, with the bind call about one of them kept for a while, or while muster reserves its places
// or lets it go.
func (w *writer) someTime(g *gang) (time.Duration, moment) {
	at := w.within(w.length())
	if w.drawBooked() {
		return 0, moment{gang: g.name, booked: true}
	}
	if w.rand.IntN(2) == 0 {
		return at, moment{}
	}
	if w.setup.ahead() {
		return 0, w.midway(g)
	}
	w.keepBind(
		memberName(g.name, w.rand.IntN(g.replicas)),
		faultcampaign.Spoiled{Fault: callDelayed, Time: 200*time.Millisecond + w.within(600*time.Millisecond)},
	)
	return 0, moment{gang: g.name, held: 1 + w.rand.IntN(g.minMember-1)}
}

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
	tree      *tree                // that it is in, nil for none
	near      nearness
	with      []string // the groups that start together, this one among them; none when it is alone
	// asks is the minResources of the PodGroup, in thousandths of a core; 0 for none.
	asks int64
	// finishing is the number of members that end by themselves after a while, replaced says that
	// new ones replace lost ones.
	finishing int
	replaced  bool
	runs      time.Duration // after what time each member ends, which it says; 0 for never
	former    bool          // its members have had a former life
	// refused are the members that kube-scheduler puts on no node, though muster knows of nothing against it.
	refused []int
}

// hopeless says that too many members are refused for the gang to start.
func (g *gang) hopeless() bool { return g.replicas-len(g.refused) < g.minMember }

// pod makes the number-th member.
func (g *gang) pod(number int) *corev1.Pod {
	p := workload.NewPod(memberName(g.name, number), workload.Milli(g.milliCPU), workload.OfPriority(g.priority))
	if g.label == native {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.name}
	} else {
		p.Labels = map[string]string{g.label: g.name}
	}
	if g.label == v1alpha1.LabelMuster {
		p.Annotations = g.says()
		p.Annotations[v1alpha1.AnnotationMinMember] = fmt.Sprint(g.minMember)
	}
	if g.devices > 0 {
		devices.Claim(&p.Spec, g.devices)
	}
	if g.runs > 0 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, controlplane.RunsForAnnotation, g.runs.String())
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationExpectedRuntime, g.runs.String())
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
	g.near.says(says)
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
	if g.label == native {
		return g.nativeGroup()
	}
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
