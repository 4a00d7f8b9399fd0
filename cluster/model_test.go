package cluster

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// After any events in any order, the view equals a naive model, older snapshots stay as they were, and the
// journal leads from any of them to the present one.
func TestTheViewIsWhatANaiveModelSays(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		m := &model{
			Cluster:  newCluster(t),
			nodes:    map[string]*corev1.Node{},
			csi:      map[string]*storagev1.CSINode{},
			usage:    map[string]*Usage{},
			pods:     map[types.UID]*corev1.Pod{},
			assumed:  map[types.UID]modelAssumption{},
			expected: map[types.UID]string{},
			kinds:    objectKinds(),
			objects:  map[modelObject]apiObject{},
			custom:   map[string]bool{},
		}
		m.ledger.term = time.Hour
		defer m.settleAll()
		r.Repeat(map[string]func(*rapid.T){
			"a node is set":                m.setNode,
			"a node goes":                  m.removeNode,
			"a CSINode comes or goes":      m.toggleCSI,
			"a node is measured":           m.measure,
			"a pod is set":                 m.setPod,
			"a pod is bound":               m.bind,
			"a pod finishes":               m.finish,
			"a pod is deleted":             m.deletePod,
			"a pod is assumed":             m.assume,
			"a pod is expected":            m.expect,
			"an assumption is renewed":     func(r *rapid.T) { m.Renew(drawUID(r)) },
			"an assumption is released":    m.release,
			"a pod is being bound":         m.send,
			"a binding is refused":         m.refuse,
			"an object comes or changes":   m.setObject,
			"an object goes":               m.removeObject,
			"a custom resource changes":    m.toggleCustom,
			"a custom resource is no more": m.dropCustom,
			"":                             m.check,
		})
	})
}

type model struct {
	*Cluster
	nodes    map[string]*corev1.Node
	csi      map[string]*storagev1.CSINode
	usage    map[string]*Usage
	pods     map[types.UID]*corev1.Pod // as the watch shows them, finished ones left out
	assumed  map[types.UID]modelAssumption
	expected map[types.UID]string // by pod, the node
	kinds    []objectKind
	objects  map[modelObject]apiObject // as the view is to show them
	custom   map[string]bool
	older    []remembered
	version  int
}

type modelAssumption struct {
	node    string
	object  *corev1.Pod
	binding bool
}

// modelObject is an object that is part of no node.
type modelObject struct {
	kind string
	name types.NamespacedName
}

type remembered struct {
	snapshot *Snapshot
	print    string
}

// The names are few, so that events meet.
func drawNode(r *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "node")
}

func drawUID(r *rapid.T) types.UID {
	return types.UID(fmt.Sprint("pod-", rapid.IntRange(0, 7).Draw(r, "pod")))
}

func (m *model) setNode(r *rapid.T) {
	m.version++
	node := nodeObject(drawNode(r), func(n *corev1.Node) {
		n.ResourceVersion = fmt.Sprint(m.version)
		n.Labels["zone"] = rapid.SampledFrom([]string{"x", "y"}).Draw(r, "zone")
		n.Spec.Unschedulable = rapid.Bool().Draw(r, "unschedulable")
		n.Status.Allocatable["cpu"] = *resource.NewQuantity(rapid.Int64Range(1, 2).Draw(r, "cpu"), resource.DecimalSI)
		if rapid.Bool().Draw(r, "tainted") {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}
		if rapid.Bool().Draw(r, "annotated") {
			n.Annotations = map[string]string{"a": "b"}
		}
	})
	m.nodes[node.Name] = node
	_ = m.Set(node)
}

func (m *model) removeNode(r *rapid.T) {
	name := drawNode(r)
	delete(m.nodes, name)
	maps.DeleteFunc(m.expected, func(_ types.UID, node string) bool { return node == name })
	_ = m.Delete(nodeObject(name))
}

