package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// evaluation judges the input's pending pod on every node, again and again, while pods
// come and go.
type evaluation struct {
	in      *input
	trim    cache.TransformFunc
	cluster *cluster.Cluster
	pending *cluster.Pod
	inTree  *inTree
	// filters and whole are stores of the default profile, without and with its scores.
	filters, whole *predicates.VerdictStore

	// Verdicts, by node index.
	remembered, fresh []predicates.Verdict
	fits              []bool // by place in the input
}

func newEvaluation(ctx context.Context, in *input) (*evaluation, error) {
	e := &evaluation{in: in, trim: cluster.Trimming(), cluster: cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: math.MaxInt64,
	})}
	for _, node := range in.nodes {
		if err := e.set(node.DeepCopy()); err != nil {
			return nil, err
		}
	}
	for _, pod := range in.placed {
		if err := e.set(pod.DeepCopy()); err != nil {
			return nil, err
		}
	}
	e.pending = cluster.NewPod(in.pending)
	nodes := e.cluster.Snapshot().IndexEnd()
	e.remembered, e.fresh, e.fits = make([]predicates.Verdict, nodes), make([]predicates.Verdict, nodes), make([]bool, nodes)

	cfg := config.Default().Profiles[0]
	var err error
	if e.whole, err = e.store(&cfg); err != nil {
		return nil, err
	}
	cfg.Plugins.Score.Disabled = []config.Plugin{{Name: config.AllPlugins}}
	if e.filters, err = e.store(&cfg); err != nil {
		return nil, err
	}
	e.inTree, err = newInTree(ctx, in, cfg.FilterPlugins())
	return e, err
}

func (e *evaluation) store(cfg *config.Profile) (*predicates.VerdictStore, error) {
	profile, err := predicates.NewProfile(cfg)
	if err != nil {
		return nil, err
	}
	metrics := predicates.NewStoreMetrics(prometheus.NewRegistry())
	return predicates.NewVerdictStore(profile, e.cluster, math.MaxInt64, metrics, clock.RealClock{}), nil
}

// set takes an object over, as the watch does.
func (e *evaluation) set(object any) error {
	trimmed, err := e.trim(object)
	if err != nil {
		return err
	}
	return e.cluster.Set(trimmed.(runtime.Object))
}

// run measures a number of rounds. In each, a pod of another Deployment and one of the same come to
// a node and go again.
func (e *evaluation) run(ctx context.Context, rounds int) (measured, error) {
	var m measured
	other, own := e.in.one(1, "other"), e.in.one(0, "own")
	crowded := e.in.byZone[1] // one more pod of the Deployment there reaches the skew
	for round := range warmUp + rounds {
		if round == warmUp {
			m = measured{}
		}
		if err := e.visit(other, e.in.nodes[round*stride%len(e.in.nodes)], &m.other); err != nil {
			return m, err
		}
		if err := e.visit(own, crowded[round*stride%len(crowded)], &m.own); err != nil {
			return m, err
		}
		m.full = append(m.full, e.judge())
		took, err := e.judgeInTree(ctx)
		if err != nil {
			return m, err
		}
		m.inTree = append(m.inTree, took)
	}
	return m, e.weigh(other, &m)
}

const (
	// warmUp is the number of rounds that do not count, before the others.
	warmUp = 5
	// stride is from one node that changes to the next.
	stride = 37
)

// measured holds the measurements of a run.
type measured struct {
	other, own   visits
	full, inTree series // both of each round
	// bytesPerNode and allocations are of a class of the default profile, the latter of a
	// call that finds it remembered.
	bytesPerNode, allocations float64
}

// visits are the times that it took to tell the verdicts on all nodes, remembered and
// afresh, after each change that visits of a pod make.
type visits struct{ cached, full series }

// visit lets a pod come to a node and go again.
func (e *evaluation) visit(pod *corev1.Pod, node *corev1.Node, v *visits) error {
	for _, comes := range []bool{true, false} {
		if err := e.move(pod, node, comes); err != nil {
			return err
		}
		v.cached = append(v.cached, e.recall(e.filters))
		v.full = append(v.full, e.judge())
		if !slices.Equal(e.remembered, e.fresh) {
			return errors.New("remembered verdicts differ from fresh ones")
		}
	}
	return nil
}

func (e *evaluation) move(pod *corev1.Pod, node *corev1.Node, comes bool) error {
	pod = pod.DeepCopy()
	place(pod, node)
	if comes {
		return e.set(pod)
	}
	return e.cluster.Delete(pod)
}

// recall reads what a store remembers, once it is up to date. The first to ask after a
// change also has the snapshot published.
func (e *evaluation) recall(from *predicates.VerdictStore) time.Duration {
	began := time.Now()
	view := from.View(e.pending)
	defer view.Close()
	for index := range e.remembered {
		e.remembered[index] = view.Verdict(int32(index))
	}
	return time.Since(began)
}

// judge evaluates everything.
func (e *evaluation) judge() time.Duration {
	began := time.Now()
	snap := e.cluster.Snapshot()
	judgement := e.filters.Profile.Judge(e.pending, snap)
	for node := range snap.Nodes() {
		e.fresh[node.Index] = judgement.Verdict(node)
	}
	return time.Since(began)
}

// judgeInTree has kube-scheduler evaluate the cluster without visitors, and compares.
func (e *evaluation) judgeInTree(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := e.inTree.judge(ctx, e.in.pending, e.fits); err != nil {
		return 0, err
	}
	took := time.Since(began)
	snap := e.cluster.Snapshot()
	for i, node := range e.in.nodes {
		if ours := e.fresh[snap.NodeByName(node.Name).Index] == predicates.Fits; ours != e.fits[i] {
			return 0, fmt.Errorf("node %s fits: %t, says kube-scheduler; muster says %t", node.Name, e.fits[i], ours)
		}
	}
	return took, e.in.constrains(e.fits)
}

// weigh measures what does not depend on the clock.
func (e *evaluation) weigh(visitor *corev1.Pod, m *measured) error {
	e.recall(e.whole)
	const calls = 100
	var allocated uint64
	for call := range calls {
		if err := e.move(visitor, e.in.nodes[call/2], call%2 == 0); err != nil {
			return err
		}
		e.cluster.Snapshot()
		before := mallocs()
		e.recall(e.whole)
		allocated += mallocs() - before
	}
	m.allocations = float64(allocated) / calls
	m.bytesPerNode = float64(e.whole.Classes()[0].Bytes) / float64(len(e.in.nodes))
	return nil
}
