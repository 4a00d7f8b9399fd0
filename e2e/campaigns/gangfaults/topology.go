package gangfaults

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
)

// Gangs near each other: nodes stand in racks of blocks, and gangs ask for one of them, or for slices of members that share one.

// Keys of the labels of nodes.
const blockKey, rackKey = "example.com/block", "example.com/rack"

const (
	nodesOfARack, racksOfABlock = 2, 2

	nearFigure     = "gangs_near"
	repairedInside = "members_replaced_inside"
)

// Kinds of findings.
const (
	apartFound = "members apart"
	splitFound = "slice split"
)

// topologySetupOf returns the setup of a seed.
func topologySetupOf(seed uint64) setup {
	s := setupOf(seed)
	s.topology = true
	return s
}

// writeTopology draws the script of a seed, for a scheduler that calls muster, and gangs that mostly ask for nodes near each other.
func writeTopology(seed uint64) *script {
	return draw(seed, topologySetupOf(seed), (*writer).addTopologyFaults)
}

// addTopologyFaults is addFaults without gangs that start together.
func (w *writer) addTopologyFaults() {
	var all faultcampaign.Urn
	all.Add(3, w.killScheduler)
	all.Add(4, w.killMuster)
	all.Add(4, w.killMusterAtCommit)
	w.addUpheavals(&all)
	all.Add(10, w.deleteMember)
	all.Add(3, w.finishMembers)
	all.Add(3, w.stickMember)
	all.Add(3, w.addRefused)
	w.addDelays(&all)
	w.addCallFaults(&all)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
}

// placeInRack labels the next node of a script with where it stands, in those with racks.
func (w *writer) placeInRack(node *corev1.Node) {
	if !w.setup.topology {
		return
	}
	rack := len(w.nodes) / nodesOfARack
	node.Labels[blockKey] = fmt.Sprintf("block-%d", rack/racksOfABlock)
	node.Labels[rackKey] = fmt.Sprintf("rack-%d", rack)
}

// nearness says how near to each other members have to be. Keys are "" for nothing.
type nearness struct {
	required string
	size     int // of slices
	sliced   string
	prefers  bool // one rack, which it waits for
}

// askForNearness has most gangs ask for nodes near each other, in scripts with racks.
func (w *writer) askForNearness(g *gang) {
	if !w.setup.topology {
		return
	}
	if g.match == v1alpha1.MatchOnlyWaiting { // each batch has a domain of its own
		g.match = ""
	}
	if g.label == native {
		g.near.required = []string{"", blockKey, rackKey}[w.rand.IntN(3)]
		return
	}
	g.near.required = []string{"", blockKey, rackKey, rackKey, corev1.LabelHostname}[w.rand.IntN(5)]
	g.near.prefers = g.near.required == blockKey && w.rand.IntN(2) == 0
	if w.rand.IntN(3) > 0 || g.near.required == corev1.LabelHostname {
		return
	}
	g.near.size, g.near.sliced = 2, []string{rackKey, corev1.LabelHostname}[w.rand.IntN(2)]
	g.minMember += g.minMember % g.near.size
	g.replicas = g.minMember + g.near.size*w.rand.IntN(2)
}

// says adds the annotations to what a group says.
func (n nearness) says(says map[string]string) {
	if n.required != "" {
		says[v1alpha1.AnnotationRequiredTopology] = n.required
	}
	if n.prefers {
		says[v1alpha1.AnnotationPreferredTopology], says[v1alpha1.AnnotationTopologyWaitFor] = rackKey, "2s"
	}
	if n.size > 0 {
		says[v1alpha1.AnnotationTopologySlices] = fmt.Sprintf("%d@%s", n.size, n.sliced)
	}
}

// domainOf names the domain of a level that has a node.
func domainOf(node *corev1.Node, key string) string {
	if key == corev1.LabelHostname {
		return node.Name
	}
	return node.Labels[key]
}

// alone returns whether a gang is one.
func alone(key groupKey) func(groupKey) bool {
	return func(other groupKey) bool { return other == key }
}

