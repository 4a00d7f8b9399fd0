// Package gangfaults looks for what breaks gangs. On real control planes, with a stock
// kube-scheduler, KWOK for machines and muster between relays that spoil calls, it has gangs
// compete while processes are killed and objects change, and judges the whole history:
//
//   - No gang is bound in part for longer than 30 s without a word about why.
//   - No member is let go before enough members to start are held or bound, in its gang and in each
//     that starts together with it. What finished in a former life of the PodGroup does not count.
//   - No pod is bound twice, and no node is overcommitted. Every binding is held against what
//     was on the node at that very resource version.
//   - No bind call is held past the deadline of its gang.
//   - When nothing goes wrong any more, the cluster settles within two minutes: each gang with room
//     is whole, others wait, no pod of no gang waits beside room for it, and the status of each
//     PodGroup is true: its phase, its counts and why it waits.
//   - A gang that pods are evicted for starts, unless something explains that it does not, and pods
//     are not evicted for it again before: judgeVictims has the rules.
//   - A gang that cannot start, as kube-scheduler refuses members by itself, is looked at for 20 s
//     more. It holds room for no longer than its tries take when the rests between them double: at
//     most 8 of 20 s for one with a time of 2 s (and 2 s for looking at it), which becomes a tenth in
//     the long run. muster writes something about it at most 10 times for each of its members, which
//     is 30 times a minute.
//   - No process ends by itself or panics, and kube-scheduler takes no answer of muster's for
//     an error.
//
// A run is the script of a seed: a few nodes, a few gangs of any match policy and mode, some starting
// together, and some faults of faults.go, situations.go, delays.go and trouble.go, in a window of
// seconds. Many come while members are held: the bind call about one of them is kept for a while.
// What the script says is a function of the seed, to the calls that are spoiled; how scheduler and
// muster interleave is not, so that a seed that found something may have to be run again some times.
//
// Beside plain schedulers, which know nothing of muster (one, or two that run for election), gangs are gated, and muster
// lets them go. There are no bind calls to judge; instead:
//
//   - No member of a gang that has not started is let go unless one of these holds: enough members to start are
//     bound; they have had their places reserved (status.nominatedNodeName) while they were gated; room for them was
//     left wherever all others went that might be scheduled.
//   - It is counted how many gangs were bound in part for longer than a second, and what explains it: that members or
//     nodes were lost, that pods of higher priority came, or that processes or calls were disturbed.
//
// On nodes with devices, which members of gangs claim, there are two rules more:
//
//   - No two claims hold one device.
//   - When nothing goes wrong any more, no claim holds devices for a pod that is on no node, or gone.
//
// Where gangs are Kubernetes' own groups, some are in a tree (CompositePodGroup), and one rule more holds:
//
//   - No member of a gang in a tree is let go before enough gangs of the tree have enough members that are held or bound.
//
// Where nodes stand in racks, gangs ask for one domain of a level, or for slices of members that share one, and two rules more hold:
//
//   - No member comes to another domain than the others of its gang, if they ask for one.
//   - No slice is split in a gang whose members are all there and have not been replaced.
//
// Where small pods keep the cluster busy and end, gangs ask for a fifth to a half of it, muster books room in time, and more rules hold:
//
//   - A gang that the cluster can hold starts within 45 rounds of small pods: one ends for each that has room at once.
//   - No room is booked for a gang that is gone, has started or cannot have room, for more than twenty looks; nor by another one than the
//     leader; nor for more than a minute for a gang that has its room and does not start.
//   - Nobody is evicted for a pod of no higher priority, and no pod waits beside room that is not the gang's, or until after its end.
//
// A run ends as soon as all is settled. Nothing here trusts muster: the watches of the API server and the relays are judged,
// and muster's word counts only for how long a gang that cannot start holds room. By turns of a few seeds, muster keeps no
// gates, keeps them until the members of a gang exist, until there is a place for them, and runs for election, so that
// another one takes over while the old one goes on. The command has muster's clock be right, 30 s ahead or 30 s behind by
// turns, and wrong in the other direction after a failover; the tests, which build nothing for that, leave it right.
package gangfaults

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// Figures of a campaign.
const (
	gangsFigure    = "gangs"
	wholeFigure    = "gangs_whole"
	repairedFigure = "gangs_partial_1s"
	gatedFigure    = "gated_pods"
	bindingsFigure = "bindings"
	evictedFigure  = "evictions"
	vainFigure     = "evictions_explained"
	vigilsFigure   = "hopeless_gangs"

	reservedFigure    = "let_go_reserved"    // members whose places were reserved
	uncontestedFigure = "let_go_uncontested" // members whose places nobody could take
)

// Campaign is the one for gangs with a scheduler that calls muster.
func Campaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{
		Name:   "gang",
		Counts: []string{gangsFigure, wholeFigure, repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure},
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: write}).open(ctx, dir, progress)
		},
	}
}

// DeviceCampaign is Campaign on nodes with devices, which members of gangs claim.
func DeviceCampaign() faultcampaign.Campaign {
	left := &claimsLeft{}
	return faultcampaign.Campaign{
		Name: "device", Target: "faults-gang KIND=devices",
		Counts: []string{
			gangsFigure, wholeFigure, deviceGangsFigure, allocationsFigure, takenBackFigure,
			repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure,
		},
		Figures: left.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeDevices, left: left}).open(ctx, dir, progress)
		},
	}
}

// NativeCampaign is Campaign with Kubernetes' own groups, and trees of them, which need Kubernetes 1.37.
func NativeCampaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{
		Name: "native_gang", Target: "faults-gang KIND=native",
		Counts: []string{
			gangsFigure, treesFigure, wholeFigure, nearFigure, repairedInside, repairedFigure, bindingsFigure, evictedFigure, vainFigure,
		},
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeNative}).open(ctx, dir, progress)
		},
	}
}

// TopologyCampaign is Campaign on nodes in racks, with gangs whose members have to be near each other.
func TopologyCampaign() faultcampaign.Campaign {
	return faultcampaign.Campaign{
		Name: "topology_gang", Target: "faults-gang KIND=topology",
		Counts: []string{
			gangsFigure,
			wholeFigure,
			nearFigure,
			repairedInside,
			repairedFigure,
			gatedFigure,
			bindingsFigure,
			evictedFigure,
			vainFigure,
			vigilsFigure,
		},
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeTopology}).open(ctx, dir, progress)
		},
	}
}

// AheadCampaign is the one for gangs beside plain schedulers, which know nothing of muster.
func AheadCampaign() faultcampaign.Campaign {
	t := &tally{}
	return faultcampaign.Campaign{
		Name: "ahead_gang", Target: "faults-gang KIND=plain",
		Counts: []string{
			gangsFigure, wholeFigure, repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, reservedFigure, uncontestedFigure,
		},
		Figures: t.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeAhead, tally: t}).open(ctx, dir, progress)
		},
	}
}

// claimName is a claim to which no volume is ever bound. kube-scheduler puts a pod that has it on no node, and
// says so by a plugin that muster leaves to it.
const claimName = "never-bound"

func (l *lane) createClaim(ctx context.Context) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "none"}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	_, err := l.Client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	if err := faultcampaign.UnlessDone(err, "create storage class", class.Name); err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claimName, Namespace: workload.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	_, err = l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	return faultcampaign.UnlessDone(err, "create claim", claim.Name)
}

// unbindable says that the scheduler puts a pod on no node.
func unbindable(pod *corev1.Pod) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return true
		}
	}
	return false
}
