package predicates

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Drivers that tests speak of. The first one attaches what was a disk of an in-tree plugin.
const (
	ebsDriver   = "ebs.csi.aws.com"
	otherDriver = "other.csi.example.com"
)

// disks are claims of those names, each bound to a volume of its own.
func disks(driver string, names ...string) []runtime.Object {
	var objects []runtime.Object
	for _, name := range names {
		objects = append(objects, claim(name, boundTo("pv-"+name)), persistentVolume("pv-"+name, attachedBy(driver, "vol-"+name)))
	}
	return objects
}

func TestNodeVolumeLimits(t *testing.T) {
	const full = "node(s) exceed max volume count"
	// limited is a node that attaches up to limit volumes of EBS, beside some objects.
	limited := func(limit int32, objects ...[]runtime.Object) []runtime.Object {
		return slices.Concat(append(objects, []runtime.Object{csiNode("node", ebsDriver, limit)})...)
	}
	only := func(objects ...runtime.Object) []runtime.Object { return objects }
	abc := disks(ebsDriver, "a", "b", "c")
	late := storageClass("late", ebsDriver, storagev1.VolumeBindingWaitForFirstConsumer)
	inTree := storageClass("in-tree", "kubernetes.io/aws-ebs", storagev1.VolumeBindingWaitForFirstConsumer)
	azureDisk := func(kind corev1.AzureDataDiskKind) corev1.VolumeSource {
		return corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: "uri", Kind: &kind}}
	}
	const missing = "CSI driver is not installed on the node"
	demanded, lenient := csiDriver(ebsDriver, true), csiDriver(ebsDriver, false)
	elsewhere := csiNode("node", otherDriver, 9)
	checkVerdicts(t, config.NodeVolumeLimits, []verdictCase{
		{name: "a pod without volumes fits everywhere", everywhere: true},
		{name: "so does one with volumes that nothing attaches", everywhere: true, scene: scene{
			objects: limited(0, only(claim("local", boundTo("pv")), persistentVolume("pv", inHostPath))),
			pod:     pod(claiming("local"), mounting(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, iscsi("a", false))),
		}},
		{
			name:       "and one whose claim has neither volume nor class",
			everywhere: true,
			scene:      scene{objects: limited(0, only(claim("a"))), pod: pod(claiming("a"))},
		},
		{
			name:       "and one whose class is missing",
			everywhere: true,
			scene:      scene{objects: limited(0, only(claim("a", ofClass("late")))), pod: pod(claiming("a"))},
		},

		{name: "there is room", scene: scene{objects: limited(2, abc), placed: []*corev1.Pod{pod(claiming("a"))}, pod: pod(claiming("b"))}},
		{
			name:       "there is none, which eviction would change",
			scene:      scene{objects: limited(1, abc), placed: []*corev1.Pod{pod(claiming("a"))}, pod: pod(claiming("b"))},
			reason:     full,
			resolvable: true,
		},
		{name: "a node that attaches nothing", scene: scene{objects: limited(0, abc), pod: pod(claiming("a"))}, reason: full, resolvable: true},
		{name: "a driver without a limit", scene: scene{objects: limited(-1, abc), pod: pod(claiming("a"))}},
		{
			name:  "a driver that is not on the node",
			scene: scene{objects: slices.Concat(abc, only(csiNode("node", otherDriver, 0))), pod: pod(claiming("a"))},
		},
		{name: "a node without a CSINode", scene: scene{objects: abc, pod: pod(claiming("a"))}},
		{
			name:       "room for one of two",
			scene:      scene{objects: limited(2, abc), placed: []*corev1.Pod{pod(claiming("a"))}, pod: pod(claiming("b", "c"))},
			reason:     full,
			resolvable: true,
		},
		{
			name:  "a volume that is on the node already",
			scene: scene{objects: limited(1, abc), placed: []*corev1.Pod{pod(claiming("a"))}, pod: pod(claiming("a"))},
		},
		{
			name:  "also on a node with more than it may have",
			scene: scene{objects: limited(1, abc), placed: []*corev1.Pod{pod(claiming("a", "b"))}, pod: pod(claiming("a"))},
		},
		{
			name:  "a volume that two pods use counts once",
			scene: scene{objects: limited(2, abc), placed: []*corev1.Pod{pod(claiming("a")), pod(claiming("a"))}, pod: pod(claiming("b"))},
		},
		{name: "a volume that is claimed twice is one", scene: scene{
			objects: limited(1, only(claim("a", boundTo("pv")), claim("b", boundTo("pv")), persistentVolume("pv", attachedBy(ebsDriver, "vol")))),
			pod:     pod(claiming("a", "b")),
		}},
		{
			name:  "volumes of another driver do not count",
			scene: scene{objects: limited(1, abc, disks(otherDriver, "x")), placed: []*corev1.Pod{pod(claiming("x"))}, pod: pod(claiming("a"))},
		},
		{name: "nor does the room of another driver", scene: scene{
			objects: slices.Concat(
				abc,
				disks(otherDriver, "x"),
				only(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: storagev1.CSINodeSpec{
					Drivers: append(csiNode("", ebsDriver, 5).Spec.Drivers, csiNode("", otherDriver, 0).Spec.Drivers...),
				}}),
			),
			pod: pod(claiming("a", "x")),
		}, reason: full, resolvable: true},
		{
			name:  "pods whose claim is missing do not count",
			scene: scene{objects: limited(1, abc), placed: []*corev1.Pod{pod(claiming("gone"))}, pod: pod(claiming("a"))},
		},

		{name: "an attachment that no pod uses counts", scene: scene{
			objects: limited(1, abc, only(attachment("va", "node", ebsDriver, "pv-a"))), pod: pod(claiming("b")),
		}, reason: full, resolvable: true},
		{name: "an attachment that a pod uses counts once", scene: scene{
			objects: limited(2, abc, only(attachment("va", "node", ebsDriver, "pv-a"), attachment("again", "node", ebsDriver, "pv-a"))),
			placed:  []*corev1.Pod{pod(claiming("a"))},
			pod:     pod(claiming("b")),
		}},
		{name: "the pod's own volume counts twice while it is attached and nobody uses it", scene: scene{
			objects: limited(1, abc, only(attachment("va", "node", ebsDriver, "pv-a"))), pod: pod(claiming("a")),
		}, reason: full, resolvable: true},
		{
			name:  "an attachment to another node",
			scene: scene{objects: limited(1, abc, only(attachment("va", "other", ebsDriver, "pv-a"))), pod: pod(claiming("b"))},
		},
		{
			name:  "an attachment of another driver",
			scene: scene{objects: limited(1, abc, only(attachment("va", "node", otherDriver, "pv-a"))), pod: pod(claiming("b"))},
		},
		{
			name:  "an attachment without a volume",
			scene: scene{objects: limited(1, abc, only(attachment("va", "node", ebsDriver, "gone"))), pod: pod(claiming("b"))},
		},
		{name: "an attachment of what is not a CSI volume", scene: scene{
			objects: limited(1, abc, only(attachment("va", "node", ebsDriver, "old"), persistentVolume("old", onEBS("vol-old")))),
			pod:     pod(claiming("b")),
		}},
		{name: "an inline attachment", scene: scene{
			objects: limited(
				1,
				abc,
				only(
					&storagev1.VolumeAttachment{
						ObjectMeta: metav1.ObjectMeta{Name: "va"},
						Spec:       storagev1.VolumeAttachmentSpec{Attacher: ebsDriver, NodeName: "node"},
					},
				),
			),
			pod: pod(claiming("b")),
		}},

		{
			name:       "a volume to be made counts by its class",
			scene:      scene{objects: limited(0, only(claim("a", ofClass("late")), late)), pod: pod(claiming("a"))},
			reason:     full,
			resolvable: true,
		},
		{
			name:       "so does one that is not known yet",
			scene:      scene{objects: limited(0, only(claim("a", ofClass("late"), boundTo("pv")), late)), pod: pod(claiming("a"))},
			reason:     full,
			resolvable: true,
		},
		{
			name:       "one of a class of the in-tree plugin counts too",
			scene:      scene{objects: limited(0, only(claim("a", ofClass("in-tree")), inTree)), pod: pod(claiming("a"))},
			reason:     full,
			resolvable: true,
		},
		{name: "volumes to be made for two claims are two", scene: scene{
			objects: limited(1, only(claim("a", ofClass("late")), claim("b", ofClass("in-tree")), late, inTree)),
			placed:  []*corev1.Pod{pod(claiming("a"))},
			pod:     pod(claiming("b")),
		}, reason: full, resolvable: true},
		{name: "claims of one name in two namespaces are two", scene: scene{
			objects: limited(
				1, only(claim("a", ofClass("late")), claim("a", ofClass("late"), func(c *corev1.PersistentVolumeClaim) { c.Namespace = "shop" }), late),
			),
			placed: []*corev1.Pod{pod(claiming("a"), func(p *corev1.Pod) { p.Namespace = "shop" })},
			pod:    pod(claiming("a")),
		}, reason: full, resolvable: true},
		{name: "the volume says more than the class", everywhere: true, scene: scene{
			objects: limited(0, only(claim("a", ofClass("late"), boundTo("pv")), late, persistentVolume("pv", inHostPath))), pod: pod(claiming("a")),
		}},

		{name: "a volume of the in-tree plugin is the driver's", scene: scene{
			objects: limited(1, abc, only(claim("old", boundTo("pv")), persistentVolume("pv", onEBS("aws://zone/vol-old")))),
			placed:  []*corev1.Pod{pod(claiming("a"))},
			pod:     pod(claiming("old")),
		}, reason: full, resolvable: true},
		{name: "it is the same volume by both names", scene: scene{
			objects: limited(1, abc, only(claim("old", boundTo("pv")), persistentVolume("pv", onEBS("aws://zone/vol-a")))),
			placed:  []*corev1.Pod{pod(claiming("a"))},
			pod:     pod(claiming("old")),
		}},
		{name: "a volume of the in-tree plugin that does not translate", everywhere: true, scene: scene{
			objects: limited(0, only(claim("old", boundTo("pv")), persistentVolume("pv", onEBS("aws://zone/what")))), pod: pod(claiming("old")),
		}},
		{
			name:       "an inline disk is the driver's",
			scene:      scene{objects: limited(1), placed: []*corev1.Pod{pod(mounting(ebs("vol-a")))}, pod: pod(mounting(ebs("vol-b")))},
			reason:     full,
			resolvable: true,
		},
		{
			name:  "it is the same one as a claimed one",
			scene: scene{objects: limited(1, abc), placed: []*corev1.Pod{pod(mounting(ebs("aws:///vol-a")))}, pod: pod(claiming("a"))},
		},
		{name: "inline disks of other plugins are other drivers'", scene: scene{
			objects: limited(1),
			placed:  []*corev1.Pod{pod(mounting(gcePD("a", false), azureDisk(corev1.AzureManagedDisk)))},
			pod:     pod(mounting(ebs("vol-a"))),
		}},
		{name: "vSphere's disks are not counted", everywhere: true, scene: scene{
			objects: limited(0), pod: pod(mounting(corev1.VolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "path"}})),
		}},
		{name: "an inline disk that does not translate, whichever pods are evicted", scene: scene{
			objects: only(csiNode("node", otherDriver, 9)), pod: pod(mounting(azureDisk(corev1.AzureDedicatedBlobDisk))),
		}, reason: "converting volume from inline to csi failed"},
		{name: "it does not have to on a node without a CSINode", scene: scene{pod: pod(mounting(azureDisk(corev1.AzureDedicatedBlobDisk)))}},
		{
			name:  "that of another pod is not counted",
			scene: scene{objects: limited(1), placed: []*corev1.Pod{pod(mounting(ebs("aws://zone/what")))}, pod: pod(mounting(ebs("vol-a")))},
		},

		{name: "an ephemeral volume is a claim of the pod's", scene: scene{
			objects: limited(0, only(claim("pod-volume-0", ofClass("late"), madeFor("pod")), late)), pod: pod(mounting(ephemeralVolume())),
		}, reason: full, resolvable: true},
		{name: "that of another pod counts", scene: scene{
			objects: limited(1, abc, only(claim("placed-a-volume-0", ofClass("late"), madeFor("placed-a")), late)),
			placed:  []*corev1.Pod{pod(mounting(ephemeralVolume()))},
			pod:     pod(claiming("a")),
		}, reason: full, resolvable: true},
		{name: "that of another pod is not counted until it is made for it", scene: scene{
			objects: limited(1, abc, only(claim("placed-a-volume-0", ofClass("late")), late)),
			placed:  []*corev1.Pod{pod(mounting(ephemeralVolume()))},
			pod:     pod(claiming("a")),
		}},
		{
			name:   "an ephemeral volume whose claim is missing",
			scene:  scene{pod: pod(mounting(ephemeralVolume()))},
			reason: "persistentvolumeclaim not found",
		},
		{name: "an ephemeral volume whose claim is somebody else's", scene: scene{
			objects: only(claim("pod-volume-0", madeFor("another"))), pod: pod(mounting(ephemeralVolume())),
		}, reason: "PVC was not created for pod (pod is not owner)"},
		{
			name:   "a claim that is missing, also on a node without a CSINode",
			scene:  scene{pod: pod(claiming("a"))},
			reason: "persistentvolumeclaim not found",
		},

		{
			name:  "a demanded driver that is on the node",
			scene: scene{objects: limited(1, abc, only(demanded)), pod: pod(claiming("a"))},
		},
		{
			name:   "a demanded driver that is not",
			scene:  scene{objects: slices.Concat(abc, only(demanded, elsewhere)), pod: pod(claiming("a"))},
			reason: missing, resolvable: true,
		},
		{
			name:   "one of two drivers is not",
			scene:  scene{objects: slices.Concat(abc, disks(otherDriver, "x"), only(demanded, elsewhere)), pod: pod(claiming("x", "a"))},
			reason: missing, resolvable: true,
		},
		{
			name:  "a driver that no volume of the pod is of",
			scene: scene{objects: slices.Concat(disks(otherDriver, "x"), only(demanded, elsewhere)), pod: pod(claiming("x"))},
		},
		{
			name:  "a driver that is missing and may be",
			scene: scene{objects: slices.Concat(abc, only(lenient, elsewhere)), pod: pod(claiming("a"))},
		},
		{
			name:   "a demanded driver and a node without a CSINode",
			scene:  scene{objects: slices.Concat(abc, only(demanded)), pod: pod(claiming("a"))},
			reason: missing, resolvable: true,
		},
		{
			name:   "a demanded driver of a volume to be made",
			scene:  scene{objects: only(claim("a", ofClass("late")), late, demanded), pod: pod(claiming("a"))},
			reason: missing, resolvable: true,
		},
		{
			name:   "a demanded driver of a disk of the in-tree plugin",
			scene:  scene{objects: only(demanded, elsewhere), pod: pod(mounting(ebs("vol-a")))},
			reason: missing, resolvable: true,
		},
		{name: "such a disk on a node without a CSINode", scene: scene{objects: only(demanded), pod: pod(mounting(ebs("vol-a")))}},
		{name: "such a disk that is claimed, there", scene: scene{
			objects: only(demanded, claim("old", boundTo("pv")), persistentVolume("pv", onEBS("aws://zone/vol-old"))), pod: pod(claiming("old")),
		}},
		{
			name:  "one to be made for a class of the in-tree plugin, there",
			scene: scene{objects: only(demanded, claim("a", ofClass("in-tree")), inTree), pod: pod(claiming("a"))},
		},
		{name: "a claim without a name", scene: scene{pod: pod(claiming(""))}, reason: "PersistentVolumeClaim had no name"},
	})
}

