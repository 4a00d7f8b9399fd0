package cluster

import (
	"strings"
	"testing"
	"unique"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostPortsConflict(t *testing.T) {
	port := func(ip string, protocol corev1.Protocol, number int32) HostPort {
		return HostPort{IP: ip, Protocol: protocol, Port: number}
	}
	tests := []struct {
		name string
		a, b HostPort
		want bool
	}{
		{"the same port on all addresses conflicts", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "TCP", 80), true},
		{"the same port on the same address conflicts", port("10.0.0.1", "TCP", 80), port("10.0.0.1", "TCP", 80), true},
		{"the same port on another address does not", port("10.0.0.1", "TCP", 80), port("10.0.0.2", "TCP", 80), false},
		{"all addresses conflict with every address", port("0.0.0.0", "TCP", 80), port("10.0.0.2", "TCP", 80), true},
		{"another port does not conflict", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "TCP", 81), false},
		{"another protocol does not conflict", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "UDP", 80), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.Conflicts(test.b); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if got := test.b.Conflicts(test.a); got != test.want {
				t.Errorf("the other way round: %v, want %v", got, test.want)
			}
		})
	}
}

func TestNewPodSumsUpWhatAPodAsksFor(t *testing.T) {
	const mi, gi = 1 << 20, 1 << 30
	// amounts by name, because scalar resources have no order of their own
	type requests map[corev1.ResourceName]int64
	tests := []struct {
		name                   string
		change                 func(*corev1.Pod)
		want                   requests
		nonZeroCPU, nonZeroMem int64
	}{
		{
			name: "containers add up",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{
					container("a", "cpu", "1", "memory", "1Gi"), container("b", "cpu", "500m", "memory", "1Gi", "ephemeral-storage", "3"),
				}
			},
			want: requests{"cpu": 1500, "memory": 2 * gi, "ephemeral-storage": 3}, nonZeroCPU: 1500, nonZeroMem: 2 * gi,
		},
		{
			name: "a container that asks for nothing counts in scores only",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1", "memory", "1Gi"), container("b")}
			},
			want: requests{"cpu": 1000, "memory": gi}, nonZeroCPU: 1100, nonZeroMem: gi + 200*mi,
		},
		{
			name: "a container that asks for zero counts for zero",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "0", "memory", "0")}
			},
			want: requests{},
		},
		{
			name: "the greatest init container is the least that a pod asks for",
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{container("i", "cpu", "2", "memory", "1Mi"), container("j", "cpu", "1", "memory", "1Mi")}
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1", "memory", "1Gi")}
			},
			want: requests{"cpu": 2000, "memory": gi}, nonZeroCPU: 2000, nonZeroMem: gi,
		},
		{
			name: "a sidecar runs beside the containers and the later init containers",
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{sidecar("s", "cpu", "1", "memory", "1Gi"), container("i", "cpu", "3", "memory", "1Mi")}
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1", "memory", "1Gi")}
			},
			want: requests{"cpu": 4000, "memory": 2 * gi}, nonZeroCPU: 4000, nonZeroMem: 2 * gi,
		},
		{
			name: "overhead comes on top",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1")}
				p.Spec.Overhead = amounts("cpu", "250m", "memory", "100Mi")
			},
			want: requests{"cpu": 1250, "memory": 100 * mi}, nonZeroCPU: 1250, nonZeroMem: 300 * mi,
		},
		{
			name: "pod-level resources take the place of what the containers ask for",
			change: func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "4")}
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1", "memory", "1Gi"), container("b")}
			},
			want: requests{"cpu": 4000, "memory": gi}, nonZeroCPU: 4000, nonZeroMem: gi,
		},
		{
			name: "pod-level resources leave a default for what nobody names",
			change: func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "4")}
				p.Spec.Containers = []corev1.Container{container("a"), container("b")}
			},
			want: requests{"cpu": 4000}, nonZeroCPU: 4000, nonZeroMem: 400 * mi,
		},
		{
			name: "a resize in progress counts for the greater side",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "1", "memory", "2Gi")}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name:               "a",
					AllocatedResources: amounts("cpu", "2", "memory", "1Gi"),
					Resources:          &corev1.ResourceRequirements{Requests: amounts("cpu", "3", "memory", "1Gi")},
				}}
			},
			want: requests{"cpu": 3000, "memory": 2 * gi}, nonZeroCPU: 3000, nonZeroMem: 2 * gi,
		},
		{
			name: "a resize that can never be done counts for what there is",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "9", "memory", "1Gi")}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name:               "a",
					AllocatedResources: amounts("cpu", "2", "memory", "1Gi"),
					Resources:          &corev1.ResourceRequirements{Requests: amounts("cpu", "2", "memory", "1Gi")},
				}}
			},
			want: requests{"cpu": 2000, "memory": gi}, nonZeroCPU: 2000, nonZeroMem: gi,
		},
		{
			name: "a resize of the pod-level resources counts for the greater side",
			change: func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "1", "memory", "2Gi")}
				p.Status.AllocatedResources = amounts("cpu", "2", "memory", "1Gi")
				p.Status.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "3", "memory", "1Gi")}
			},
			want: requests{"cpu": 3000, "memory": 2 * gi}, nonZeroCPU: 3000, nonZeroMem: 2 * gi,
		},
		{
			name: "huge pages and extended resources stand under their names",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{
					container("a", "cpu", "1", "memory", "1", "hugepages-2Mi", "4Mi", "nvidia.com/gpu", "2"),
					container("b", "cpu", "1", "memory", "1", "nvidia.com/gpu", "1"),
				}
			},
			want: requests{"cpu": 2000, "memory": 2, "hugepages-2Mi": 4 * mi, "nvidia.com/gpu": 3}, nonZeroCPU: 2000, nonZeroMem: 2,
		},
		{
			name: "fractions are rounded up",
			change: func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("a", "cpu", "100u", "memory", "1500m")}
			},
			want: requests{"cpu": 1, "memory": 2}, nonZeroCPU: 1, nonZeroMem: 2,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := NewPod(podObject("p", test.change))
			got := requests{"cpu": pod.Requests.MilliCPU, "memory": pod.Requests.Memory, "ephemeral-storage": pod.Requests.EphemeralStorage}
			for _, scalar := range pod.Requests.Scalars {
				got[scalar.Name.Value()] = scalar.Amount
			}
			for name, amount := range got {
				if amount == 0 {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if pod.NonZeroMilliCPU != test.nonZeroCPU || pod.NonZeroMemory != test.nonZeroMem {
				t.Errorf("for scores %dm and %d bytes, want %dm and %d", pod.NonZeroMilliCPU, pod.NonZeroMemory, test.nonZeroCPU, test.nonZeroMem)
			}
		})
	}
}