func (m *model) toggleCSI(r *rapid.T) {
	name := drawNode(r)
	if m.csi[name] != nil {
		delete(m.csi, name)
		_ = m.Delete(csiNode(name))
		return
	}
	m.csi[name] = csiNode(name, "driver")
	_ = m.Set(m.csi[name])
}

func (m *model) measure(r *rapid.T) {
	name := drawNode(r)
	if rapid.Bool().Draw(r, "known") {
		m.usage[name] = &Usage{Node: Resources{MilliCPU: 1}}
	} else {
		delete(m.usage, name)
	}
	m.SetUsage(name, m.usage[name])
}

// object draws the next state of a pod.
func (m *model) object(r *rapid.T, uid types.UID, node string) *corev1.Pod {
	m.version++
	return podObject(string(uid), func(p *corev1.Pod) {
		p.UID, p.ResourceVersion = uid, fmt.Sprint(m.version)
		p.Labels["v"] = rapid.SampledFrom([]string{"1", "2"}).Draw(r, "label")
		p.Spec.NodeName = node
		requests := rapid.SampledFrom([][]string{
			nil, {"cpu", "1"}, {"cpu", "1", "memory", "1Gi"}, {"x.com/gpu", "2"}, {"y.com/nic", "1", "hugepages-2Mi", "4Mi"},
		}).
			Draw(r, "requests")
		p.Spec.Containers = []corev1.Container{container("main", requests...)}
		if rapid.Bool().Draw(r, "limited") {
			limitedTo("cpu", "4")(p)
		}
		if priority := rapid.Int32Range(0, 2).Draw(r, "priority"); priority > 0 {
			ofPriority(priority)(p)
		}
		p.Status.QOSClass = rapid.SampledFrom([]corev1.PodQOSClass{"", corev1.PodQOSBestEffort, corev1.PodQOSBurstable}).
			Draw(r, "quality of service")
		if rapid.Bool().Draw(r, "scheduled") {
			became(corev1.PodScheduled, rapid.Int64Range(1, 2).Draw(r, "scheduled at"))(p)
		}
		if port := rapid.Int32Range(0, 2).Draw(r, "port"); port > 0 {
			hostPort(port)(p)
		}
		if rapid.Bool().Draw(r, "affine") {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		}
	})
}

func (m *model) set(object *corev1.Pod) {
	m.pods[object.UID] = object
	if object.Spec.NodeName != "" {
		delete(m.assumed, object.UID)
		delete(m.expected, object.UID)
	}
	_ = m.Set(object)
}

func (m *model) setPod(r *rapid.T) {
	uid := drawUID(r)
	node := ""
	if p := m.pods[uid]; p != nil {
		node = p.Spec.NodeName
	}
	m.set(m.object(r, uid, node))
}

func (m *model) bind(r *rapid.T) {
	m.set(m.object(r, drawUID(r), drawNode(r)))
}

func (m *model) finish(r *rapid.T) {
	object := m.object(r, drawUID(r), drawNode(r))
	object.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(r, "phase")
	m.forget(object.UID)
	_ = m.Set(object)
}

func (m *model) deletePod(r *rapid.T) {
	uid := drawUID(r)
	m.forget(uid)
	_ = m.Delete(podObject("any", func(p *corev1.Pod) { p.UID = uid }))
}

func (m *model) forget(uid types.UID) {
	delete(m.pods, uid)
	delete(m.assumed, uid)
	delete(m.expected, uid)
}

