package cluster

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// objectKind is a kind of Objects, for a test.
type objectKind struct {
	name       string
	aspect     Aspect
	namespaced bool
	object     func(metav1.ObjectMeta) apiObject
	// matters and ignored change something of an object that is kept, and
	// something that is not.
	matters, ignored func(apiObject)
	in               func(*Objects) map[types.NamespacedName]apiObject
}

// make is an object as it comes from the API server.
func (k *objectKind) make(name string) apiObject {
	meta := metav1.ObjectMeta{Name: name, UID: types.UID(k.name + "/" + name)}
	if k.namespaced {
		meta.Namespace = "default"
	}
	return k.object(meta)
}

// kindOf ties the parts of an objectKind to one type of objects.
func kindOf[K comparable, T any, P object[T]](
	name string,
	aspect Aspect,
	namespaced bool,
	table func(*Objects) Table[K, P],
	withMeta func(metav1.ObjectMeta) P,
	matters, ignored func(P),
) objectKind {
	return objectKind{
		name: name, aspect: aspect, namespaced: namespaced,
		object:  func(meta metav1.ObjectMeta) apiObject { return withMeta(meta) },
		matters: func(o apiObject) { matters(o.(P)) },
		ignored: func(o apiObject) { ignored(o.(P)) },
		in: func(o *Objects) map[types.NamespacedName]apiObject {
			all := map[types.NamespacedName]apiObject{}
			for _, object := range table(o).All() {
				all[key(object)] = object
			}
			return all
		},
	}
}

func objectKinds() []objectKind {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return []objectKind{
		kindOf("PersistentVolume", AspectPersistentVolume, false,
			func(o *Objects) Table[string, *corev1.PersistentVolume] { return o.PersistentVolumes },
			func(m metav1.ObjectMeta) *corev1.PersistentVolume { return &corev1.PersistentVolume{ObjectMeta: m} },
			func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound },
			func(v *corev1.PersistentVolume) { v.Status.Message = "deleted soon" }),
		kindOf("PersistentVolumeClaim", AspectPersistentVolumeClaim, true,
			func(o *Objects) Table[types.NamespacedName, *corev1.PersistentVolumeClaim] {
				return o.PersistentVolumeClaims
			},
			func(m metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
				return &corev1.PersistentVolumeClaim{ObjectMeta: m}
			},
			func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" },
			func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = amounts("storage", "1Gi") }),
		kindOf("StorageClass", AspectStorageClass, false,
			func(o *Objects) Table[string, *storagev1.StorageClass] { return o.StorageClasses },
			func(m metav1.ObjectMeta) *storagev1.StorageClass { return &storagev1.StorageClass{ObjectMeta: m} },
			func(c *storagev1.StorageClass) { c.Provisioner = "p" },
			func(c *storagev1.StorageClass) { c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}} }),
		kindOf("VolumeAttachment", AspectVolumeAttachment, false,
			func(o *Objects) Table[string, *storagev1.VolumeAttachment] { return o.VolumeAttachments },
			func(m metav1.ObjectMeta) *storagev1.VolumeAttachment {
				return &storagev1.VolumeAttachment{ObjectMeta: m}
			},
			func(a *storagev1.VolumeAttachment) { a.Spec.NodeName = "a" },
			func(a *storagev1.VolumeAttachment) { a.Status.Attached = true }),
		kindOf("CSIDriver", AspectCSIDriver, false,
			func(o *Objects) Table[string, *storagev1.CSIDriver] { return o.CSIDrivers },
			func(m metav1.ObjectMeta) *storagev1.CSIDriver { return &storagev1.CSIDriver{ObjectMeta: m} },
			func(d *storagev1.CSIDriver) { d.Spec.PreventPodSchedulingIfMissing = new(true) },
			func(d *storagev1.CSIDriver) { d.Spec.StorageCapacity = new(true) }),
		kindOf("Namespace", AspectNamespace, false,
			func(o *Objects) Table[string, *corev1.Namespace] { return o.Namespaces },
			func(m metav1.ObjectMeta) *corev1.Namespace { return &corev1.Namespace{ObjectMeta: m} },
			func(n *corev1.Namespace) { n.Labels = map[string]string{"team": "red"} },
			func(n *corev1.Namespace) { n.Status.Phase = corev1.NamespaceTerminating }),
		kindOf("Service", AspectService, true,
			func(o *Objects) Table[types.NamespacedName, *corev1.Service] { return o.Services },
			func(m metav1.ObjectMeta) *corev1.Service { return &corev1.Service{ObjectMeta: m} },
			func(s *corev1.Service) { s.Spec.Selector = web.MatchLabels },
			func(s *corev1.Service) { s.Annotations = map[string]string{"leader": "me"} }),
		kindOf("ReplicationController", AspectSelector, true,
			func(o *Objects) Table[types.NamespacedName, *corev1.ReplicationController] {
				return o.ReplicationControllers
			},
			func(m metav1.ObjectMeta) *corev1.ReplicationController {
				return &corev1.ReplicationController{ObjectMeta: m}
			},
			func(c *corev1.ReplicationController) { c.Spec.Selector = web.MatchLabels },
			func(c *corev1.ReplicationController) { c.Status.Replicas = 3 }),
		kindOf("ReplicaSet", AspectSelector, true,
			func(o *Objects) Table[types.NamespacedName, *appsv1.ReplicaSet] { return o.ReplicaSets },
			func(m metav1.ObjectMeta) *appsv1.ReplicaSet { return &appsv1.ReplicaSet{ObjectMeta: m} },
			func(s *appsv1.ReplicaSet) { s.Spec.Selector = web },
			func(s *appsv1.ReplicaSet) { s.Status.Replicas = 3 }),
		kindOf("StatefulSet", AspectSelector, true,
			func(o *Objects) Table[types.NamespacedName, *appsv1.StatefulSet] { return o.StatefulSets },
			func(m metav1.ObjectMeta) *appsv1.StatefulSet { return &appsv1.StatefulSet{ObjectMeta: m} },
			func(s *appsv1.StatefulSet) { s.Spec.Selector = web },
			func(s *appsv1.StatefulSet) { s.Status.Replicas = 3 }),
		kindOf("PodDisruptionBudget", AspectDisruptionBudget, true,
			func(o *Objects) Table[types.NamespacedName, *policyv1.PodDisruptionBudget] {
				return o.DisruptionBudgets
			},
			pdb,
			func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 },
			func(b *policyv1.PodDisruptionBudget) {
				b.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			}),
		kindOf("Job", AspectWorkload, true,
			func(o *Objects) Table[types.NamespacedName, *batchv1.Job] { return o.Jobs },
			func(m metav1.ObjectMeta) *batchv1.Job { return &batchv1.Job{ObjectMeta: m} },
			func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(1)) },
			func(j *batchv1.Job) { j.Status.Active = 3 }),
	}
}

