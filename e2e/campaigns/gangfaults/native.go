package gangfaults

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/workload"
)

// Kubernetes' own groups: gangs whose pods name them in spec.schedulingGroup, and trees of them.

// native stands for the label of a gang that is one of Kubernetes' own.
const native = "spec.schedulingGroup"

// resources are their resources, of Kubernetes 1.37: PodGroups, and groups of groups.
func resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
		{Group: "scheduling.k8s.io", Version: "v1alpha3", Resource: "compositepodgroups"},
	}
}

const groupInTree faultcampaign.Fault = "tree of gangs"

// treesFigure is how many trees there were.
const treesFigure = "trees"

// nativeSetupOf returns the setup of a seed. No gate keeps pods of these groups.
func nativeSetupOf(seed uint64) setup {
	return setup{native: true, topology: seed/seedsPerSetup%4 > 1, elects: seed/seedsPerSetup%2 == 1, skew: skewOf(seed)}
}

// writeNative draws the script of a seed, for a scheduler that calls muster, and gangs that are Kubernetes' own groups.
func writeNative(seed uint64) *script {
	return draw(seed, nativeSetupOf(seed), (*writer).addNativeFaults)
}

// addNativeFaults is addFaults without gangs whose members end, as muster does not follow pods of these groups that have.
func (w *writer) addNativeFaults() {
	var all faultcampaign.Urn
	all.Add(3, w.killScheduler)
	all.Add(6, w.killMuster)
	w.addUpheavals(&all)
	all.Add(3, w.stickMember)
	w.addDelays(&all)
	w.addCallFaults(&all)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
	for range 1 + w.rand.IntN(2) {
		w.addTree()
	}
}

// tree is a group of groups.
type tree struct {
	name    string
	atLeast int    // of its gangs start together
	near    string // the key of the level whose one domain has all of their pods, "" for none
}

// addTree has two to four gangs come in a tree that starts with some of them. Their pods are alike, so that whether there is
// room for some does not depend on who goes where.
func (w *writer) addTree() {
	first := w.drawGang("")
	parts := []*gang{first}
	for range 1 + w.rand.IntN(3) {
		other := w.drawGang("")
		other.milliCPU, other.priority = first.milliCPU, first.priority
		parts = append(parts, other)
	}
	of := &tree{name: first.name + "-tree", atLeast: 1 + w.rand.IntN(len(parts))}
	if w.setup.topology && w.rand.IntN(3) > 0 {
		of.near = blockKey
	}
	object := of.object(first.priority)
	w.add(event{at: w.within(window / 2), fault: groupInTree, what: "create CompositePodGroup " + of.name, do: createGroup(object)})
	for _, g := range parts {
		g.minMember, g.tree, g.near = min(g.minMember, 3), of, nearness{}
		g.replicas = g.minMember + w.rand.IntN(2)
		w.addEvents(g)
	}
}

// object is the group of groups, of a priority class unless that is "".
func (t *tree) object(class string) *unstructured.Unstructured {
	return newNative(resources()[1], "CompositePodGroup", t.name, class, nearBy(t.near, map[string]any{
		"schedulingPolicy": map[string]any{"gang": map[string]any{"minGroupCount": int64(t.atLeast)}}, "workloadRef": reference(),
	}))
}

// nearBy has the spec of a group ask for one domain of a level, unless that is "".
func nearBy(key string, spec map[string]any) map[string]any {
	if key != "" {
		spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": key}}}
	}
	return spec
}

// nearIn reads the level that a group asks for.
func nearIn(object *unstructured.Unstructured) string {
	constraints, _, _ := unstructured.NestedSlice(object.Object, "spec", "schedulingConstraints", "topology")
	if len(constraints) == 0 {
		return ""
	}
	constraint, _ := constraints[0].(map[string]any)
	key, _ := constraint["key"].(string)
	return key
}

// nativeGroup is the object of a gang.
func (g *gang) nativeGroup() *unstructured.Unstructured {
	spec := map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(g.minMember)}}}
	if g.tree != nil {
		spec["parentCompositePodGroupName"], spec["workloadRef"] = g.tree.name, reference()
	}
	return newNative(resources()[0], "PodGroup", g.name, g.priority, nearBy(g.near.required, spec))
}

// reference names a Workload, as the API asks of groups in a tree. Nobody reads it.
func reference() map[string]any {
	return map[string]any{"workloadName": "workload", "templateName": "template"}
}

func newNative(of schema.GroupVersionResource, kind, name, class string, spec map[string]any) *unstructured.Unstructured {
	if class != "" {
		spec["priorityClassName"] = class
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": workload.Namespace}, "spec": spec,
	}}
	object.SetGroupVersionKind(of.GroupVersion().WithKind(kind))
	return object
}

// applyTold enters that one of Kubernetes' own groups was told why it waits, and names it.
func (s *state) applyTold(event *corev1.Event) (turned []groupKey) {
	for key, group := range s.groups {
		if key.label == native && group.uid == event.InvolvedObject.UID {
			group.reason = event.Reason
			s.groups[key] = group
			turned = append(turned, key)
		}
	}
	return turned
}