func (m *model) assume(r *rapid.T) {
	uid := drawUID(r)
	snapshot := m.Snapshot()
	if len(m.older) > 0 && rapid.Bool().Draw(r, "on an older state") {
		snapshot = rapid.SampledFrom(m.older).Draw(r, "older").snapshot
	}
	node := snapshot.NodeByName(drawNode(r))
	if node == nil {
		return
	}
	pod := m.PendingPod(uid)
	if pod == nil {
		pod = NewPod(m.object(r, uid, ""))
	}
	var want error
	switch {
	case m.pods[uid] != nil && m.pods[uid].Spec.NodeName != "", m.assumed[uid].binding && m.assumed[uid].node != node.Name:
		want = ErrPodPlaced
	case m.Snapshot().NodeByName(node.Name) != node:
		want = ErrNodeChanged
	default:
		m.assumed[uid] = modelAssumption{node.Name, pod.Pod, m.assumed[uid].binding}
		delete(m.expected, uid)
	}
	if err := m.AssumeAll([]*Pod{pod}, node); !errors.Is(err, want) {
		r.Fatalf("to assume %s on %s: %v, want %v", uid, node.Name, err, want)
	}
}

func (m *model) expect(r *rapid.T) {
	uid, node := drawUID(r), drawNode(r)
	delete(m.expected, uid)
	placed := m.assumed[uid].node != "" || m.pods[uid] != nil && m.pods[uid].Spec.NodeName != ""
	if !placed && m.nodes[node] != nil {
		m.expected[uid] = node
	}
	m.Expect(NewPod(m.object(r, uid, "")), node)
}

func (m *model) release(r *rapid.T) {
	uid := drawUID(r)
	if !m.assumed[uid].binding {
		delete(m.assumed, uid)
	}
	delete(m.expected, uid)
	m.Release(uid)
}

func (m *model) send(r *rapid.T) {
	uid, node := drawUID(r), drawNode(r)
	if assumed := m.assumed[uid]; assumed.node == node {
		assumed.binding = true
		m.assumed[uid] = assumed
	}
	m.Bind(uid, node, time.Hour)
	want := ""
	if m.assumed[uid].binding {
		want = m.assumed[uid].node
	}
	if got := m.Binding(uid); got != want {
		r.Fatalf("%s is being bound to %q, want %q", uid, got, want)
	}
}

func (m *model) refuse(r *rapid.T) {
	uid := drawUID(r)
	delete(m.assumed, uid)
	delete(m.expected, uid)
	m.Refuse(uid)
}

func (m *model) settleAll() {
	for uid := range m.assumed {
		m.Refuse(uid)
	}
	for uid := range m.expected {
		m.Release(uid)
	}
}

// drawObject draws an object of any kind.
func (m *model) drawObject(r *rapid.T) (*objectKind, apiObject, modelObject) {
	kind := &m.kinds[rapid.IntRange(0, len(m.kinds)-1).Draw(r, "kind")]
	object := kind.make(rapid.SampledFrom([]string{"o1", "o2"}).Draw(r, "object"))
	return kind, object, modelObject{kind.name, key(object)}
}

func (m *model) setObject(r *rapid.T) {
	m.version++
	kind, object, id := m.drawObject(r)
	object.SetResourceVersion(fmt.Sprint(m.version))
	if rapid.Bool().Draw(r, "in what matters") {
		kind.matters(object)
	}
	if rapid.Bool().Draw(r, "in what is ignored") {
		kind.ignored(object)
	}
	_, _ = Trim(object)
	_ = m.Set(object)
	if last := m.objects[id]; last != nil {
		undated := object.DeepCopyObject().(apiObject)
		undated.SetResourceVersion(last.GetResourceVersion())
		if equality.Semantic.DeepEqual(last, undated) {
			return
		}
	}
	m.objects[id] = object
}

func (m *model) removeObject(r *rapid.T) {
	_, object, id := m.drawObject(r)
	delete(m.objects, id)
	_ = m.Delete(object)
}

func (m *model) toggleCustom(r *rapid.T) {
	name := rapid.SampledFrom([]string{"g1", "g2"}).Draw(r, "gang")
	if m.custom[name] {
		delete(m.custom, name)
		m.DeleteCustom(gangs, gang(name))
		return
	}
	m.custom[name] = true
	m.SetCustom(gangs, gang(name))
}

func (m *model) dropCustom(*rapid.T) {
	clear(m.custom)
	m.DropCustom(gangs)
}

