package predicates

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestAVerdictDependsOnDeclaredAspectsOnly holds every predicate and score to what it
// declares: what it says of a node, it says of any other node that is the same in the
// declared aspects.
func TestAVerdictDependsOnDeclaredAspectsOnly(t *testing.T) {
	profile, err := NewProfile(withEveryPlugin(&config.Profile{PluginConfig: []config.PluginConfig{
		{Name: config.NodeAffinity, Args: &config.NodeAffinityArgs{AddedAffinity: required(
			label("zone", corev1.NodeSelectorOpNotIn, "c"), named(corev1.NodeSelectorOpIn, "b"),
		)}},
		{Name: config.ServiceAffinity, Args: &config.ServiceAffinityArgs{AffinityLabels: []string{"zone"}}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]map[int64]bool{}
	note := func(name string, outcome int64) {
		if outcomes[name] == nil {
			outcomes[name] = map[int64]bool{}
		}
		outcomes[name][outcome] = true
	}
	every := len(profile.predicates) + len(profile.scores)
	enough := func() bool {
		for _, seen := range outcomes {
			if len(seen) < 2 {
				return false
			}
		}
		return len(outcomes) == every
	}
	seeded.Until(t, enough, func(t *rapid.T) {
		c := newCluster()
		setNode(t, c, "a")
		setNode(t, c, "b")
		setVolumes(t, c)
		for _, object := range []runtime.Object{service("x", map[string]string{"app": "x"}), gpuClass("gpu", "example.com/gpu")} {
			if err := c.Set(object); err != nil {
				t.Fatal(err)
			}
		}
		snap := c.Snapshot()
		a, b := crowd(t, snap.NodeByName("a")), crowd(t, snap.NodeByName("b"))
		pod := cluster.NewPod(drawPod(t))
		for _, predicate := range profile.predicates {
			check := predicate.For(pod, snap)
			if check == nil {
				continue
			}
			verdicts := func(a *cluster.Node) [2]Verdict {
				suppose(check, snap, a, b)
				return [2]Verdict{check.Verdict(a), check.Verdict(b)}
			}
			want, got := verdicts(a), verdicts(mixed(a, b, predicate.Aspects()))
			if got != want {
				t.Fatalf("%s reads more than %q: on a and b it says %d, and then %d", predicate.Name(), predicate.Aspects(), want, got)
			}
			checkFirstOfReasons(t, predicate.Name(), check, a, b)
			note(predicate.Name()+" filter", int64(want[0]))
			note(predicate.Name()+" filter", int64(want[1]))
		}
		for _, score := range profile.scores {
			rating := score.For(pod, snap)
			rates := func(a *cluster.Node) (rates [2]int64) {
				if rating.Alone != nil {
					return [2]int64{rating.Alone(a), rating.Alone(b)}
				}
				suppose(rating.Among, snap, a, b)
				rating.Among.Rate([]int32{a.Index, b.Index}, nil, rates[:])
				return rates
			}
			if rating.Alone == nil && rating.Among == nil {
				continue
			}
			want, got := rates(a), rates(mixed(a, b, score.Aspects()))
			if got != want {
				t.Fatalf("%s reads more than %q: it rates a and b %d, and then %d", score.Name(), score.Aspects(), want, got)
			}
			note(score.Name()+" score", want[0])
			note(score.Name()+" score", want[1])
		}
	})
	if len(outcomes) != every {
		t.Errorf("%d of %d predicates and scores were asked", len(outcomes), every)
	}
	for name, seen := range outcomes {
		if len(seen) < 2 {
			t.Errorf("%s always says the same", name)
		}
	}
}

// checkFirstOfReasons holds what a predicate tells people against what kube-scheduler is told.
func checkFirstOfReasons(t *rapid.T, name string, check Check, nodes ...*cluster.Node) {
	plural, ok := check.(Plural)
	if !ok {
		return
	}
	for _, node := range nodes {
		first := Fits
		plural.Verdicts(node, func(v Verdict) {
			if first == Fits {
				first = v
			}
		})
		if want := check.Verdict(node); first&^hopeless != want&^hopeless {
			t.Fatalf("%s says %d of %s, and of its reasons the first is %d", name, want, node.Name, first)
		}
	}
}

// suppose replaces nodes of the snapshot, if that matters to the prepared check.
func suppose(prepared any, snap *cluster.Snapshot, nodes ...*cluster.Node) {
	if digest, ok := prepared.(Digest); ok {
		digest.Update(snap, indexes(snap))
		for _, node := range nodes {
			digest.Suppose(snap, node)
		}
	}
}

// mixed is a node that has the name, the index and the given aspects of one node and all
// else of another.
func mixed(from, others *cluster.Node, aspects cluster.Aspect) *cluster.Node {
	mixed, object := *others, *others.Node
	mixed.Node, mixed.Index, object.Name = &object, from.Index, from.Name
	has := func(aspect cluster.Aspect) bool { return aspects&aspect != 0 }
	if has(cluster.AspectAllocatable) {
		object.Status.Allocatable, mixed.Allocatable = from.Status.Allocatable, from.Allocatable
	}
	if has(cluster.AspectLabels) {
		object.Labels = from.Labels
	}
	if has(cluster.AspectTaints) {
		object.Spec.Taints = from.Spec.Taints
	}
	if has(cluster.AspectUnschedulable) {
		object.Spec.Unschedulable = from.Spec.Unschedulable
	}
	if has(cluster.AspectConditions) {
		object.Status.Conditions = from.Status.Conditions
	}
	if has(cluster.AspectImages) {
		object.Status.Images = from.Status.Images
	}
	if has(cluster.AspectFeatures) {
		object.Status.DeclaredFeatures = from.Status.DeclaredFeatures
	}
	if has(cluster.AspectDevices) {
		mixed.Devices = from.Devices
	}
	if has(cluster.AspectCSI) {
		mixed.CSI = from.CSI
	}
	if has(cluster.AspectPorts) {
		mixed.Ports = from.Ports
	}
	if has(cluster.AspectRequested) {
		mixed.Requested, mixed.NonZeroMilliCPU, mixed.NonZeroMemory = from.Requested, from.NonZeroMilliCPU, from.NonZeroMemory
		// The number of pods belongs to what is requested, the pods do not.
		mixed.Pods = make([]*cluster.Pod, len(from.Pods))
	}
	if has(cluster.AspectPods) {
		mixed.Pods, mixed.Affine = from.Pods, from.Affine
	}
	return &mixed
}

// setNode draws a node of few distinct features, every aspect of the node itself included.
func setNode(t *rapid.T, c *cluster.Cluster, name string) {
	draw := func(what string, choices ...string) string {
		return rapid.SampledFrom(choices).Draw(t, what+" of "+name)
	}
	object := node(
		labelled("zone", draw("zone", "a", "b", "c")), labelled(corev1.LabelTopologyZone, draw("topology zone", "a", "b")),
		offering(
			"cpu", draw("cpu", "0", "1", "4"), "memory", draw("memory", "0", "1Gi", "8Gi"), "ephemeral-storage", draw("storage", "0", "1Gi"),
			"pods", draw("pods", "0", "2", "110"), "example.com/gpu", draw("gpus", "0", "1", "4"),
		),
		tainted("dedicated", draw("taint", "gpu", "web"), corev1.TaintEffect(draw("effect", "NoSchedule", "PreferNoSchedule"))),
	)
	object.Name = name
	object.Spec.Unschedulable = rapid.Bool().Draw(t, "cordon of "+name)
	object.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionStatus(draw("readiness", "True", "False"))},
	}
	object.Status.Images = []corev1.ContainerImage{{Names: []string{draw("image", "x:latest", "y:latest")}, SizeBytes: 500 << 20}}
	object.Status.DeclaredFeatures = []string{draw("feature", userNamespacesWithHostNetwork, restartAllContainers)}
	csi := csiNode(name, draw("driver", ebsDriver, otherDriver), rapid.Int32Range(1, 2).Draw(t, "limit of "+name))
	devices := gpus(name, rapid.IntRange(1, 3).Draw(t, "devices of "+name))
	for _, object := range []runtime.Object{object, csi, devices} {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
}

// setVolumes draws what the claims that pods have are about.
func setVolumes(t *rapid.T, c *cluster.Cluster) {
	zone := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone of a volume")
	for _, object := range append(disks(ebsDriver, "shared", "exclusive"),
		persistentVolume("pv-shared", attachedBy(ebsDriver, "vol-shared"), marked(corev1.LabelTopologyZone, zone),
			reachableFrom(label("zone", corev1.NodeSelectorOpIn, zone))),
		claim("shared", fullyBoundTo("pv-shared")), claim("exclusive", boundTo("pv-exclusive"), accessedBy(corev1.ReadWriteOncePod)),
		attachment("va", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node of a volume"), ebsDriver, "pv-shared"),
	) {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
}

// crowd draws pods onto a node.
func crowd(t *rapid.T, node *cluster.Node) *cluster.Node {
	for i := range rapid.IntRange(0, 3).Draw(t, "pods on "+node.Name) {
		placed := drawPod(t)
		placed.UID = types.UID(fmt.Sprint(node.Name, i))
		node = node.WithPod(cluster.NewPod(placed))
	}
	return node
}

func drawPod(t *rapid.T) *corev1.Pod {
	draw := func(what string, choices ...string) string {
		return rapid.SampledFrom(choices).Draw(t, what+" of a pod")
	}
	drawn := pod(
		asking(
			"cpu", draw("cpu", "0", "500m", "2"), "memory", draw("memory", "0", "512Mi", "4Gi"), "example.com/gpu", draw("gpus", "0", "2", "2"),
		),
		taking("", "", rapid.Int32Range(0, 2).Draw(t, "port of a pod")),
	)
	drawn.Labels = map[string]string{"app": draw("app", "x", "y")}
	drawn.Spec.Containers[0].Image = draw("image", "x", "y")
	drawn.Spec.NodeName = draw("node", "", "a", "b")
	if rapid.Bool().Draw(t, "user namespace of a pod") {
		inUserNamespace(drawn)
	}
	for _, volume := range []corev1.VolumeSource{claimed("shared"), claimed("exclusive"), ebs("vol-1"), ebs("vol-2")} {
		if rapid.IntRange(0, 3).Draw(t, "volumes of a pod") == 0 {
			mounting(volume)(drawn)
		}
	}
	if zone := draw("zone", "", "a", "b"); zone != "" {
		drawn.Spec.NodeSelector = map[string]string{"zone": zone}
	}
	if zone := draw("preferred zone", "", "a", "b"); zone != "" {
		preferring(preferredTerm(1, label("zone", corev1.NodeSelectorOpIn, zone)))(drawn)
	}
	if action := draw("spread", "", string(corev1.DoNotSchedule), string(corev1.ScheduleAnyway)); action != "" {
		policies := includingNodes(corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor)
		spreadBy("zone", 1, corev1.UnsatisfiableConstraintAction(action), about("x"), policies, atLeastDomains(3))(drawn)
	}
	if value := draw("toleration", "", "gpu", "web"); value != "" {
		drawn.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: value}}
	}
	if app := draw("neighbour", "", "x", "y"); app != "" {
		keepingOff(aboutPods("zone", "app", app))(drawn)
		liking(1, aboutPods("zone", "app", app))(drawn)
	}
	return drawn
}