func TestAnObjectOfEveryKindComesChangesAndGoes(t *testing.T) {
	for _, kind := range objectKinds() {
		t.Run(kind.name, func(t *testing.T) {
			c := newCluster(t)
			object := kind.make("x")
			name := key(object)
			next := object.DeepCopyObject().(apiObject)
			next.SetResourceVersion("2")
			kind.matters(next)
			next = trimmed(t, next)

			states := []*Snapshot{c.Snapshot()}
			for _, step := range []func(){
				func() { set(t, c, object) },
				func() { set(t, c, next) },
				func() { remove(t, c, object) },
			} {
				step()
				states = append(states, c.Snapshot())
			}
			want := []map[types.NamespacedName]apiObject{{}, {name: object}, {name: next}, {}}
			var got []map[types.NamespacedName]apiObject
			for _, state := range states {
				got = append(got, kind.in(state.Objects))
			}
			for i := range want {
				if !maps.Equal(want[i], got[i]) {
					t.Errorf("after %d steps there is %v, want %v", i, got[i], want[i])
				}
			}
			changes, _ := c.Snapshot().Since(0)
			journal := []Change{{1, -1, kind.aspect, name}, {2, -1, kind.aspect, name}, {3, -1, kind.aspect, name}}
			if diff := cmp.Diff(journal, changes); diff != "" {
				t.Errorf("journal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAControllerThatIsScaledOrDeletedKeepsItsSelector(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set1 := func(uid types.UID, replicas int32, selector *metav1.LabelSelector) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default", UID: uid},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector},
		}
	}
	dying := set1("a", 2, web)
	dying.DeletionTimestamp = new(metav1.Now())
	for name, test := range map[string]struct {
		next *appsv1.ReplicaSet
		want Aspect
	}{
		"it is scaled":                   {set1("a", 2, web), AspectWorkload},
		"it is being deleted":            {dying, AspectWorkload},
		"it selects others":              {set1("a", 2, &metav1.LabelSelector{}), AspectSelector},
		"it is another one of that name": {set1("b", 1, web), AspectSelector},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, set1("a", 1, web))
			before := c.Snapshot().Generation
			set(t, c, test.next)
			changes, _ := c.Snapshot().Since(before)
			if len(changes) != 1 || changes[0].Aspects != test.want {
				t.Errorf("changes %v, want one of %s", changes, test.want)
			}
			if got, _ := c.Snapshot().ReplicaSets.Get(types.NamespacedName{Namespace: "default", Name: "x"}); got != test.next {
				t.Errorf("the view has %v", got)
			}
		})
	}
}