// at are the objects of the pods that count on a node, in the model.
func (m *model) at(node string) map[types.UID]*corev1.Pod {
	objects := map[types.UID]*corev1.Pod{}
	for uid, object := range m.pods {
		if object.Spec.NodeName == node {
			objects[uid] = object
		}
	}
	for uid, a := range m.assumed {
		if a.node != node {
			continue
		}
		objects[uid] = a.object
		if shown := m.pods[uid]; shown != nil {
			objects[uid] = shown
		}
	}
	return objects
}

func (m *model) check(r *rapid.T) {
	now := m.Snapshot()
	m.checkNodes(r, now)
	for uid, object := range m.pods {
		pending := m.PendingPod(uid)
		if bound := object.Spec.NodeName != ""; bound != (pending == nil) || !bound && pending.Pod != object {
			r.Fatalf("%s is pending as %v, want %v", uid, pending, object)
		}
	}
	for i := range 8 {
		uid := types.UID(fmt.Sprint("pod-", i))
		if got := m.Assumed(uid); got != m.assumed[uid].node {
			r.Fatalf("%s is assumed on %q, want %q", uid, got, m.assumed[uid].node)
		}
	}
	if got := m.objectsIn(now); !maps.Equal(m.objects, got) {
		r.Fatalf("objects: %v, want %v", got, m.objects)
	}
	if got := now.Custom(gangs).Len(); got != len(m.custom) {
		r.Fatalf("%d gangs, want %d", got, len(m.custom))
	}
	for _, old := range m.older {
		if diff := cmp.Diff(old.print, m.fingerprint(old.snapshot)); diff != "" {
			r.Fatalf("snapshot %d changed (-was +is):\n%s", old.snapshot.Generation, diff)
		}
		m.checkReplay(r, old.snapshot, now)
	}
	if n := len(m.older); n == 0 || m.older[n-1].snapshot != now {
		m.older = append(m.older, remembered{now, m.fingerprint(now)})
	}
	const memory = 12
	if len(m.older) > memory {
		m.older = append(m.older[:1], m.older[2:]...) // the first is kept longest
	}
}

func (m *model) objectsIn(s *Snapshot) map[modelObject]apiObject {
	all := map[modelObject]apiObject{}
	for i := range m.kinds {
		for name, object := range m.kinds[i].in(s.Objects) {
			all[modelObject{m.kinds[i].name, name}] = object
		}
	}
	return all
}

func (m *model) checkNodes(r *rapid.T, now *Snapshot) {
	if now.NodeCount() != len(m.nodes) {
		r.Fatalf("%d nodes, want %d", now.NodeCount(), len(m.nodes))
	}
	for name, object := range m.nodes {
		node := now.NodeByName(name)
		if node == nil || now.Node(node.Index) != node {
			r.Fatalf("node %s is %v", name, node)
		}
		version := *object
		version.ResourceVersion = node.ResourceVersion
		if diff := cmp.Diff(&version, node.Node); diff != "" {
			r.Fatalf("object of node %s (-want +got):\n%s", name, diff)
		}
		if cpu := object.Status.Allocatable.Cpu().MilliValue(); node.Allocatable.MilliCPU != cpu {
			r.Fatalf("node %s offers %dm, want %dm", name, node.Allocatable.MilliCPU, cpu)
		}
		if node.Usage != m.usage[name] {
			r.Fatalf("usage of %s is %v, want %v", name, node.Usage, m.usage[name])
		}
		if node.CSI != m.csi[name] {
			r.Fatalf("CSINode of %s is %v, want %v", name, node.CSI, m.csi[name])
		}
		m.checkExpected(r, node)
		want, got := m.at(name), map[types.UID]*corev1.Pod{}
		var requested Resources
		var cpu, memory int64
		var ports []HostPort
		for _, pod := range node.Pods {
			got[pod.UID] = pod.Pod
		}
		for _, object := range want {
			pod := NewPod(object)
			requested = requested.plus(&pod.Requests, +1)
			cpu += pod.NonZeroMilliCPU
			memory += pod.NonZeroMemory
			ports = append(ports, pod.HostPorts...)
		}
		if !maps.Equal(want, got) || len(got) != len(node.Pods) {
			r.Fatalf("pods of %s: %v, want %v", name, got, want)
		}
		affine := slices.DeleteFunc(slices.Clone(node.Pods), func(p *Pod) bool { return p.Affinity == nil })
		if !slices.Equal(affine, node.Affine) {
			r.Fatalf("affine pods of %s: %v, want %v", name, node.Affine, affine)
		}
		if !requested.equal(&node.Requested) || cpu != node.NonZeroMilliCPU || memory != node.NonZeroMemory {
			r.Fatalf(
				"requested on %s: %+v %d %d, want %+v %d %d", name, node.Requested, node.NonZeroMilliCPU, node.NonZeroMemory, requested, cpu, memory,
			)
		}
		if diff := cmp.Diff(sortedPorts(ports), sortedPorts(node.Ports)); diff != "" {
			r.Fatalf("ports of %s (-want +got):\n%s", name, diff)
		}
	}
}

