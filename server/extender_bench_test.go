package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// BenchmarkNames measures reading names in orders that kube-scheduler's workers make:
// one stream, several interleaved, and none at all.
func BenchmarkNames(b *testing.B) {
	const nodes = 5000
	extender, body := benchExtender(b, nodes, v1alpha2.NodeSelectionScheduler)
	var args extenderv1.ExtenderArgs
	must(b, json.Unmarshal(body, &args))
	inOrder := *args.NodeNames
	shuffled := rand.New(rand.NewPCG(1, 1)).Perm(nodes)
	for name, at := range map[string]func(i int) int{
		"one stream":   func(i int) int { return i },
		"four streams": func(i int) int { return i%4*(nodes/4) + i/4 },
		"any order":    func(i int) int { return shuffled[i] },
	} {
		names := make([]string, nodes)
		for i := range names {
			names[i] = inOrder[at(i)]
		}
		args.NodeNames = &names
		body, err := json.Marshal(args)
		must(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := &call{ctx: b.Context(), body: body}
			for b.Loop() {
				must(b, extender.read(c))
			}
		})
	}
}

// BenchmarkVerbs measures the verbs without HTTP. `make bench-verbs` measures them
// with it, against an empty extender.
func BenchmarkVerbs(b *testing.B) {
	for _, nodes := range []int{100, 5000} {
		for _, selection := range []v1alpha2.NodeSelection{v1alpha2.NodeSelectionScheduler, v1alpha2.NodeSelectionExtender} {
			extender, body := benchExtender(b, nodes, selection)
			for _, verb := range extender.verbs()[:2] {
				b.Run(fmt.Sprintf("%s/%s/%d", verb.name, selection, nodes), func(b *testing.B) {
					b.ReportAllocs()
					c := &call{ctx: b.Context(), body: body}
					for b.Loop() {
						c.reply.Reset()
						if err := verb.serve(c); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func benchExtender(b *testing.B, nodes int, selection v1alpha2.NodeSelection) (*Extender, []byte) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("ip-10-0-%d-%d.eu-west-1.compute.internal", i/256, i%256))
		must(b, c.Set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: names[i]},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110"),
			}},
		}))
		for j := range i % 20 {
			pod := newPod(fmt.Sprintf("running-%d-%d", i, j), "1")
			pod.Spec.NodeName = names[i]
			must(b, c.Set(pod))
		}
	}
	pending := newPod("pending", "1")
	yes := true
	pending.OwnerReferences = []metav1.OwnerReference{{UID: "controller", Controller: &yes}}
	must(b, c.Set(pending))
	config := v1alpha2.Default()
	config.Profiles[0].NodeSelection = selection
	extender, err := newExtender(log, c, nil, config, predicates.NewStoreMetrics(prometheus.NewRegistry()))
	must(b, err)
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pending, NodeNames: &names})
	must(b, err)
	return extender, body
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
