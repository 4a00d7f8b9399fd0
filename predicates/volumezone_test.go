package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
)

func TestVolumeZone(t *testing.T) {
	const differs = "node(s) had no available volume zone"
	const zone, region = corev1.LabelTopologyZone, corev1.LabelTopologyRegion
	const betaZone, betaRegion = corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion
	// on is a pod with a claim that is bound to a volume, and a node for it.
	on := func(n *corev1.Node, change ...func(*corev1.PersistentVolume)) scene {
		return scene{
			node:    n,
			objects: []runtime.Object{claim("data", boundTo("disk")), persistentVolume("disk", change...)},
			pod:     pod(claiming("data")),
		}
	}
	// unbound is a pod whose claim has no volume.
	unbound := func(c *corev1.PersistentVolumeClaim, objects ...runtime.Object) scene {
		return scene{node: node(labelled(zone, "a")), objects: append(objects, c), pod: pod(claiming("data"))}
	}
	inA := node(labelled(zone, "a"))
	checkVerdicts(t, config.VolumeZone, []verdictCase{
		{name: "a pod without volumes fits everywhere", everywhere: true},
		{name: "so does one whose volumes are not claims", everywhere: true, scene: scene{pod: pod(mounting(ebs("a"), ephemeralVolume()))}},
		{name: "a volume without labels is everywhere", everywhere: true, scene: on(inA)},
		{name: "another label of a volume says nothing", everywhere: true, scene: on(inA, marked("zone", "b"))},

		{name: "the zone of the volume", scene: on(inA, marked(zone, "a"))},
		{name: "another zone, which eviction does not change", scene: on(inA, marked(zone, "b")), reason: differs},
		{
			name:   "another region",
			scene:  on(node(labelled(zone, "a"), labelled(region, "south")), marked(zone, "a"), marked(region, "north")),
			reason: differs,
		},
		{
			name:  "the zone and the region",
			scene: on(node(labelled(zone, "a"), labelled(region, "north")), marked(zone, "a"), marked(region, "north")),
		},
		{name: "a node with a zone but without the region", scene: on(inA, marked(region, "north")), reason: differs},
		{name: "a node without labels of zones takes all volumes", scene: on(node(labelled("rack", "1")), marked(zone, "b"))},
		{name: "one of the volume's zones", scene: on(inA, marked(zone, "b__a"))},
		{name: "none of the volume's zones", scene: on(inA, marked(zone, "b__c")), reason: differs},
		{name: "a list of zones with a gap says nothing", everywhere: true, scene: on(inA, marked(zone, "b__"))},
		{name: "nor does an empty zone", everywhere: true, scene: on(inA, marked(zone, ""))},

		{name: "old labels on both", scene: on(node(labelled(betaZone, "a")), marked(betaZone, "a"))},
		{name: "old labels on both that differ", scene: on(node(labelled(betaRegion, "north")), marked(betaRegion, "south")), reason: differs},
		{name: "an old label of a volume is met by today's of a node", scene: on(inA, marked(betaZone, "a"))},
		{
			name:   "an old label of a volume differs from today's of a node",
			scene:  on(node(labelled(region, "north")), marked(betaRegion, "south")),
			reason: differs,
		},
		{
			name:   "a node's old label comes before today's",
			scene:  on(node(labelled(zone, "a"), labelled(betaZone, "b")), marked(betaZone, "a")),
			reason: differs,
		},
		{
			name:   "today's label of a volume is not met by an old one of a node",
			scene:  on(node(labelled(betaZone, "a")), marked(zone, "a")),
			reason: differs,
		},

		{name: "the second of two volumes is elsewhere", reason: differs, scene: scene{
			node: inA, pod: pod(claiming("data", "logs")), objects: []runtime.Object{
				claim("data", boundTo("disk")), persistentVolume("disk", marked(zone, "a")),
				claim("logs", boundTo("other")), persistentVolume("other", marked(zone, "b")),
			},
		}},
		{
			name:       "a volume that is made once the pod has a node",
			everywhere: true,
			scene:      unbound(claim("data", ofClass("late")), storageClass("late", "x", storagev1.VolumeBindingWaitForFirstConsumer)),
		},
		{name: "such a volume beside another", reason: differs, scene: scene{
			node: inA, pod: pod(claiming("data", "logs")), objects: []runtime.Object{
				claim("data", ofClass("late")), storageClass("late", "x", storagev1.VolumeBindingWaitForFirstConsumer),
				claim("logs", boundTo("other")), persistentVolume("other", marked(zone, "b")),
			},
		}},
		{name: "the class of an old claim", everywhere: true, scene: unbound(claim("data", func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "late"}
		}), storageClass("late", "x", storagev1.VolumeBindingWaitForFirstConsumer))},
		{
			name:   "a volume that should be there already",
			reason: "PersistentVolume had no name",
			scene:  unbound(claim("data", ofClass("early")), storageClass("early", "x", storagev1.VolumeBindingImmediate)),
		},
		{
			name:   "a class without a binding mode",
			reason: "VolumeBindingMode not set for StorageClass",
			scene:  unbound(claim("data", ofClass("odd")), storageClass("odd", "x", "")),
		},
		{name: "a class that is missing", reason: "storageclass.storage.k8s.io not found", scene: unbound(claim("data", ofClass("late")))},
		{
			name:   "a claim without volume and class",
			reason: "PersistentVolumeClaim had no pv name and storageClass name",
			scene:  unbound(claim("data")),
		},
		{name: "a volume that is missing", reason: "persistentvolume not found", scene: unbound(claim("data", boundTo("disk")))},
		{name: "a claim that is missing", reason: "persistentvolumeclaim not found", scene: scene{pod: pod(claiming("data"))}},
		{name: "a claim without a name", reason: "PersistentVolumeClaim had no name", scene: scene{pod: pod(claiming(""))}},
		{
			name:   "a claim that is missing matters on a node without labels, too",
			reason: "persistentvolumeclaim not found",
			scene:  scene{node: node(), pod: pod(claiming("data"))},
		},
	})
}