func TestAnUpdateOfNothingThatIsKeptIsNoChange(t *testing.T) {
	for _, kind := range objectKinds() {
		t.Run(kind.name, func(t *testing.T) {
			c := newCluster(t)
			first := kind.make("x")
			kind.matters(first)
			first = trimmed(t, first)
			set(t, c, first)
			before := c.Snapshot()

			second := kind.make("x")
			kind.matters(second)
			kind.ignored(second)
			second.SetResourceVersion("2")
			second = trimmed(t, second)
			set(t, c, second)
			if c.Snapshot() != before {
				t.Error("the update is a change")
			}
			if second.GetResourceVersion() != "2" {
				t.Error("the object that was given is changed")
			}

			namesake := kind.make("x")
			kind.matters(namesake)
			namesake.SetUID("another")
			set(t, c, trimmed(t, namesake))
			if c.Snapshot() == before {
				t.Error("a namesake is no change")
			}
		})
	}
}

func TestToRemoveAnObjectThatIsNotThereIsNoChange(t *testing.T) {
	c := newCluster(t)
	c.SetCustom(gangs, gang("other"))
	before := c.Snapshot()
	for _, kind := range objectKinds() {
		remove(t, c, kind.make("x"))
	}
	c.DeleteCustom(gangs, gang("x"))
	c.DeleteCustom(gangs.GroupVersion().WithResource("none"), gang("x"))
	c.DropCustom(gangs.GroupVersion().WithResource("none"))
	if changes, _ := c.Snapshot().Since(before.Generation); len(changes) > 0 {
		t.Errorf("the journal has %v", changes)
	}
}

func TestObjectsAreSharedWhileNoneOfThemChanges(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	before := c.Snapshot()
	set(t, c, podObject("p", onNode("a")), csiNode("a", "driver"), nodeObject("b"))
	remove(t, c, nodeObject("a"))
	between := c.Snapshot()
	if between == before || between.Objects != before.Objects {
		t.Error("changes of nodes and pods made new Objects")
	}
	c.SetCustom(gangs, gang("g"))
	after := c.Snapshot()
	if after.Objects == before.Objects || after.Custom(gangs).Len() != 1 || before.Custom(gangs).Len() != 0 {
		t.Error("an object that comes is not in new Objects, or is in the old ones")
	}
	if after.Namespaces != before.Namespaces {
		t.Error("a table in which nothing changed is not shared")
	}
}

func TestChangesOfCustomResourcesNameTheirObjects(t *testing.T) {
	c := newCluster(t)
	c.SetCustom(gangs, gang("deleted"))
	c.DeleteCustom(gangs, gang("deleted"))
	c.SetCustom(gangs, gang("one"))
	c.SetCustom(gangs, gang("two"))
	before := c.Snapshot()
	c.DropCustom(gangs)
	after := c.Snapshot()
	if before.Custom(gangs).Len() != 2 || after.Custom(gangs).Len() != 0 {
		t.Errorf("%d objects before the resource went and %d after, want 2 and 0", before.Custom(gangs).Len(), after.Custom(gangs).Len())
	}
	changes, _ := after.Since(0)
	var names []string
	for _, change := range changes {
		if change.Node != -1 || change.Aspects != AspectCustom {
			t.Errorf("the journal has %v, want a change of a custom resource", change)
		}
		names = append(names, change.Object.String())
	}
	if diff := cmp.Diff([]string{"default/deleted", "default/deleted", "default/one", "default/two"}, names[:4]); diff != "" {
		t.Errorf("objects while the resource is there (-want +got):\n%s", diff)
	}
	dropped := map[string]bool{}
	for _, name := range names[4:] {
		dropped[name] = true
	}
	if diff := cmp.Diff(map[string]bool{"default/one": true, "default/two": true}, dropped); diff != "" {
		t.Errorf("objects that went with the resource (-want +got):\n%s", diff)
	}
}
