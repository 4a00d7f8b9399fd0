package nodemetric

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/source"
)

// mostLooks is how many looks at a node an average is of. Where a source has more within the time that it
// is over, those between are left out.
const mostLooks = 10

// looks are the measurements of a node within some time up to the latest look, oldest first.
type looks []*cluster.Usage

// add adds a look, and drops looks that are too old or too many. Without a time it alone stays.
func (l looks) add(usage *cluster.Usage, over time.Duration) looks {
	over = min(over, source.LongestDuration)
	if last := len(l) - 1; last > 0 && l[last].Updated.Sub(l[last-1].Updated) < over/mostLooks {
		l = l[:last]
	}
	for len(l) > 0 && (!l[0].Updated.After(usage.Updated.Add(-over)) || len(l) >= mostLooks) {
		l = l[1:]
	}
	if last := len(l) - 1; last >= 0 {
		before := *l[last]
		before.Aggregated = nil // nobody reads it any more
		l[last] = &before
	}
	return append(l, usage)
}

// average returns the latest look with averages in place of what the node, its pods and all else on it used
// then. A pod has that of the looks which it is in.
func (l looks) average() *cluster.Usage {
	latest := *l[len(l)-1]
	if len(l) == 1 {
		return &latest
	}
	latest.Node = mean(l, func(u *cluster.Usage) (*cluster.Resources, bool) { return &u.Node, true })
	latest.System = mean(l, func(u *cluster.Usage) (*cluster.Resources, bool) { return &u.System, true })
	pods := make(map[types.NamespacedName]cluster.PodUsage, len(latest.Pods))
	for name, pod := range latest.Pods {
		pod.Used = mean(l, func(u *cluster.Usage) (*cluster.Resources, bool) {
			then, known := u.Pods[name]
			return &then.Used, known
		})
		pods[name] = pod
	}
	latest.Pods = pods
	return &latest
}

// mean returns the average of some amounts of all looks that have them, rounded to the nearest.
func mean(l looks, of func(*cluster.Usage) (*cluster.Resources, bool)) cluster.Resources {
	var sum cluster.Resources
	n := int64(0)
	for _, look := range l {
		if amounts, known := of(look); known {
			sum, n = sum.Plus(amounts), n+1
		}
	}
	part := func(amount int64) int64 { return amount/n + (amount%n+n/2)/n }
	each := cluster.Resources{MilliCPU: part(sum.MilliCPU), Memory: part(sum.Memory), EphemeralStorage: part(sum.EphemeralStorage)}
	for _, scalar := range sum.Scalars {
		if amount := part(scalar.Amount); amount > 0 {
			each.Scalars = append(each.Scalars, cluster.Scalar{Name: scalar.Name, Amount: amount})
		}
	}
	return each
}