func (m *model) checkExpected(r *rapid.T, node *Node) {
	got, want := map[types.UID]bool{}, map[types.UID]bool{}
	for _, pod := range node.Expected {
		got[pod.UID] = true
	}
	for uid, where := range m.expected {
		if where == node.Name {
			want[uid] = true
		}
	}
	if !maps.Equal(got, want) || len(got) != len(node.Expected) {
		r.Fatalf("%s expects %v, want %v", node.Name, got, want)
	}
}

func sortedPorts(ports []HostPort) []int32 {
	var numbers []int32
	for _, p := range ports {
		numbers = append(numbers, p.Port)
	}
	slices.Sort(numbers)
	return numbers
}

// checkReplay holds the journal against the difference of two snapshots.
func (m *model) checkReplay(r *rapid.T, from, to *Snapshot) {
	changes, ok := to.Since(from.Generation)
	if !ok || uint64(len(changes)) != to.Generation-from.Generation {
		r.Fatalf("from %d to %d: %d changes, %v", from.Generation, to.Generation, len(changes), ok)
	}
	named := map[int32]Aspect{}
	mentioned := map[int32]bool{}
	objects := map[objectChange]bool{}
	for i, change := range changes {
		if change.Generation != from.Generation+1+uint64(i) {
			r.Fatalf("change %d since %d is of generation %d", i, from.Generation, change.Generation)
		}
		named[change.Node] |= change.Aspects
		mentioned[change.Node] = true
		if change.Node < 0 && change.Aspects != 0 { // else it notes that room was freed, and of no node
			objects[objectChange{change.Aspects, change.Object}] = true
		}
	}
	for i := range int32(to.IndexEnd()) {
		before, after := from.Node(i), to.Node(i)
		if changed := before != after; changed != mentioned[i] && (before != nil || after != nil) {
			r.Fatalf("node %d: changed %v, in the journal %v", i, changed, mentioned[i])
		}
		if named[i]&AspectPods != 0 {
			named[i] |= AspectPodStates // a pod may have gone and come in another state
		}
		if missing := differences(before, after) &^ named[i]; missing != 0 {
			r.Fatalf("node %d differs in %s, and the journal does not say so: %s", i, missing, named[i])
		}
	}
	if (from.Objects == to.Objects) != (len(objects) == 0) {
		r.Fatalf("the journal names objects %v, and the Objects are the same: %v", objects, from.Objects == to.Objects)
	}
	for i := range m.kinds {
		for name := range different(m.kinds[i].in(from.Objects), m.kinds[i].in(to.Objects)) {
			if !objects[objectChange{m.kinds[i].aspect, name}] {
				r.Fatalf("%s %s differs, and the journal does not say so: %v", m.kinds[i].name, name, objects)
			}
		}
	}
	for name := range different(maps.Collect(from.Custom(gangs).All()), maps.Collect(to.Custom(gangs).All())) {
		if !objects[objectChange{AspectCustom, name}] {
			r.Fatalf("gang %s differs, and the journal does not say so: %v", name, objects)
		}
	}
}

