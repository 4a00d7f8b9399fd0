package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

func TestANodeIsToldWithAllThatCountsOnIt(t *testing.T) {
	b := newFullBench(t)
	b.Node("gpus", "8", func(node *corev1.Node) {
		node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
		node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "training", Effect: corev1.TaintEffectNoSchedule}}
	})
	trainer := servertest.Pod("trainer", "2")
	trainer.Spec.NodeName, trainer.Spec.Priority = "gpus", new(int32(7))
	trainer.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("3")
	if err := b.Cluster.Set(trainer); err != nil {
		t.Fatal(err)
	}
	assumed := b.Cluster.PendingPod(servertest.Pod("p", "1").UID)
	if err := b.Cluster.AssumeAll([]*cluster.Pod{assumed}, b.Cluster.Snapshot().NodeByName("gpus")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Cluster.Release(assumed.UID) })
	get := func(node string) (page nodePage) {
		t.Helper()
		_, body := b.Get("/debug/nodes/" + node + "?format=json")
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return page
	}
	got := get("gpus")
	want := nodePage{
		nodeRow: nodeRow{
			Node:        "gpus",
			Allocatable: amounts{CPU: 8000, Memory: 64 << 30, Pods: 110, Extended: map[string]int64{"nvidia.com/gpu": 8}},
			Requested:   amounts{CPU: 3000, Pods: 2, Extended: map[string]int64{"nvidia.com/gpu": 3}},
		},
		Taints: []string{"dedicated=training:NoSchedule"},
		Pods: []podOnNode{
			{Pod: "default/p", Requested: amounts{CPU: 1000}, As: "assumed"},
			{Pod: "default/trainer", As: "bound", Priority: 7, Requested: amounts{CPU: 2000, Extended: map[string]int64{"nvidia.com/gpu": 3}}},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(nodePage{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Node("gpus", "8") // whose device plugin is gone
	if gone := get("gpus"); gone.Allocatable.Extended["nvidia.com/gpu"] != 0 || gone.Requested.Extended["nvidia.com/gpu"] != 3 {
		t.Errorf("a node without its GPUs offers %v, and %v is requested", gone.Allocatable.Extended, gone.Requested.Extended)
	}
	if kept := get("n2").Pods; len(kept) != 1 || kept[0].As != "reserved" {
		t.Errorf("on n2, where a plan keeps room, are %+v", kept)
	}
	if _, text := b.Get("/debug/nodes/gpus"); !strings.Contains(text, "nvidia.com/gpu=3/0") || !strings.Contains(text, "assumed") {
		t.Errorf("as text:\n%s", text)
	}
	if status, text := b.Get("/debug/nodes/nowhere"); status != http.StatusNotFound || !strings.Contains(text, `no node "nowhere"`) {
		t.Errorf("a node that is not there: %d %s", status, text)
	}
}