func TestNewPodCollectsHostPorts(t *testing.T) {
	ports := func(c corev1.Container, ports ...corev1.ContainerPort) corev1.Container {
		c.Ports = ports
		return c
	}
	pod := NewPod(podObject("p", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{
			ports(container("init"), corev1.ContainerPort{HostPort: 1}),
			ports(sidecar("sidecar"), corev1.ContainerPort{HostPort: 2, Protocol: "UDP"}),
		}
		p.Spec.Containers = []corev1.Container{
			ports(container("a"), corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{HostPort: 3, HostIP: "10.0.0.1"}),
			ports(container("b"), corev1.ContainerPort{HostPort: 4}),
		}
	}))
	want := []HostPort{{"0.0.0.0", "UDP", 2}, {"10.0.0.1", "TCP", 3}, {"0.0.0.0", "TCP", 4}}
	if diff := cmp.Diff(want, pod.HostPorts); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestPodsOfOneNamespaceShareItsName(t *testing.T) {
	in := func(namespace string) string {
		return NewPod(podObject("p", func(p *corev1.Pod) { p.Namespace = strings.Clone(namespace) })).Namespace
	}
	red, redToo, blue := in("red"), in("red"), in("blue")
	if red != "red" || blue != "blue" {
		t.Errorf("namespaces are %q and %q, want red and blue", red, blue)
	}
	if unsafe.StringData(red) != unsafe.StringData(redToo) {
		t.Error("each has a copy of it")
	}
}

func TestPodsAreLabelledAlikeWhenNoSelectorCanTellThemApart(t *testing.T) {
	labelled := func(namespace string, labels map[string]string) unique.Handle[string] {
		return NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}).Labelled
	}
	one := labelled("a", map[string]string{"app": "web", "tier": "front"})
	for name, test := range map[string]struct {
		namespace string
		labels    map[string]string
		alike     bool
	}{
		"the same":          {"a", map[string]string{"tier": "front", "app": "web"}, true},
		"another namespace": {"b", map[string]string{"app": "web", "tier": "front"}, false},
		"another value":     {"a", map[string]string{"app": "db", "tier": "front"}, false},
		"values exchanged":  {"a", map[string]string{"app": "front", "tier": "web"}, false},
		"one label less":    {"a", map[string]string{"app": "web"}, false},
		"no labels":         {"a", nil, false},
	} {
		if got := labelled(test.namespace, test.labels) == one; got != test.alike {
			t.Errorf("%s: alike: %v", name, got)
		}
	}
}

func TestNewPodSumsUpWhatAPodMayUse(t *testing.T) {
	limited := func(name string, limits ...string) corev1.Container {
		c := container(name)
		c.Resources.Limits = amounts(limits...)
		return c
	}
	tests := []struct {
		name   string
		change func(*corev1.Pod)
		want   Resources
	}{
		{"nothing is said", func(*corev1.Pod) {}, Resources{}},
		{
			"containers add up, those without a limit add nothing",
			func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{limited("a", "cpu", "1", "memory", "1Ki"), limited("b", "cpu", "500m"), container("c")}
			},
			Resources{MilliCPU: 1500, Memory: 1 << 10},
		},
		{
			"the limit of the pod as a whole goes before theirs",
			func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{limited("a", "cpu", "1")}
				p.Spec.Resources = &corev1.ResourceRequirements{Limits: amounts("cpu", "4")}
			},
			Resources{MilliCPU: 4000},
		},
		{
			"overhead adds to what has a limit",
			func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{limited("a", "cpu", "1")}
				p.Spec.Overhead = amounts("cpu", "250m", "memory", "1Mi")
			},
			Resources{MilliCPU: 1250},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, NewPod(podObject("p", test.change)).Limits); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConditionOfAPodIsTrueSinceItBecameSo(t *testing.T) {
	scheduled := NewPod(podObject("p", became(corev1.PodScheduled, 10), func(p *corev1.Pod) {
		p.Status.Conditions = append(
			p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(20, 0)},
		)
	}))
	if since, is := scheduled.True(corev1.PodScheduled); !is || since.Unix() != 10 {
		t.Errorf("scheduled: %v since %v", is, since)
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady} {
		if since, is := scheduled.True(condition); is {
			t.Errorf("%s is true since %v", condition, since)
		}
	}
}
