package cluster

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// sibling is a pod of a controller, without memory of any other pod.
func sibling(name, controller, image string) *corev1.Pod {
	text := func(s string) string { return string([]byte(s)) }
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: text("default"), UID: types.UID("uid-of-" + name),
			Labels: map[string]string{text("app"): text(controller)}, Annotations: map[string]string{text("note"): text(image)},
			OwnerReferences: []metav1.OwnerReference{{Kind: text("ReplicaSet"), UID: types.UID(controller), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: text("node"), SchedulerName: text("default-scheduler"), Priority: new(int32(7)),
			NodeSelector: map[string]string{text("a"): text("b")},
			Containers: []corev1.Container{{Name: text("main"), Image: text(image), Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
			Tolerations: []corev1.Toleration{{Key: text("k"), TolerationSeconds: new(int64(300))}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodConditionType(text("PodScheduled"))}},
		},
	}
}

func TestPodsOfAControllerShareWhatTheyAreEqualIn(t *testing.T) {
	trim := Trimming()
	kept := func(pod *corev1.Pod) *corev1.Pod {
		object, err := trim(pod)
		if err != nil {
			t.Fatal(err)
		}
		return object.(*corev1.Pod)
	}
	first := kept(sibling("first", "web", "v1"))
	second := kept(sibling("second", "web", "v1"))
	if &first.Spec.Containers[0] != &second.Spec.Containers[0] || first.Spec.Priority != second.Spec.Priority ||
		unsafe.StringData(first.Spec.NodeName) != unsafe.StringData(second.Spec.NodeName) ||
		unsafe.StringData(string(first.Status.Conditions[0].Type)) != unsafe.StringData(string(second.Status.Conditions[0].Type)) {
		t.Error("two pods of a controller share nothing")
	}
	changed := kept(sibling("changed", "web", "v2"))
	if &changed.Spec.Containers[0] == &first.Spec.Containers[0] {
		t.Error("a pod has the containers of one with another image")
	}
	if &changed.Spec.Tolerations[0] != &first.Spec.Tolerations[0] {
		t.Error("a pod with another image does not share what is equal")
	}
	if other := kept(sibling("other", "db", "v1")); &other.Spec.Containers[0] == &first.Spec.Containers[0] {
		t.Error("pods of two controllers share their containers")
	}
}

// TestTrimmingSaysWhatTrimSays has pods of few controllers come, changed at random.
func TestTrimmingSaysWhatTrimSays(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		trim := Trimming()
		var kept, want []*corev1.Pod
		for i := range rapid.IntRange(1, 20).Draw(t, "pods") {
			draw := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
			pod := sibling(fmt.Sprint("pod-", i), draw("controller", "web", "db"), draw("image", "v1", "v2"))
			switch draw("change", "none", "labels", "tolerations", "containers", "statuses", "conditions", "bare") {
			case "labels":
				pod.Labels["index"] = draw("index", "0", "1")
			case "tolerations":
				pod.Spec.Tolerations = nil
			case "containers":
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "more"})
			case "statuses":
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: pod.Spec.Containers[0].Resources.Requests}}
			case "conditions":
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Reason: draw("reason", "A", "B")})
			case "bare":
				pod.OwnerReferences = nil
			}
			plain, err := Trim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			shared, err := trim(pod)
			if err != nil {
				t.Fatal(err)
			}
			kept, want = append(kept, shared.(*corev1.Pod)), append(want, plain.(*corev1.Pod))
		}
		if diff := cmp.Diff(want, kept); diff != "" { // also where others came after
			t.Errorf("pods (-want +got):\n%s", diff)
		}
	})
}

func TestWhatWasPutLastIsKept(t *testing.T) {
	r := recent[int, int]{most: 8}
	for i := range 100 {
		r.put(i, -i)
		if kept := len(r.now) + len(r.before); kept > 8 {
			t.Fatalf("%d entries are kept, want at most 8", kept)
		}
		for last := range min(i, 4) {
			if value, kept := r.get(i - last); !kept || value != last-i {
				t.Errorf("after %d entries number %d is %d, %t", i, i-last, value, kept)
			}
		}
	}
	if _, kept := r.get(50); kept {
		t.Error("an entry is kept for ever")
	}
}

func TestPodsThatShareTheirAffinityHaveItParsedOnce(t *testing.T) {
	c := newCluster(t)
	trim := Trimming()
	show := func(name, namespace, key string) *Affinity {
		pod := sibling(name, "web", "v1")
		pod.Namespace, pod.Spec.NodeName = namespace, "n"
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{}}},
		}}
		object, err := trim(pod)
		if err == nil {
			err = c.Set(object.(*corev1.Pod))
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Snapshot().NodeByName("n").Pod(pod.UID).Affinity
	}
	if err := c.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); err != nil {
		t.Fatal(err)
	}
	first := show("first", "default", "zone")
	if second := show("second", "default", "zone"); second != first {
		t.Error("two pods that share an affinity do not share what is parsed of it")
	}
	if other := show("other", "default", "rack"); other == first || other.RequiredAnti[0].TopologyKey != "rack" {
		t.Errorf("a pod with another affinity has %+v", other)
	}
	if elsewhere := show("elsewhere", "kube-system", "zone"); elsewhere.RequiredAnti[0].Namespaces[0] != "kube-system" {
		t.Errorf("a pod of another namespace has %+v", elsewhere)
	}
	of, here := newAffinities(), sibling("here", "web", "v1")
	here.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
	}}
	there := *here
	there.Namespace = "kube-system"
	if of.of(here); of.of(&there).RequiredAnti[0].Namespaces[0] != "kube-system" {
		t.Error("two namespaces share what is parsed of one affinity, which is about the namespace of its pod")
	}
}

// BenchmarkSharing measures how long it takes to trim a pod whose controller has another one like it.
func BenchmarkSharing(b *testing.B) {
	for name, trim := range map[string]func(any) (any, error){"alone": Trim, "sharing": Trimming()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				pod := sibling("pod", "web", "v1")
				b.StartTimer()
				if _, err := trim(pod); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
