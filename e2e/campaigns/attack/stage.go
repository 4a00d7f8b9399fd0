package attack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

const strategicMerge = types.StrategicMergePatchType

// limit is for what takes seconds on an idle machine, and settling for what would follow by itself
// of an attack that succeeds.
const (
	limit    = 2 * time.Minute
	settling = 2 * time.Second
)

// eventually polls until check is content.
func eventually(ctx context.Context, what string, check func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w: %w", what, err, last)
	}
	return nil
}

// settle gives muster time to do what follows.
func settle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(settling):
		return nil
	}
}

// stage creates nodes and pods, and returns the pods by name as they are once muster sees all of it.
func (g *ground) stage(ctx context.Context, nodes []*corev1.Node, pods ...*corev1.Pod) (map[string]*corev1.Pod, error) {
	w := &workload.Cluster{Nodes: nodes}
	w.Ready()
	if err := w.CreateNodes(ctx, g.client); err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if err := eventually(ctx, "muster sees node "+node.Name, func() error {
			fits, err := g.offers(ctx, newPod(othersNamespace, "anybody", "0", scheduledBy(byHand), tolerant), node.Name)
			if err == nil && !fits[node.Name] {
				err = errors.New("it does not")
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return g.create(ctx, pods...)
}

// create creates pods, and returns them by name once muster sees them.
func (g *ground) create(ctx context.Context, pods ...*corev1.Pod) (map[string]*corev1.Pod, error) {
	created := map[string]*corev1.Pod{}
	for _, pod := range pods {
		now, err := g.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create pod %s: %w", pod.Name, err)
		}
		created[pod.Name] = now
	}
	for _, pod := range pods {
		if err := g.awaitSeen(ctx, pod); err != nil {
			return nil, err
		}
	}
	return created, nil
}

func (g *ground) awaitSeen(ctx context.Context, pod *corev1.Pod) error {
	return eventually(ctx, "muster sees pod "+pod.Name, func() error {
		at := g.muster.DebugURL() + "/debug/explain?pod=" + url.QueryEscape(pod.Namespace+"/"+pod.Name)
		if got := g.call(ctx, http.MethodGet, at, nil); got.status != http.StatusOK {
			return fmt.Errorf("it answers %s", got)
		}
		return nil
	})
}

// nodeOf is the node of a pod, "" while it waits; gone says that it is not there any more.
func (g *ground) nodeOf(ctx context.Context, pod *corev1.Pod) (node string, gone bool, err error) {
	now, err := g.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", true, nil
	case err != nil:
		return "", false, err
	}
	return now.Spec.NodeName, now.UID != pod.UID || now.DeletionTimestamp != nil, nil
}

// bound returns the names of the pods that have a node now.
func (g *ground) bound(ctx context.Context, pods ...*corev1.Pod) (names []string, err error) {
	for _, pod := range pods {
		node, _, err := g.nodeOf(ctx, pod)
		if err != nil {
			return nil, err
		}
		if node != "" {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

// awaitBound returns how long it takes until all the pods have a node, and false if that takes too long.
func (g *ground) awaitBound(ctx context.Context, pods ...*corev1.Pod) (time.Duration, bool) {
	began := time.Now()
	err := eventually(ctx, "the pods are bound", func() error {
		names, err := g.bound(ctx, pods...)
		if err == nil && len(names) < len(pods) {
			err = fmt.Errorf("%v are", names)
		}
		return err
	})
	return time.Since(began), err == nil
}

// schedulerConfig returns the output of `muster scheduler-config`, without the profile of byHand.
func (g *ground) schedulerConfig(ctx context.Context) (string, error) {
	printed, err := g.muster.SchedulerConfig(ctx)
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(printed), &config); err != nil {
		return "", fmt.Errorf("parse what muster scheduler-config prints: %w", err)
	}
	profiles, _, _ := unstructured.NestedSlice(config, "profiles")
	var kept []any
	for _, profile := range profiles {
		if profile.(map[string]any)["schedulerName"] != byHand {
			kept = append(kept, profile)
		}
	}
	config["profiles"] = kept
	changed, err := yaml.Marshal(config)
	return string(changed), err
}

// gangs returns the gangs that muster follows, by namespace/name.
func (g *ground) gangs(ctx context.Context) (map[string]muster.Gang, error) {
	return g.muster.Gangs(ctx)
}

func newNode(name, cpu string, change ...func(*corev1.Node)) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("250"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	for _, f := range change {
		f(node)
	}
	return node
}

// newNodes are nodes whose names are numbered.
func newNodes(prefix string, count int, cpu string) (nodes []*corev1.Node) {
	for i := range count {
		nodes = append(nodes, newNode(fmt.Sprintf("%s-%d", prefix, i), cpu))
	}
	return nodes
}

func newPod(namespace, name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func scheduledBy(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.SchedulerName = name }
}

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

func gated(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: name}} }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

func tolerant(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

// memberOf makes a pod a member of a group that has no object.
func memberOf(group string, minMember int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels[v1alpha1.LabelMuster] = group
		pod.Annotations[v1alpha1.AnnotationMinMember] = fmt.Sprint(minMember)
	}
}
