package extender

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

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

// BenchmarkNames measures reading names in the orders that kube-scheduler's workers make: one stream, two that
// interleave differently in every request, and no order at all. None is the order in which the names are known
// here.
func BenchmarkNames(b *testing.B) {
	const nodes = 5000
	extender, body := benchExtender(b, nodes, config.NodeSelectionScheduler)
	var args extenderv1.ExtenderArgs
	must(b, json.Unmarshal(body, &args))
	r := rand.New(rand.NewPCG(1, 1))
	order := r.Perm(nodes)
	for _, test := range []struct {
		name  string
		order func() []int
	}{
		{"one stream", func() []int { return order }},
		{"two streams", func() []int { return interleave(r, order) }},
		{"any order", func() []int { return r.Perm(nodes) }},
	} {
		var bodies [20][]byte
		for i := range bodies {
			var names []string
			for _, node := range test.order() {
				names = append(names, (*args.NodeNames)[node])
			}
			var err error
			bodies[i], err = json.Marshal(extenderv1.ExtenderArgs{Pod: args.Pod, NodeNames: &names})
			must(b, err)
		}
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			m := new(memory)
			for i := 0; b.Loop(); i++ {
				err := extender.decode(bodies[i%len(bodies)], &request{ctx: b.Context()}, m)
				must(b, err)
			}
		})
	}
}

// interleave lets two workers take pieces of an order in turn.
func interleave(r *rand.Rand, order []int) []int {
	const piece = 70
	var mixed []int
	var workers [2][]int
	for len(mixed) < cap(order) {
		for i := range workers {
			if len(workers[i]) == 0 {
				n := min(piece, len(order))
				workers[i], order = order[:n], order[n:]
			}
		}
		if w := &workers[r.IntN(2)]; len(*w) > 0 {
			mixed, *w = append(mixed, (*w)[0]), (*w)[1:]
		} else if len(order) == 0 {
			return append(append(mixed, workers[0]...), workers[1]...)
		}
	}
	return mixed
}

// BenchmarkVerbs measures the verbs without HTTP. `make bench-verbs` measures them
// with it, against an empty extender.
func BenchmarkVerbs(b *testing.B) {
	for _, nodes := range []int{100, 5000} {
		for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
			extender, body := benchExtender(b, nodes, selection)
			for _, verb := range extender.verbs()[:2] {
				b.Run(fmt.Sprintf("%s/%s/%d", verb.name, selection, nodes), func(b *testing.B) {
					b.ReportAllocs()
					c := new(call)
					for b.Loop() {
						c.memory.reply.Reset()
						if _, err := c.serve(b.Context(), &verb, body); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func benchExtender(b *testing.B, nodes int, selection config.NodeSelection, plugins ...string) (*Extender, []byte) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("ip-10-0-%d-%d.eu-west-1.compute.internal", i/256, i%256))
		must(b, c.Set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: names[i]},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("32"),
				corev1.ResourceMemory: resource.MustParse("128Gi"),
				corev1.ResourcePods:   resource.MustParse("110"),
			}},
		}))
		for j := range i % 20 {
			pod := servertest.Pod(fmt.Sprintf("running-%d-%d", i, j), "1")
			pod.Spec.NodeName = names[i]
			must(b, c.Set(pod))
		}
	}
	pending := servertest.Pod("pending", "1")
	yes := true
	pending.OwnerReferences = []metav1.OwnerReference{{UID: "controller", Controller: &yes}}
	must(b, c.Set(pending))
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection = selection
	for _, name := range plugins {
		added := &cfg.Profiles[0].Plugins
		added.Filter.Enabled = append(added.Filter.Enabled, config.Plugin{Name: name})
		added.Score.Enabled = append(added.Score.Enabled, config.WeightedPlugin{Name: name})
	}
	extender := newExtender(c, nil, profilesOf(b, c, cfg))
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
