package membership

import (
	"fmt"
	"iter"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Dissent says in words which member says another number of members that must start together than counts, "" when none does.
// Only marked members say a number, see [Bounds.Said].
func (s *Spec) Dissent(members iter.Seq[*cluster.Pod]) string {
	var dissenter *cluster.Pod
	said := ""
	for member := range members {
		if _, marked := Marked(member.Pod); !marked || !Says(member.Pod) || dissenter != nil && dissenter.Name < member.Name {
			continue
		}
		minMember, err := v1alpha1.DecodeMinMember(member.Annotations)
		if err == nil && int(minMember) == s.MinMember {
			continue
		}
		if dissenter, said = member, fmt.Sprint(minMember); err != nil {
			said = "nonsense"
		}
	}
	if dissenter == nil {
		return ""
	}
	counts := "the first member by name"
	if s.From != nil {
		counts = "the PodGroup"
	}
	return fmt.Sprintf("its members disagree: %s says that %s must start together, and the %d of %s count",
		dissenter.Name, said, s.MinMember, counts)
}

// Withheld says in words that members which are asked for come only once others have started, so that the group never
// starts; "" when that is not so. What the owners of the members ask for counts no such members.
func (s *Spec) Withheld(members iter.Seq[*cluster.Pod]) string {
	var first *cluster.Pod
	for member := range members {
		belongs := &member.Affiliation
		_, marked := Marked(member.Pod)
		if marked && belongs.Late != "" && int(belongs.MinMember) < s.MinMember && (first == nil || member.Name < first.Name) {
			first = member
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%s; a minimum of %d would do, or no mark of a group", first.Affiliation.Late, first.Affiliation.MinMember)
}
