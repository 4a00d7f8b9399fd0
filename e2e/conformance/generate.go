package conformance

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"

	"muster.dev/muster/api/config"
)

// Sizes of a scenario: small, so that there are many and every one has other arguments.
const (
	mostNodes   = 16
	mostPlaced  = 48
	pendingPods = 16
)

// One scenario in this number is larger. It has the cases of some dozen others.
const (
	seldom          = 200
	mostNodesSeldom = 500
)

// Generate draws a scenario. The same seed draws the same one.
func Generate(seed uint64) *Scenario {
	s := newSource(seed)
	scenario := &Scenario{Profile: s.profile(compared())}
	nodes := 1 + s.upTo(mostNodes-1)
	if s.large = s.upTo(seldom-1) == 0; s.large {
		nodes += s.upTo(mostNodesSeldom - mostNodes)
	}
	for i := range nodes {
		scenario.Nodes = append(scenario.Nodes, s.node(nodeName(i)))
	}
	scenario.Objects = s.objects()
	for i := range s.upTo(max(mostPlaced, nodes)) {
		scenario.Placed = append(scenario.Placed, s.placed(fmt.Sprintf("placed-%d", i), one(s, scenario.Nodes...).Name))
	}
	for i := range pendingPods {
		pod := s.pod(fmt.Sprintf("pending-%d", i))
		pod.Status.Phase = corev1.PodPending
		s.nominate(pod)
		s.overask(pod)
		scenario.Pending = append(scenario.Pending, pod)
	}
	return scenario
}

// profile draws some or most of the plugins.
func (s *source) profile(of []plugin) Profile {
	profile := Profile{Args: map[string]map[string]any{}}
	often := one(s, 15, 40, 90)
	for _, known := range config.KnownPlugins() {
		if !slices.ContainsFunc(of, func(plugin plugin) bool { return plugin.name == known.Name }) {
			continue
		}
		if known.Filter != config.Never && s.chance(often) {
			profile.Filter = append(profile.Filter, known.Name)
		}
		if known.Score != config.Never && s.chance(often) {
			profile.Score = append(profile.Score, ScorePlugin{Name: known.Name, Weight: one(s, int32(1), 1, 2, 7, 100)})
		}
	}
	for _, plugin := range of {
		if plugin.args != nil && (plugin.required || s.chance(60)) {
			profile.Args[plugin.name] = plugin.args(s)
		}
	}
	return profile
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (s *source) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	labelNode(s, node)
	for _, plugin := range plugins() {
		if plugin.node != nil {
			plugin.node(s, node)
		}
	}
	return node
}

func (s *source) objects() Objects {
	var objects Objects
	namespaces(s, &objects)
	selectPods(s, &objects)
	for _, plugin := range plugins() {
		if plugin.objects != nil {
			plugin.objects(s, &objects)
		}
	}
	return objects
}

// pod draws a pod as the API server would store it, or now and then one of a dump that was written by hand.
func (s *source) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: s.meta(name)}
	pod.UID, pod.Labels = types.UID(name), s.labels(3, podLabels())
	employ(s, pod)
	s.contain(pod)
	for _, plugin := range plugins() {
		if plugin.pod != nil {
			plugin.pod(s, pod)
		}
	}
	if s.chance(90) {
		corev1defaults.SetObjectDefaults_Pod(pod)
	}
	return pod
}

// contain gives a pod its containers.
func (s *source) contain(pod *corev1.Pod) {
	for i := range 1 + s.upTo(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprintf("main-%d", i)})
	}
	if !s.chance(40) {
		return
	}
	for i := range 1 + s.upTo(2) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
			Name: fmt.Sprintf("init-%d", i), RestartPolicy: maybe(s, 60,
				corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure),
		})
	}
}

// placed draws a pod on a node. It may be finished, or on its way to be deleted.
func (s *source) placed(name, node string) *corev1.Pod {
	pod := s.pod(name)
	pod.Spec.NodeName = node
	pod.Status.Phase = one(
		s, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed,
	)
	if s.chance(10) {
		terminate(pod)
	}
	s.nominate(pod)
	s.debug(pod)
	for _, plugin := range plugins() {
		if plugin.placed != nil {
			plugin.placed(s, pod)
		}
	}
	return pod
}

// nominate nominates some pods to a node. Pods that were bound since keep that in their status for a while.
func (s *source) nominate(pod *corev1.Pod) {
	if s.chance(15) {
		pod.Status.NominatedNodeName = one(s, nodeName(0), nodeName(1), nodeName(2), "nowhere")
	}
}

// debug adds ephemeral containers to some pods, which take nothing that counts, also where they say so.
func (s *source) debug(pod *corev1.Pod) {
	if !s.chance(15) {
		return
	}
	common := corev1.EphemeralContainerCommon{Name: "debugger", Image: one(s, podImages()...)}
	if s.chance(50) {
		common.Resources = s.requirements()
		common.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: common})
}

func terminate(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}
}

// containers are all containers of a pod, init containers included.
func containers(pod *corev1.Pod) []*corev1.Container {
	var all []*corev1.Container
	for i := range pod.Spec.InitContainers {
		all = append(all, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}
