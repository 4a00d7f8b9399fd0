package membership

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
)

// MaxMembers is the largest minMember: what all lists of a gang are sized for, and more than the nodes of most clusters.
const MaxMembers = 10_000

// Bounds limit what a group may ask for.
type Bounds struct {
	// Timeout is how long a group may take from its plan to quorum, unless it says so
	// itself.
	Timeout time.Duration
	// MaxTimeout is the longest that a group may say.
	MaxTimeout time.Duration
	// MaxMembers is the largest minMember.
	MaxMembers int
}

// BoundsOf returns the bounds of PodGroups that a configuration sets.
func BoundsOf(c *config.Gangs) Bounds {
	return Bounds{Timeout: c.ScheduleTimeout.Duration, MaxTimeout: c.MaxScheduleTimeout(), MaxMembers: MaxMembers}
}

// Spec holds a user's demands on a group.
type Spec struct {
	MinMember    int
	MinResources corev1.ResourceList
	Timeout      time.Duration
	// Cut says in words that Timeout is shorter than what was asked for, "" when it is not.
	Cut    string
	Policy v1alpha1.Policy
	// Satisfied says that quorum was reached, by the status of the PodGroup.
	Satisfied bool
	// Assisted says that kube-scheduler starts the group itself: its bind calls are not held.
	Assisted bool
	// Above are the groups of groups that the group is in, the uppermost first.
	Above []cluster.GroupOfGroups
	// Within are domains of the network that the group shares with others, the outermost first.
	Within []Common
	// Record is of the last commit, by the PodGroup.
	Record *record.Record
	// From is the PodGroup, nil for a group without an object, and Created when it was created.
	From    *unstructured.Unstructured
	Created time.Time
	// Err says what is wrong with the spec, nil for nothing.
	Err error

	// named are the names of the groups that start together, as one; zero where nobody has worked that out. See Disagreement.
	named unique.Handle[string]
}

// Asked returns what a PodGroup asks for.
func (b Bounds) Asked(object *v1alpha1.Observed) *Spec {
	s := &Spec{
		From: object.Unstructured, Created: object.GetCreationTimestamp().Time, Timeout: b.Timeout, Record: record.Of(object),
		Policy: object.Policy, Err: object.Err,
	}
	podGroup := object.PodGroup
	if podGroup == nil {
		return s
	}
	s.MinMember, s.MinResources = int(podGroup.Spec.MinMember), podGroup.Spec.MinResources
	if seconds := podGroup.Spec.ScheduleTimeoutSeconds; seconds != nil && *seconds > 0 {
		s.Timeout = time.Duration(*seconds) * time.Second
		if s.Timeout > b.MaxTimeout {
			s.Timeout = b.MaxTimeout
			s.Cut = fmt.Sprintf("scheduleTimeoutSeconds is %d, and no more than %s count (ten times gangs.scheduleTimeout)", *seconds, b.MaxTimeout)
		}
	}
	switch podGroup.Status.Phase {
	case v1alpha1.PodGroupScheduled, v1alpha1.PodGroupRunning, v1alpha1.PodGroupFinished:
		s.Satisfied = true
	case v1alpha1.PodGroupPending, v1alpha1.PodGroupPreScheduling, v1alpha1.PodGroupScheduling, v1alpha1.PodGroupFailed:
	}
	if s.Err == nil {
		s.Err = b.tooLarge("spec.minMember", s.MinMember)
	}
	if s.Err == nil {
		s.Err = s.Policy.Topology.Check(s.MinMember)
	}
	s.name(types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
	return s
}

// Says reports whether a member says how many of its group must start together.
func Says(member *corev1.Pod) bool {
	_, says := member.Annotations[v1alpha1.AnnotationMinMember]
	_, saysToKoordinator := member.Annotations[v1alpha1.AnnotationKoordinatorMinAvailable]
	return says || saysToKoordinator
}

// Said returns what the members of a group without an object ask for, or their owners do, nil when none says anything. For
// members by their own marks only those say something, and for others only their owners do.
func (b Bounds) Said(members iter.Seq[*cluster.Pod]) *Spec {
	var first *cluster.Pod
	for member := range members {
		speaks := member.Affiliation.Gang != ""
		if _, marked := Marked(member.Pod); marked {
			speaks = Says(member.Pod)
		}
		if speaks && (first == nil || member.Name < first.Name) {
			first = member
		}
	}
	if first == nil {
		return nil
	}
	said := b.declares(first, members)
	if key, is := Of(first); is {
		said.name(key.NamespacedName)
	}
	return said
}

func (b Bounds) declares(first *cluster.Pod, members iter.Seq[*cluster.Pod]) *Spec {
	if _, marked := Marked(first.Pod); !marked {
		return b.affiliated(first, members)
	}
	return b.Declared(first.Pod)
}

// affiliated returns what the owners of a member ask for: all members have the same ones. It is asked again and again, as
// owners make all pods again that have to start together.
func (b Bounds) affiliated(first *cluster.Pod, members iter.Seq[*cluster.Pod]) *Spec {
	belongs := &first.Affiliation
	s := &Spec{MinMember: int(belongs.MinMember), Timeout: b.Timeout, Policy: v1alpha1.Policy{MatchPolicy: v1alpha1.MatchWaitingAndBound}}
	s.Assisted, s.Above = belongs.Assisted, belongs.Above
	for _, name := range belongs.Together {
		s.Policy.Groups = append(s.Policy.Groups, types.NamespacedName{Namespace: first.Namespace, Name: name})
	}
	if s.Err = b.tooLarge(belongs.Kind, s.MinMember); s.Err == nil {
		s.Policy.Topology, s.Err = sharedTopology(first, members)
	}
	if s.Err == nil {
		s.Within, s.Err = commonsOf(first)
	}
	if s.Err == nil {
		s.Policy.ReserveAfter, s.Policy.PreemptAfter, s.Err = longestDelays(members)
	}
	if s.Err == nil {
		s.Err = s.Policy.Topology.Check(s.MinMember)
	}
	return s
}

// longestDelays returns how long a group waits before room is booked, and before others are evicted for it: the longest times that a
// member says, as roles have templates of their own, and nobody can ask for less than another one.
func longestDelays(members iter.Seq[*cluster.Pod]) (reserveAfter, preemptAfter time.Duration, err error) {
	for member := range members {
		reserve, preempt, err := v1alpha1.DecodeDelays(member.Annotations)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", member.Name, err)
		}
		reserveAfter, preemptAfter = max(reserveAfter, reserve), max(preemptAfter, preempt)
	}
	return reserveAfter, preemptAfter, nil
}

