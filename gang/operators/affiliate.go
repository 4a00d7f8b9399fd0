package operators

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Affiliate implements [cluster.Affiliator]. What a pod names counts before who owns it, as somebody has said it on
// purpose. The uppermost owner that asks for something counts: a JobSet before its Jobs.
func (s *Set) Affiliate(pod *corev1.Pod, chain *cluster.Chain) cluster.Affiliation {
	kind, _, names := s.Names(pod)
	switch {
	case names && chain.Leads():
		return s.groups[kind].affiliate(pod, chain.Named[0], s.groups[kind].names(chain.Named[0]), chain.Named[1:]...)
	case names && chain.Awaited:
		absent := chain.Absent
		return cluster.Affiliation{
			Kind: string(s.groups[kind].Name), Unseen: true, Why: fmt.Sprintf("there is no %s %s in its namespace yet", absent.Kind, absent.Name),
		}
	case pod.Spec.SchedulingGroup != nil:
		return s.left(chain)
	}
	var controller *cluster.Owner
	if len(chain.Owners) > 0 {
		controller = chain.Owners[0]
	}
	for _, kind := range s.on {
		if kind.Says == nil {
			continue
		}
		if said, is := kind.Says(pod, controller); is {
			belongs := affiliation(string(kind.Name), said.Name, said.Role, &said.Asks)
			belongs.Ignored = said.Asks.Alone != ""
			return belongs
		}
	}
	if chain.Lost != nil {
		return lost(chain)
	}
	for i, owner := range slices.Backward(chain.Owners) {
		if kind := s.owners[owner.Kind()]; kind != nil && !owner.Asks.Silent() {
			below := metav1.Object(pod)
			if i > 0 {
				below = chain.Owners[i-1]
			}
			return kind.affiliate(pod, owner, metav1.GetControllerOfNoCopy(below))
		}
	}
	return s.unasked(pod, chain)
}

// left says why a pod that names its group in spec.schedulingGroup is left to kube-scheduler. Of no kind is who is left.
func (s *Set) left(chain *cluster.Chain) cluster.Affiliation {
	if absent := chain.Absent; absent != nil {
		return cluster.Affiliation{
			Why: fmt.Sprintf("muster cannot read its %s %s, or the cluster does not serve it", absent.Kind, absent.Name),
		}
	}
	for _, kind := range s.off {
		if kind.Native {
			return cluster.Affiliation{Why: fmt.Sprintf("%s is not in gangs.kinds", kind.Name)}
		}
	}
	return cluster.Affiliation{Why: "it names its group in a way that muster does not know"}
}

// names returns a reference to a group that a pod names.
func (k *Kind) names(group *cluster.Owner) *metav1.OwnerReference {
	return &metav1.OwnerReference{
		APIVersion: k.Groups[0].GroupVersion().String(), Kind: group.Kind().Kind, Name: group.Name, UID: group.UID,
	}
}

// affiliate says to which gang of an owner, or of a group in some groups of groups, a pod belongs. The reference leads to the owner.
func (k *Kind) affiliate(
	pod *corev1.Pod, owner *cluster.Owner, ref *metav1.OwnerReference, above ...*cluster.Owner,
) cluster.Affiliation {
	assisted, left := k.assists(owner, above)
	if left != "" {
		return cluster.Affiliation{Why: left}
	}
	name, role, instance := owner.Name, "", ""
	if k.Place != nil {
		instance, role = k.Place(pod)
	}
	if owner.Asks.Instances {
		if instance == "" {
			return cluster.Affiliation{Kind: string(k.Name), Why: fmt.Sprintf(
				"its %s %s makes several gangs, and no label of the pod says which is its own", owner.Kind().Kind, owner.Name)}
		}
		name += "/" + instance
	}
	tree := treeOf(above)
	belongs := affiliation(string(k.Name), name, role, &owner.Asks)
	if one := len(tree) > 0 && belongs.Gang == ""; one {
		belongs.Gang, belongs.MinMember, belongs.Why = name, 1, "one of its pods is enough"
	}
	belongs.Owner = ref
	if owner.Asks.Late != "" {
		belongs.Late = fmt.Sprintf("its %s %s %s", owner.Kind().Kind, owner.Name, owner.Asks.Late)
	}
	belongs.Why = fmt.Sprintf("its %s %s: %s", owner.Kind().Kind, owner.Name, belongs.Why)
	for _, group := range tree {
		belongs.Why += fmt.Sprintf("; %d of the groups of %s start together", group.AtLeast, group.Name)
	}
	belongs.Above, belongs.Within = tree, append(within(above), belongs.Within...)
	if belongs.Gang != "" && assisted {
		belongs.Assisted = true
		belongs.Why += "; kube-scheduler starts them, and muster shows it the places"
	}
	return belongs
}