// TestNodeVolumeLimitsKnowWhichObjectsMatter changes one object and asks a check for
// volumes of EBS whether it depends on that. There is a pod on the node with the claims
// a, of a volume that is there, old, of one that is not, and odd, of one that nothing
// attaches; and attachments of volumes that are not there or not of the driver.
func TestNodeVolumeLimitsKnowWhichObjectsMatter(t *testing.T) {
	const pv, pvc = cluster.AspectPersistentVolume, cluster.AspectPersistentVolumeClaim
	const class, va, driver = cluster.AspectStorageClass, cluster.AspectVolumeAttachment, cluster.AspectCSIDriver
	base := slices.Concat(disks(ebsDriver, "a", "own"), disks(otherDriver, "x"), []runtime.Object{
		node(), csiNode("node", ebsDriver, 4), pod(claiming("a", "old", "odd"), func(p *corev1.Pod) { p.Spec.NodeName = "node" }),
		storageClass("ebs", ebsDriver, ""), storageClass("other", otherDriver, ""),
		claim("old", ofClass("ebs"), boundTo("pv-old")),
		claim("odd", ofClass("ebs"), boundTo("pv-odd")), persistentVolume("pv-odd", inHostPath),
		attachment("va", "node", ebsDriver, "pv-a"), attachment("va-x", "node", otherDriver, "pv-x"),
		attachment("va-gone", "node", ebsDriver, "pv-gone"),
		attachment("va-y", "node", ebsDriver, "pv-y"), persistentVolume("pv-y", attachedBy(otherDriver, "vol-y")),
	})
	for _, test := range []struct {
		name    string
		kind    cluster.Aspect
		set     runtime.Object // nil for a deletion
		deleted runtime.Object
		want    bool
	}{
		{name: "a volume of the driver came", kind: pv, set: persistentVolume("new", attachedBy(ebsDriver, "new")), want: true},
		{name: "a volume that the driver took over came", kind: pv, set: persistentVolume("new", onEBS("vol-new")), want: true},
		{name: "a volume of another driver came", kind: pv, set: persistentVolume("new", attachedBy(otherDriver, "new"))},
		{name: "a volume that nothing attaches came", kind: pv, set: persistentVolume("new", inHostPath)},
		{
			name: "the missing volume of a claim of the driver's class came", kind: pv,
			set: persistentVolume("pv-old", attachedBy(otherDriver, "old")), want: true,
		},
		{name: "a volume of the driver went", kind: pv, deleted: persistentVolume("pv-a"), want: true},
		{name: "a volume of another driver went", kind: pv, deleted: persistentVolume("pv-x")},
		{
			name: "a volume that nothing attaches went from a claim of the driver's class", kind: pv, deleted: persistentVolume("pv-odd"),
			want: true,
		},
		{
			name: "the missing volume of an attachment came", kind: pv, set: persistentVolume("pv-gone", attachedBy(otherDriver, "gone")),
			want: true,
		},
		{name: "a volume of another driver went from an attachment", kind: pv, deleted: persistentVolume("pv-y"), want: true},
		{name: "a volume of the driver was labelled", kind: pv, set: persistentVolume("pv-a", attachedBy(ebsDriver, "vol-a"), marked("k", "v"))},
		{name: "a volume of the driver became another", kind: pv, set: persistentVolume("pv-a", attachedBy(ebsDriver, "vol-z")), want: true},
		{
			name: "a volume of the driver is now told by the in-tree plugin's name, which no attachment is", kind: pv,
			set: persistentVolume("pv-a", onEBS("vol-a")), want: true,
		},

		{name: "a claim of the driver's class came", kind: pvc, set: claim("new", ofClass("ebs")), want: true},
		{name: "a claim of a volume of the driver came", kind: pvc, set: claim("new", boundTo("pv-a")), want: true},
		{name: "a claim of another class came", kind: pvc, set: claim("new", ofClass("other"))},
		{name: "a claim without volume and class came", kind: pvc, set: claim("new")},
		{name: "a claim of a volume of the driver went", kind: pvc, deleted: claim("a"), want: true},
		{name: "a claim of another driver's volume went", kind: pvc, deleted: claim("x")},
		{name: "a claim of the driver got another access mode", kind: pvc, set: claim("a", boundTo("pv-a"), accessedBy(corev1.ReadWriteMany))},
		{
			name: "a claim got a class of the driver, which its volume is not of", kind: pvc,
			set: claim("x", boundTo("pv-x"), ofClass("ebs")), want: true,
		},
		{name: "the pod's own claim went", kind: pvc, deleted: claim("own"), want: true},
		{name: "the pod's own claim became one of another driver", kind: pvc, set: claim("own", boundTo("pv-x")), want: true},

		{name: "a class of the driver came", kind: class, set: storageClass("new", ebsDriver, ""), want: true},
		{name: "a class of the in-tree plugin came", kind: class, set: storageClass("new", "kubernetes.io/aws-ebs", ""), want: true},
		{name: "a class of another driver came", kind: class, set: storageClass("new", otherDriver, "")},
		{name: "a class of the driver got a binding mode", kind: class, set: storageClass("ebs", ebsDriver, storagev1.VolumeBindingImmediate)},
		{name: "a class of the driver went", kind: class, deleted: storageClass("ebs", "", ""), want: true},

		{name: "an attachment of the driver came", kind: va, set: attachment("new", "node", ebsDriver, "pv-own"), want: true},
		{name: "an attachment of the driver went", kind: va, deleted: attachment("va", "", "", ""), want: true},
		{name: "an attachment of another driver came", kind: va, set: attachment("new", "node", otherDriver, "pv-x")},
		{name: "the driver is demanded of nodes", kind: driver, set: csiDriver(ebsDriver, true), want: true},
		{name: "the driver was told of, and may be missing", kind: driver, set: csiDriver(ebsDriver, false)},
		{name: "another driver is demanded of nodes", kind: driver, set: csiDriver(otherDriver, true)},
		{name: "an attachment of another driver went", kind: va, deleted: attachment("va-x", "", "", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster()
			for _, object := range base {
				if err := c.Set(object.DeepCopyObject()); err != nil {
					t.Fatal(err)
				}
			}
			before := c.Snapshot()
			check := nodeVolumeLimits{}.For(cluster.NewPod(pod(claiming("own"))), before)
			if verdict := check.Verdict(before.NodeByName("node")); verdict != Fits {
				t.Fatalf("verdict %d", verdict)
			}
			change, object := c.Set, test.set
			if object == nil {
				change, object = c.Delete, test.deleted
			}
			if err := change(object); err != nil {
				t.Fatal(err)
			}
			after := c.Snapshot()
			name := types.NamespacedName{Namespace: object.(metav1.Object).GetNamespace(), Name: object.(metav1.Object).GetName()}
			if got := check.(Selective).DependsOn(test.kind, name, before.Objects, after.Objects); got != test.want {
				t.Errorf("it depends on it: %v", got)
			}
		})
	}
}