// Declared returns what a member of a group without an object asks for. The member with the first name, among
// the ones that say something (see [Says]), speaks for the group.
func (b Bounds) Declared(member *corev1.Pod) *Spec {
	s := &Spec{Timeout: b.Timeout}
	minMember, err := v1alpha1.DecodeMinMember(member.Annotations)
	if s.MinMember, s.Err = int(minMember), err; err == nil {
		s.Policy, s.Err = v1alpha1.DecodePolicy(member.Annotations)
	}
	if s.Err == nil {
		var limit time.Duration
		if limit, s.Err = v1alpha1.DecodeWaitingTime(member.Annotations); limit > 0 {
			s.Timeout = min(limit, b.MaxTimeout)
		}
	}
	if s.Err == nil {
		s.Err = b.tooLarge(v1alpha1.AnnotationMinMember, s.MinMember)
	}
	if s.Err == nil {
		s.Err = s.Policy.Topology.Check(s.MinMember)
	}
	return s
}

// tooLarge says what is wrong with a group of minMember members.
func (b Bounds) tooLarge(field string, minMember int) error {
	if minMember <= b.MaxMembers {
		return nil
	}
	return fmt.Errorf("%s: %d is more than a gang may have here, which is %d", field, minMember, b.MaxMembers)
}

// AsksAsMuchAs reports whether nothing else is asked of a group than before, whatever its status
// says.
func (s *Spec) AsksAsMuchAs(before *Spec) bool {
	return s.MinMember == before.MinMember && s.Timeout == before.Timeout && slices.Equal(s.Above, before.Above) &&
		equality.Semantic.DeepEqual(s.MinResources, before.MinResources) && equality.Semantic.DeepEqual(s.Policy, before.Policy) &&
		equality.Semantic.DeepEqual(s.Within, before.Within)
}

// WithMinMember returns the spec with another number of members that must start together.
func (s *Spec) WithMinMember(minMember int) *Spec {
	other := *s
	other.MinMember = minMember
	return &other
}

// InBatches reports whether members that start together are a batch of their own each time.
func (s *Spec) InBatches() bool { return s.Policy.MatchPolicy == v1alpha1.MatchOnlyWaiting }

// Once reports whether quorum that was reached once is enough for good.
func (s *Spec) Once() bool { return s.Policy.MatchPolicy == v1alpha1.MatchOnceSatisfied }

// WasSatisfied reports whether quorum that was reached once is enough for good, and was reached, by what the PodGroup says.
func (s *Spec) WasSatisfied() bool {
	return s.Once() && (s.Satisfied || s.Record != nil && s.Record.Bound)
}

// Missing returns how many more members have to get a place before any starts, when bound members are on nodes:
// 0 when they start one by one.
func (s *Spec) Missing(bound int) int {
	switch {
	case s.WasSatisfied():
		return 0
	case s.InBatches():
		return s.MinMember
	default:
		return max(s.MinMember-bound, 0)
	}
}

// Bears reports whether a group may wait while a number of members is without a place. It may if they are no
// more than some percent of its minMember (the rule of PostFilter in the coscheduling plugin, where it is 10),
// or if it is not strict.
func (s *Spec) Bears(missing, percent int) bool {
	return missing*100 <= s.MinMember*percent || s.Policy.GangMode == v1alpha1.GangNonStrict
}

// Disagreement says in words how another group differs from this one about the groups that start together, ""
// when they name the same groups, each with itself. It is asked about each pair of many groups.
func (s *Spec) Disagreement(key Key, other *Spec, otherKey Key) string {
	if s.named == other.named && s.named != (unique.Handle[string]{}) {
		return ""
	}
	together, theirs := s.together(key.NamespacedName), other.together(otherKey.NamespacedName)
	if theirs.Equal(together) {
		return ""
	}
	does, differ := "does not name", together.Difference(theirs)
	if differ.Len() == 0 {
		does, differ = "also names", theirs.Difference(together)
	}
	return fmt.Sprintf("%s, with which it is to start together, %s %s: groups that start together have to name the same ones",
		otherKey.NamespacedName, does, inOrder(differ)[0])
}

// together returns the names of the groups that start together with one, and its own.
func (s *Spec) together(own types.NamespacedName) sets.Set[types.NamespacedName] {
	return sets.New(s.Policy.Groups...).Insert(own)
}

// name works out as one what a group of a name says of the groups that start together.
func (s *Spec) name(own types.NamespacedName) {
	if len(s.Policy.Groups) == 0 {
		return
	}
	var text strings.Builder
	for _, name := range inOrder(s.together(own)) {
		text.WriteString(name.Namespace + "/" + name.Name + "\n") // which no name has
	}
	s.named = unique.Make(text.String())
}

func inOrder(names sets.Set[types.NamespacedName]) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(names), func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