// assists reports whether kube-scheduler starts a group, and says why the group is left to kube-scheduler altogether, "" if it is not.
func (k *Kind) assists(owner *cluster.Owner, above []*cluster.Owner) (assisted bool, left string) {
	near := false
	for _, group := range append([]*cluster.Owner{owner}, above...) {
		if group.Asks.Left != "" {
			return false, group.Asks.Left
		}
		_, asksNatively := group.Asks.Network[v1alpha1.AnnotationRequiredTopology] // KAI's words are no business of kube-scheduler's
		assisted, near = assisted || group.Asks.Assisted, near || k.Native && asksNatively
	}
	switch {
	case assisted && near: // kube-scheduler obeys that itself
		return false, "it asks for a topology, and kube-scheduler starts it"
	case len(above) > mostAbove:
		return false, fmt.Sprintf("more than %d groups of groups are above it", mostAbove)
	}
	return assisted, ""
}

// within returns what groups of groups ask of the network, the uppermost first.
func within(above []*cluster.Owner) (all []cluster.Common) {
	for _, group := range slices.Backward(above) {
		if len(group.Asks.Network) > 0 {
			all = append(all, cluster.Common{Name: group.Name, Network: group.Asks.Network})
		}
	}
	return all
}

// mostAbove is how many groups of groups may be above a group, as the API has it: four levels in all.
const mostAbove = 3

// treeOf returns groups of groups from the uppermost on that has groups start together. One further down that has each start
// for itself has started with any of them.
func treeOf(above []*cluster.Owner) (tree []cluster.GroupOfGroups) {
	for _, group := range slices.Backward(above) {
		if len(tree) > 0 || group.Asks.Groups > 0 {
			tree = append(tree, cluster.GroupOfGroups{Name: group.Name, AtLeast: max(group.Asks.Groups, 1)})
		}
	}
	return tree
}

// affiliation says to which gang a pod belongs that plays a role. Where no role is
// elastic, all are one gang; else each is one, and they start together.
func affiliation(kind, name, role string, asks *cluster.Asks) cluster.Affiliation {
	belongs := cluster.Affiliation{Kind: kind}
	if asks.Alone != "" {
		belongs.Why = asks.Alone
		return belongs
	}
	own, listed := roleOf(role, asks)
	if !listed {
		belongs.Why = fmt.Sprintf("it plays no part that is waited for (%q)", role)
		return belongs
	}
	least, all := sums(asks.Roles)
	var shared []cluster.Common
	if len(asks.Network) > 0 {
		shared = []cluster.Common{{Name: name, Network: asks.Network}}
	}
	switch rigid := rigid(asks); {
	case rigid && least <= 1 || asks.Apart && own.Min <= 1:
		belongs.Why = "one pod is all that it has to start with"
	case rigid:
		belongs.Gang, belongs.MinMember, belongs.Network = name, least, asks.Network
		belongs.Why = fmt.Sprintf("%d of its %d pods start together", least, all)
	case own.Min == 0:
		belongs.Why = fmt.Sprintf("none of role %s has to be there at the start", own.Name)
	case asks.Apart:
		belongs.Gang, belongs.MinMember, belongs.Within = name+"/"+own.Name, own.Min, shared
		belongs.Why = fmt.Sprintf("%d of its %d pods of role %s start together, which come when others have started", own.Min, own.All, own.Name)
	default:
		belongs.Gang, belongs.MinMember = name+"/"+own.Name, own.Min
		belongs.Network, belongs.Within = own.Network, append(shared, own.Within...)
		belongs.Together = together(name, asks.Roles)
		belongs.Why = fmt.Sprintf("%d of its pods start together, %d of role %s among them", least, own.Min, own.Name)
	}
	return belongs
}

// sums returns how many pods of some roles are waited for, and how many there are in all.
func sums(roles []cluster.Role) (least, all int32) {
	for _, one := range roles {
		all, least = Sum(all, one.All), Sum(least, one.Min)
	}
	return least, all
}

// together returns the names of the gangs of roles that are waited for, nil when there is one.
func together(name string, roles []cluster.Role) (names []string) {
	for _, one := range roles {
		if one.Min > 0 {
			names = append(names, name+"/"+one.Name)
		}
	}
	if len(names) == 1 {
		return nil
	}
	return names
}

