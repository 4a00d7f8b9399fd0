package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/workload"
)

// profiles are the scheduler names of muster's two ways to choose.
const (
	profileScheduler = "default-scheduler"
	profileExtender  = "extender"
)

// input is a seeded cluster with three pods a node, and the calls about it.
type input struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func newInput(nodes int) *input {
	r := rand.New(rand.NewPCG(1, 2))
	in := &input{nodes: workload.Generate(workload.Shape{Nodes: nodes, Seed: 1}).Nodes}
	for i := range 3 * nodes {
		pod := newPod(fmt.Sprintf("running-%d", i), profileScheduler, int64(100+r.IntN(400)))
		pod.Spec.NodeName = in.nodes[r.IntN(nodes)].Name
		pod.Status.Phase = corev1.PodRunning
		in.pods = append(in.pods, pod)
	}
	in.pods = append(in.pods, pendingPod(profileScheduler), pendingPod(profileExtender))
	r.Shuffle(len(in.nodes), func(i, j int) { in.nodes[i], in.nodes[j] = in.nodes[j], in.nodes[i] })
	return in
}

func pendingPod(profile string) *corev1.Pod {
	pod := newPod("pending-"+profile, profile, 250)
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
	return pod
}

func newPod(name, profile string, milliCPU int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       "default",
			UID:             types.UID("uid-" + name),
			ResourceVersion: "1",
			Labels:          map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f8c7b9", UID: "uid-of-web", Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{
			SchedulerName: profile,
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example/web:1.2.3",
				Env: []corev1.EnvVar{{Name: "PORT", Value: "8080"}, {Name: "MODE", Value: "production"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
					corev1.ResourceMemory: resource.MustParse("512Mi"),
				}},
			}},
		},
	}
}

// writeDump writes the cluster as kubectl would: nodes by name. Calls name them in an
// order of their own.
func (in *input) writeDump(path string) error {
	byName := slices.SortedFunc(slices.Values(in.nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return lab.WriteDump(path, byName, in.pods)
}

// body returns a call about a leading part of the nodes, for each profile.
func (in *input) body(size int) (map[string][]byte, error) {
	names := make([]string, size)
	for i := range names {
		names[i] = in.nodes[i].Name
	}
	bodies := map[string][]byte{}
	for _, profile := range []string{profileScheduler, profileExtender} {
		at := slices.IndexFunc(in.pods, func(p *corev1.Pod) bool { return p.Name == "pending-"+profile })
		var err error
		if bodies[profile], err = json.Marshal(extenderv1.ExtenderArgs{Pod: in.pods[at], NodeNames: &names}); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}