// objectChange is the journal's entry about an object.
type objectChange struct {
	aspect Aspect
	name   types.NamespacedName
}

// different walks over the keys under which two maps differ.
func different[K, V comparable](a, b map[K]V) iter.Seq[K] {
	return func(yield func(K) bool) {
		for k, v := range a {
			if other, ok := b[k]; (!ok || other != v) && !yield(k) {
				return
			}
		}
		for k := range b {
			if _, ok := a[k]; !ok && !yield(k) {
				return
			}
		}
	}
}

// differences are the aspects in which two states under one index differ.
func differences(a, b *Node) Aspect {
	if a == b {
		return 0
	}
	if a == nil || b == nil || a.Name != b.Name {
		return AspectNode
	}
	var d Aspect
	note := func(aspect Aspect, same bool) {
		if !same {
			d |= aspect
		}
	}
	states := func(n, other *Node) map[types.UID]string {
		pods := map[types.UID]string{}
		for _, pod := range n.Pods {
			if slices.ContainsFunc(other.Pods, func(o *Pod) bool { return o.UID == pod.UID }) {
				pods[pod.UID] = fmt.Sprint(
					pod.Limits, pod.Annotations, ptr.Deref(pod.Spec.Priority, -1), pod.Status.QOSClass, pod.Assigned, pod.Status.Conditions,
				)
			}
		}
		return pods
	}
	seen := func(n *Node) map[types.UID]string {
		pods := map[types.UID]string{}
		for _, pod := range n.Pods {
			pods[pod.UID] = fmt.Sprint(pod.Labels, pod.DeletionTimestamp)
		}
		return pods
	}
	note(AspectAllocatable, a.Allocatable.equal(&b.Allocatable))
	note(AspectLabels, maps.Equal(a.Labels, b.Labels))
	note(AspectTaints, equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints))
	note(AspectUnschedulable, a.Spec.Unschedulable == b.Spec.Unschedulable)
	note(AspectCSI, a.CSI == b.CSI)
	note(AspectRequested, a.Requested.equal(&b.Requested) && a.NonZeroMilliCPU == b.NonZeroMilliCPU && a.NonZeroMemory == b.NonZeroMemory)
	note(AspectPorts, slices.Equal(sortedPorts(a.Ports), sortedPorts(b.Ports)))
	note(AspectPods, maps.Equal(seen(a), seen(b)))
	note(AspectPodStates, maps.Equal(states(a, b), states(b, a)))
	note(AspectAnnotations, maps.Equal(a.Annotations, b.Annotations))
	note(AspectUsage, a.Usage == b.Usage)
	note(AspectExpected, slices.Equal(a.Expected, b.Expected))
	return d
}

// fingerprint is all that a snapshot says.
func (m *model) fingerprint(s *Snapshot) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Generation, s.NodeCount(), s.IndexEnd())
	for i := range int32(s.IndexEnd()) {
		n := s.Node(i)
		if n == nil {
			continue
		}
		fmt.Fprintf(
			&b, "%d %p %+v %v %v %d %d %v %v %v\n", i, n, n.Node, n.Allocatable, n.Requested, n.NonZeroMilliCPU, n.NonZeroMemory, n.Ports, n.CSI,
			n.Usage,
		)
		for _, pod := range slices.Concat(n.Pods, n.Affine, n.Expected) {
			fmt.Fprintf(&b, "  %+v\n", *pod)
		}
	}
	for _, table := range []any{m.objectsIn(s), maps.Collect(s.Custom(gangs).All())} {
		fmt.Fprintf(&b, "%v\n", table)
	}
	return b.String()
}