// roleOf returns a role by its name. If there is only one without a name, all pods play that.
func roleOf(name string, asks *cluster.Asks) (cluster.Role, bool) {
	if len(asks.Roles) == 1 && asks.Roles[0].Name == "" {
		return asks.Roles[0], true
	}
	i := slices.IndexFunc(asks.Roles, func(role cluster.Role) bool { return role.Name == name })
	if i < 0 {
		return cluster.Role{}, false
	}
	return asks.Roles[i], true
}

// lost says of a pod that an owner of it is not there.
func lost(chain *cluster.Chain) cluster.Affiliation {
	ref := chain.Lost
	belongs := cluster.Affiliation{Kind: ref.Kind, Unseen: chain.Unseen}
	switch {
	case chain.Unseen:
		belongs.Why = fmt.Sprintf("its %s %s has not been seen yet", ref.Kind, ref.Name)
	case chain.Namesake != nil:
		belongs.Why = fmt.Sprintf("its %s %s is not the one in its namespace: that has another UID", ref.Kind, ref.Name)
	default:
		belongs.Why = fmt.Sprintf("its %s %s is not in its namespace, or muster may not read it", ref.Kind, ref.Name)
	}
	return belongs
}

// unasked says why a pod belongs to nothing, where its owners say nothing about it.
func (s *Set) unasked(pod *corev1.Pod, chain *cluster.Chain) cluster.Affiliation {
	if kind, name, names := s.Names(pod); names {
		return cluster.Affiliation{
			Kind: string(s.groups[kind].Name), Ignored: true,
			Why: fmt.Sprintf("it names %s %s, and the cluster has no %s of %s", kind.Kind, name, kind.Kind, kind.Group),
		}
	}
	if top := uppermost(pod, chain); top != nil {
		if belongs := s.unread(top); belongs.Kind != "" {
			return belongs
		}
	}
	for _, kind := range slices.Concat(s.on, s.off) {
		if kind.Alone == nil {
			continue
		}
		if why := kind.Alone(pod); why != "" {
			return cluster.Affiliation{Kind: string(kind.Name), Why: why}
		}
	}
	return s.unreadMark(pod)
}

// unreadMark says of a pod whose marks are of a kind that nobody has switched on that they are not read.
func (s *Set) unreadMark(pod *corev1.Pod) cluster.Affiliation {
	for _, kind := range s.off {
		mark := markOf(kind, pod)
		if mark == "" {
			continue
		}
		return cluster.Affiliation{Kind: string(kind.Name), Ignored: true, Why: fmt.Sprintf("its %s: %s is not in gangs.kinds", mark, kind.Name)}
	}
	return cluster.Affiliation{}
}

// markOf returns the label or annotation by which a pod is of a kind that reads no owners, as in "label a"; "" for none.
func markOf(kind *Kind, pod *corev1.Pod) string {
	if len(kind.Owners) > 0 {
		return ""
	}
	for _, label := range append(kind.Marks.Labels, kind.Label) {
		if pod.Labels[label] != "" {
			return "label " + label
		}
	}
	for _, annotation := range kind.Marks.Annotations {
		if pod.Annotations[annotation] != "" {
			return "annotation " + annotation
		}
	}
	return ""
}

// uppermost returns the reference to the uppermost owner of a pod, whether that is read or not; nil when it has none.
func uppermost(pod *corev1.Pod, chain *cluster.Chain) *metav1.OwnerReference {
	if last := len(chain.Owners) - 1; last >= 0 {
		return metav1.GetControllerOfNoCopy(chain.Owners[last])
	}
	return metav1.GetControllerOfNoCopy(pod)
}

// unread says why nothing is read of an owner: its pods are steps, or nobody has switched its kind on.
func (s *Set) unread(owner *metav1.OwnerReference) cluster.Affiliation {
	group, _ := schema.ParseGroupVersion(owner.APIVersion)
	of := group.WithKind(owner.Kind).GroupKind()
	for _, kind := range s.on {
		if slices.Contains(kind.Steps, of) {
			return cluster.Affiliation{Kind: owner.Kind, Why: fmt.Sprintf("its %s %s: %s", owner.Kind, owner.Name, kind.Why)}
		}
	}
	for _, kind := range s.off {
		if slices.ContainsFunc(kind.Owners, func(resource Resource) bool { return resource.GroupKind() == of }) {
			return cluster.Affiliation{
				Kind: string(kind.Name), Why: fmt.Sprintf("its %s %s: %s is not in gangs.kinds", owner.Kind, owner.Name, kind.Name),
			}
		}
	}
	return cluster.Affiliation{}
}