// standsNear is where the bound members of some gangs are: how many each domain of a level has. Members that are being deleted, or are
// on nodes that are gone, are left out.
func (s *state) standsNear(of func(groupKey) bool, level string) map[string]int {
	domains := map[string]int{}
	for _, pod := range s.pods {
		node := s.nodes[pod.Spec.NodeName]
		if of(keyOf(pod)) && node != nil && pod.DeletionTimestamp == nil && !hasEnded(pod) {
			domains[domainOf(node, level)]++
		}
	}
	return domains
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// together is the judgement on where members went.
type together struct {
	findings []finding
	near     int // gangs that asked for a domain, and were whole in one
	inside   int // members that replaced others, in the domain of the gang
}

// judgeNear replays a history that is in order. Each member that is bound has to be in one domain with the others of its gang, if they
// ask for one, and a gang that is whole without having lost a member has whole slices.
func judgeNear(history []entry, gangs map[string]*gang) together {
	j := nearJudge{
		state: newState(), whole: map[groupKey]bool{}, lost: map[groupKey]bool{}, left: map[groupKey]bool{}, placed: map[types.UID]bool{},
	}
	for _, e := range history {
		if j.state.apply(e); e.pod == nil {
			continue
		}
		key := keyOf(e.pod)
		g := gangs[key.name]
		if j.left[key] = j.left[key] || j.isLeft(key); g == nil || j.left[key] {
			continue
		}
		if j.lost[key] = j.lost[key] || e.gone || e.pod.DeletionTimestamp != nil || hasEnded(e.pod); j.binds(e) {
			j.bound(key, g, e.pod)
		}
	}
	return j.together
}

// nearJudge is the judgement so far.
type nearJudge struct {
	together
	state       *state
	whole, lost map[groupKey]bool // gangs that were whole once, and gangs that have lost members
	left        map[groupKey]bool // gangs that were left to kube-scheduler once, which knows of no domains here
	placed      map[types.UID]bool
}

// isLeft reports whether muster leaves a gang to kube-scheduler: one of Kubernetes' own groups that starts with one pod.
func (j *nearJudge) isLeft(key groupKey) bool {
	group, known := j.state.groups[key]
	return known && key.label == native && group.minMember == 1
}

// binds reports whether a pod is seen on a node that is there for the first time.
func (j *nearJudge) binds(e entry) bool {
	return !e.gone && e.pod.Spec.NodeName != "" && !j.placed[e.pod.UID] && j.state.nodes[e.pod.Spec.NodeName] != nil
}

// bound judges that a member was bound.
func (j *nearJudge) bound(key groupKey, g *gang, pod *corev1.Pod) {
	j.placed[pod.UID] = true
	j.judgeBinding(j.state, key, g, pod, j.whole[key] && j.lost[key])
	standing := j.state.standing(key)
	if !standing.whole() {
		return
	}
	if !j.whole[key] && g.near.required != "" {
		j.near++
	}
	j.whole[key] = true
	if !j.lost[key] && len(standing.pending) == 0 {
		j.judgeSlices(j.state, key, g)
	}
}

// judgeBinding judges that a member has come to where the others of its gang are.
func (v *together) judgeBinding(s *state, key groupKey, g *gang, pod *corev1.Pod, replaces bool) {
	if g.tree != nil && g.tree.near != "" {
		v.judgeDomain(s.standsNear(s.inTree(g.tree.name), g.tree.near), "tree "+g.tree.name, g.tree.near, pod)
	}
	if g.near.required == "" {
		return
	}
	if v.judgeDomain(s.standsNear(alone(key), g.near.required), "gang "+key.name, g.near.required, pod) && replaces {
		v.inside++
	}
}

// judgeDomain judges that there is one domain, where a pod has come.
func (v *together) judgeDomain(domains map[string]int, of, level string, pod *corev1.Pod) bool {
	if len(domains) > 1 {
		v.findings = append(v.findings, faultcampaign.Found(
			apartFound, "pod %s comes to node %s, and members of %s are in %v by %s", pod.Name, pod.Spec.NodeName, of, domains, level,
		))
	}
	return len(domains) < 2
}

// judgeSlices judges that no slice of a gang is split that has all its members.
func (v *together) judgeSlices(s *state, key groupKey, g *gang) {
	if g.near.size == 0 {
		return
	}
	domains := s.standsNear(alone(key), g.near.sliced)
	for _, members := range domains {
		if members%g.near.size != 0 {
			v.findings = append(v.findings, faultcampaign.Found(
				splitFound, "gang %s asks for slices of %d by %s, and its members are in %v", key.name, g.near.size, g.near.sliced, domains,
			))
			return
		}
	}
}

// fittingNear is fitting for a gang whose members have to be near each other: in the domain that they are in, or else in the one with
// the most room.
func (s *state) fittingNear(nodes []*corev1.Node, pods []*corev1.Pod, key groupKey, g standing) (fits int) {
	lacks, usable := g.lacks(), g.usable()
	if g.minMember == 0 || len(usable) < max(lacks, 1) || !hasFree(nodes, pods, g) {
		return 0
	}
	if g.near.size > 0 && (g.succeeded > 0 || g.minMember%g.near.size > 0) {
		return 0 // which slices they were in is not known, or the group asks for what cannot be
	}
	lacks += len(g.pending) - len(usable)
	within := s.standsNear(alone(key), g.near.required)
	domains := map[string][]*corev1.Node{}
	for _, node := range nodes {
		domain := ""
		if g.near.required != "" {
			domain = domainOf(node, g.near.required)
		}
		if g.near.required == "" || len(within) == 0 || within[domain] > 0 {
			domains[domain] = append(domains[domain], node)
		}
	}
	for _, some := range domains {
		fits = max(fits, s.fittingSlices(some, pods, key, g))
	}
	if fits >= max(lacks, 1) {
		return fits
	}
	return 0
}

// fittingSlices is how many members have room on some nodes, in whole slices. A slice that has lost members is made whole first.
func (s *state) fittingSlices(nodes []*corev1.Node, pods []*corev1.Pod, key groupKey, g standing) (fits int) {
	if g.near.size == 0 {
		return fit.Together(nodes, pods, g.pending)
	}
	domains := map[string][]*corev1.Node{}
	for _, node := range nodes {
		domain := domainOf(node, g.near.sliced)
		domains[domain] = append(domains[domain], node)
	}
	there := s.standsNear(alone(key), g.near.sliced)
	for domain, some := range domains {
		room := fit.Together(some, pods, g.pending)
		whole := (there[domain]+room)/g.near.size*g.near.size - there[domain]
		if whole < 0 {
			return 0
		}
		fits += whole
	}
	return min(fits, len(g.usable())/g.near.size*g.near.size) // a member that the scheduler refuses makes no slice whole
}

// readNearness reads how near to each other members have to be off the annotations of their group.
func readNearness(says map[string]string) (n nearness) {
	n.required = says[v1alpha1.AnnotationRequiredTopology]
	if _, err := fmt.Sscanf(says[v1alpha1.AnnotationTopologySlices], "%d@%s", &n.size, &n.sliced); err != nil {
		n.size, n.sliced = 0, ""
	}
	return n
}

// asks reports whether anything is asked for.
func (n nearness) asks() bool { return n != nearness{} }
