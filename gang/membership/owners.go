package membership

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// mostOwners is how many owners of a gang are named.
const mostOwners = 10

// Owners returns the objects to which people look for what becomes of a gang, by kind and name: the one that makes the pods a
// gang, as a JobSet does, or else their controllers.
func Owners(members iter.Seq[*cluster.Pod]) []*metav1.PartialObjectMetadata {
	owners := map[types.UID]*metav1.PartialObjectMetadata{}
	for member := range members {
		ref := member.Affiliation.Owner
		if _, marked := Marked(member.Pod); marked || ref == nil {
			ref = metav1.GetControllerOfNoCopy(member.Pod)
		}
		if ref != nil && owners[ref.UID] == nil {
			owners[ref.UID] = Subject(member.Namespace, ref)
		}
	}
	all := slices.SortedFunc(maps.Values(owners), func(a, b *metav1.PartialObjectMetadata) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all[:min(len(all), mostOwners)]
}

// Subject returns the owner that a pod of a namespace refers to, as an event may be about it.
func Subject(namespace string, ref *metav1.OwnerReference) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ref.Name, UID: ref.UID},
	}
}
