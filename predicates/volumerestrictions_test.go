package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
)

func TestVolumeRestrictions(t *testing.T) {
	const taken = "node(s) had no available disk"
	const inUse = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	// beside is a pod with a volume on a node where another pod has one.
	beside := func(has, wants corev1.VolumeSource) scene {
		return scene{placed: []*corev1.Pod{pod(mounting(has))}, pod: pod(mounting(wants))}
	}
	exclusive := claim("data", accessedBy(corev1.ReadWriteOncePod))
	// using is a pod with a claim, among others that are placed.
	using := func(object *corev1.PersistentVolumeClaim, placed ...*corev1.Pod) scene {
		return scene{objects: []runtime.Object{object}, others: []*corev1.Node{node(called("other"))}, placed: placed, pod: pod(claiming("data"))}
	}
	on := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = name } }
	checkVerdicts(t, config.VolumeRestrictions, []verdictCase{
		{name: "a pod without volumes fits everywhere", everywhere: true},
		{
			name:       "so does one whose volumes are its own",
			everywhere: true,
			scene: beside(
				corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			),
		},
		{name: "an ephemeral volume needs no claim here", everywhere: true, scene: scene{pod: pod(mounting(ephemeralVolume()))}},

		{name: "a GCE disk that nobody has", scene: scene{pod: pod(mounting(gcePD("a", false)))}},
		{
			name:       "a GCE disk that is taken, which eviction would free",
			scene:      beside(gcePD("a", false), gcePD("a", false)),
			reason:     taken,
			resolvable: true,
		},
		{name: "a GCE disk that one of them only reads", scene: beside(gcePD("a", true), gcePD("a", false)), reason: taken, resolvable: true},
		{name: "a GCE disk that the other only reads", scene: beside(gcePD("a", false), gcePD("a", true)), reason: taken, resolvable: true},
		{name: "a GCE disk that both only read", scene: beside(gcePD("a", true), gcePD("a", true))},
		{name: "another GCE disk", scene: beside(gcePD("a", false), gcePD("b", false))},
		{name: "an EBS disk that is taken", scene: beside(ebs("a"), ebs("a")), reason: taken, resolvable: true},
		{name: "an EBS disk that both only read is taken too", scene: beside(
			corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "a", ReadOnly: true}},
			corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "a", ReadOnly: true}},
		), reason: taken, resolvable: true},
		{name: "another EBS disk", scene: beside(ebs("a"), ebs("b"))},
		{name: "a disk of the same name elsewhere", scene: beside(ebs("a"), gcePD("a", false))},
		{name: "an ISCSI target that is taken", scene: beside(iscsi("a", false), iscsi("a", true)), reason: taken, resolvable: true},
		{name: "an ISCSI target that both only read", scene: beside(iscsi("a", true), iscsi("a", true))},
		{name: "another ISCSI target", scene: beside(iscsi("a", false), iscsi("b", false))},
		{
			name:       "an RBD image that is taken, by one monitor of several",
			scene:      beside(rbd("p", "i", false, "x", "y"), rbd("p", "i", false, "y", "z")),
			reason:     taken,
			resolvable: true,
		},
		{name: "an RBD image that both only read", scene: beside(rbd("p", "i", true, "x"), rbd("p", "i", true, "x"))},
		{
			name:       "an RBD image that one of them only reads",
			scene:      beside(rbd("p", "i", true, "x"), rbd("p", "i", false, "x")),
			reason:     taken,
			resolvable: true,
		},
		{name: "an RBD image of another cluster", scene: beside(rbd("p", "i", false, "x"), rbd("p", "i", false, "y"))},
		{name: "an RBD image of another pool", scene: beside(rbd("p", "i", false, "x"), rbd("q", "i", false, "x"))},
		{name: "another RBD image", scene: beside(rbd("p", "i", false, "x"), rbd("p", "j", false, "x"))},
		{name: "the second of two disks is taken", scene: scene{
			placed: []*corev1.Pod{pod(), pod(mounting(ebs("c"), ebs("b")))}, pod: pod(mounting(ebs("a"), ebs("b"))),
		}, reason: taken, resolvable: true},
		{name: "a disk that is taken on another node", scene: scene{
			others: []*corev1.Node{node(called("other"))}, placed: []*corev1.Pod{pod(on("other"), mounting(ebs("a")))}, pod: pod(mounting(ebs("a"))),
		}},

		{
			name:       "a claim that pods may share fits everywhere",
			everywhere: true,
			scene:      using(claim("data", accessedBy(corev1.ReadWriteOnce)), pod(claiming("data"))),
		},
		{name: "a claim for one pod that nobody uses", scene: using(exclusive, pod(claiming("other")))},
		{
			name:       "a claim for one pod that another uses, which eviction would free",
			scene:      using(exclusive, pod(claiming("data"))),
			reason:     inUse,
			resolvable: true,
		},
		{
			name:       "a claim for one pod that another uses on another node",
			scene:      using(exclusive, pod(on("other"), claiming("data"))),
			reason:     inUse,
			resolvable: true,
		},
		{
			name:       "a claim for one pod beside another access mode",
			scene:      using(claim("data", accessedBy(corev1.ReadOnlyMany, corev1.ReadWriteOncePod)), pod(claiming("data"))),
			reason:     inUse,
			resolvable: true,
		},
		{
			name:  "a claim of the same name in another namespace",
			scene: using(exclusive, pod(claiming("data"), func(p *corev1.Pod) { p.Namespace = "shop" })),
		},
		{name: "a claim that is used on a node that is not known", scene: using(exclusive, pod(on("unknown"), claiming("data")))},
		{name: "a disk comes before a claim", scene: scene{
			objects: []runtime.Object{exclusive},
			placed:  []*corev1.Pod{pod(claiming("data"), mounting(ebs("a")))},
			pod:     pod(claiming("data"), mounting(ebs("a"))),
		}, reason: taken, resolvable: true},
		{
			name:   "a missing claim keeps the pod off everywhere, whichever pods are evicted",
			scene:  scene{pod: pod(claiming("data"))},
			reason: "persistentvolumeclaim not found",
		},
		{name: "a missing claim comes before a disk", scene: scene{
			placed: []*corev1.Pod{pod(mounting(ebs("a")))}, pod: pod(mounting(ebs("a")), claiming("data")),
		}, reason: "persistentvolumeclaim not found"},
		{name: "a claim of another namespace is missing", scene: scene{
			objects: []runtime.Object{exclusive}, pod: pod(claiming("data"), func(p *corev1.Pod) { p.Namespace = "shop" }),
		}, reason: "persistentvolumeclaim not found"},
		{name: "a claim without a name", scene: scene{pod: pod(claiming(""))}, reason: "PersistentVolumeClaim had no name"},
	})
}
