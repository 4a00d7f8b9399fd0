package predicates

import (
	"maps"
	"slices"
	"unsafe"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// wholeDomains prefers nodes in domains of the network that have many pods already, so that domains without any stay whole for
// gangs. Which node of a domain it is, other scores say.
//
// It goes by pods rather than by room. The domain with the least room is often one that a gang has nearly filled: once the gang
// ends, a pod alone that was put beside it holds the domain. Pods that came one by one end one by one, so that a domain with many
// of them is the last one to become whole. Nor does it count how many gangs of a size still fit: every domain has a rest that
// no gang of the size needs, and pods would be strewn over these.
type wholeDomains struct{ levels []string }

func newWholeDomains(profile *config.Profile) (Score, error) {
	return wholeDomains{profile.WholeDomainsArgs().Levels}, nil
}

func (wholeDomains) Name() string { return config.WholeDomains }

func (wholeDomains) Aspects() cluster.Aspect { return cluster.AspectLabels | cluster.AspectPods }

func (s wholeDomains) For(*cluster.Pod, *cluster.Snapshot) Rating {
	return Rating{Among: &occupation{pathSums{keys: s.levels, numbers: map[[2]int32]int32{}}}}
}

// occupation compares nodes by the pods in their domains, the uppermost level first.
type occupation struct{ pods pathSums }

// occupied is how many pods the domains of a node have, by level.
type occupied [pathLevels]int32

// Update implements [Digest].
func (c *occupation) Update(snap *cluster.Snapshot, nodes []int32) {
	c.pods.follow(snap)
	for _, index := range nodes {
		c.put(index, snap.Node(index))
	}
}

// Suppose implements [Digest].
func (c *occupation) Suppose(_ *cluster.Snapshot, node *cluster.Node) { c.put(node.Index, node) }

// put takes in the pods of a node, which is nil when it is gone.
func (c *occupation) put(index int32, node *cluster.Node) {
	var pods int16
	if node != nil {
		for _, pod := range node.Pods {
			if c.minds(pod) {
				pods++
			}
		}
	}
	c.pods.put(index, pods)
}

// minds reports whether a pod counts. The pod of a DaemonSet keeps no domain from being whole: each node has one.
func (c *occupation) minds(pod *cluster.Pod) bool { return !pod.OfDaemonSet() }

// Rate implements [Comparison].
func (c *occupation) Rate(nodes, _ []int32, ratings []int64) {
	rateOccupied(ratings, func(i int) occupied { return c.pods.of(nodes[i]) })
}

// rankStep is how much less than one domain the next one rates. As MaxScore has ten of them, a kube-scheduler that adds an
// extender's score in steps of ten tells as many domains apart.
const rankStep = 10

// rateOccupied rates MaxScore what is occupied most, and less what comes behind, down to 0. It is about len(ratings) nodes.
func rateOccupied(ratings []int64, of func(i int) occupied) {
	ratedAs := map[occupied]int64{}
	for i := range ratings {
		ratedAs[of(i)] = 0
	}
	fullestFirst := slices.SortedFunc(maps.Keys(ratedAs), func(a, b occupied) int { return slices.Compare(b[:], a[:]) })
	for rank, pods := range fullestFirst[:min(len(fullestFirst), MaxScore/rankStep)] {
		ratedAs[pods] = MaxScore - rankStep*int64(rank)
	}
	for i := range ratings {
		ratings[i] = ratedAs[of(i)]
	}
}

// Group implements [Comparison].
func (c *occupation) Group(index int32) uint64 {
	group := uint64(0)
	for _, number := range c.pods.paths[index] {
		group = mix(group, ofDomain(number))
	}
	return group
}

func (c *occupation) size() int64 {
	return int64(unsafe.Sizeof(*c)) - int64(unsafe.Sizeof(c.pods)) + c.pods.size()
}