// readNative reads a PodGroup of Kubernetes' own. Only events say why its pods wait.
func readNative(object *unstructured.Unstructured) podGroup {
	minCount, _, _ := unstructured.NestedInt64(object.Object, "spec", "schedulingPolicy", "gang", "minCount")
	parent, _, _ := unstructured.NestedString(object.Object, "spec", "parentCompositePodGroupName")
	return podGroup{
		uid: object.GetUID(), created: object.GetCreationTimestamp().Time, minMember: int(minCount), tree: parent,
		says: map[string]string{v1alpha1.AnnotationRequiredTopology: nearIn(object)},
	}
}

// labelOf returns the label of the pods of a group, or what stands for it.
func labelOf(group *unstructured.Unstructured) string {
	apiGroup, _, _ := strings.Cut(group.GetAPIVersion(), "/")
	if apiGroup == resources()[0].Group {
		return native
	}
	for _, label := range v1alpha1.GroupLabels() {
		if v1alpha1.APIGroupOf(label) == apiGroup {
			return label
		}
	}
	return ""
}

// isTree reports whether an object is a group of groups.
func isTree(object *unstructured.Unstructured) bool { return object.GetKind() == "CompositePodGroup" }

// applyTree enters an event of a group of groups, and names the gangs that it may turn.
func (s *state) applyTree(e entry) (turned []groupKey) {
	name := e.group.GetName()
	atLeast, _, _ := unstructured.NestedInt64(e.group.Object, "spec", "schedulingPolicy", "gang", "minGroupCount")
	if s.trees[name] = (tree{name, int(atLeast), nearIn(e.group)}); e.gone {
		delete(s.trees, name)
	}
	for key, group := range s.groups {
		if key.label == native && group.tree == name {
			turned = append(turned, key)
		}
	}
	return turned
}

// fittingInTree is fitting for a gang that is in a tree: beside it as few others as the tree needs, the smallest ones first.
func (s *state) fittingInTree(nodes []*corev1.Node, pods []*corev1.Pod, gangs map[groupKey]standing, key groupKey) int {
	own := gangs[key]
	of, known := s.trees[own.tree]
	if !known || own.minMember == 0 || len(own.usable()) < own.lacks() {
		return 0
	}
	whole, others := besideInTree(gangs, key)
	need := max(of.atLeast-whole-1, 0)
	if own.whole() {
		need = 0 // its other pods come one by one
	}
	if len(others) < need {
		return 0
	}
	missing, all := own.lacks(), slices.Clone(own.usable())
	for _, g := range others[:need] {
		missing += g.lacks()
		all = append(all, g.usable()...)
	}
	fits := 0
	for _, some := range s.domainsOfTree(nodes, &of) {
		fits = max(fits, fit.Together(some, pods, all))
	}
	if fits >= max(missing, 1) && len(own.usable()) > 0 {
		return fits
	}
	return 0
}

// besideInTree returns how many other gangs of the tree of one are whole, and which ones could start, the smallest ones first.
func besideInTree(gangs map[groupKey]standing, key groupKey) (whole int, others []standing) {
	for other, g := range gangs {
		switch {
		case g.tree != gangs[key].tree || other == key:
		case g.whole():
			whole++
		case g.minMember > 0 && len(g.usable()) >= g.lacks():
			others = append(others, g)
		}
	}
	slices.SortFunc(others, func(a, b standing) int { return a.lacks() - b.lacks() })
	return whole, others
}

// domainsOfTree returns the nodes of each domain that may have all pods of a tree: of the one that has some, or else of any.
func (s *state) domainsOfTree(nodes []*corev1.Node, of *tree) map[string][]*corev1.Node {
	if of.near == "" {
		return map[string][]*corev1.Node{"": nodes}
	}
	within, domains := s.standsNear(s.inTree(of.name), of.near), map[string][]*corev1.Node{}
	for _, node := range nodes {
		if domain := domainOf(node, of.near); len(within) == 0 || within[domain] > 0 {
			domains[domain] = append(domains[domain], node)
		}
	}
	return domains
}

// inTree returns whether a gang is in a tree.
func (s *state) inTree(name string) func(groupKey) bool {
	return func(key groupKey) bool { return key.label == native && s.groups[key].tree == name }
}

// judgeTree judges that a member of a gang in a tree was let go: enough gangs of the tree must have, or have had, enough members
// that are held or bound.
func (c chronicle) judgeTree(calls []call, gang, pod string, at time.Time) []finding {
	now := c.last(gang, at)
	if now.tree == "" || now.treeLeast == 0 || c.assigned(gang, at).Len() >= c.least(gang, at) { // it has started
		return nil
	}
	ready := sets.New[string]()
	for other := range c.of {
		if c.last(other, at).tree != now.tree {
			continue
		}
		least := c.least(other, at)
		if least != math.MaxInt && c.assigned(other, at).Union(c.held(calls, other, at)).Len() >= least {
			ready.Insert(other)
		}
	}
	if ready.Len() >= now.treeLeast {
		return nil
	}
	return []finding{faultcampaign.Found(
		startedBelow, "pod %s is let go when %d gangs of %s are ready, of %d that must start together", pod, ready.Len(), now.tree, now.treeLeast,
	)}
}

// last is the state of a gang at a time, the zero value before it has one.
func (c chronicle) last(gang string, at time.Time) (last chapter) {
	for chapter := range c.between(gang, at, at) {
		last = chapter
	}
	return last
}

// countTrees counts the trees that gangs are in.
func countTrees(gangs map[string]*gang) int {
	trees := sets.New[string]()
	for _, g := range gangs {
		if g.tree != nil {
			trees.Insert(g.tree.name)
		}
	}
	return trees.Len()
}
