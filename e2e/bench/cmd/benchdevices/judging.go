package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// judging is a view of a cluster with devices.
type judging struct {
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	alone   *predicates.Profile // DynamicResources, and nothing else
	nodes   int
}

// newJudging is one in which half of all devices are held.
func newJudging(nodes int) (*judging, error) {
	registry := prometheus.NewRegistry()
	j := &judging{nodes: nodes, cluster: cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: math.MaxInt64,
	})}
	objects := []runtime.Object{deviceClass()}
	for i := range nodes {
		objects = append(objects, node(i), slice(i))
		for device := range devicesPerNode / 2 {
			objects = append(objects, heldBy(i, device))
		}
	}
	for _, object := range objects {
		if err := j.cluster.Set(object); err != nil {
			return nil, err
		}
	}
	profile, err := predicates.NewProfile(&config.Profile{SchedulerName: corev1.DefaultSchedulerName})
	if err != nil {
		return nil, err
	}
	alone := &config.Profile{SchedulerName: corev1.DefaultSchedulerName, Plugins: config.Plugins{
		Filter: config.PluginSet{Disabled: []config.Plugin{{Name: "*"}}, Enabled: []config.Plugin{{Name: config.DynamicResources}}},
		Score:  config.ScoreSet{Disabled: []config.Plugin{{Name: "*"}}},
	}}
	if j.alone, err = predicates.NewProfile(alone); err != nil {
		return nil, err
	}
	j.store = predicates.NewVerdictStore(profile, j.cluster, math.MaxInt64, predicates.NewStoreMetrics(registry), clock.RealClock{})
	return j, nil
}

// waiting is a pod that waits, with the claim that was made for it.
func (j *judging) waiting(name string) (*cluster.Pod, error) {
	pod, claimName := claimingPod(name), name+"-gpu"
	pod.UID = types.UID(name)
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claimName}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: claimName, Namespace: pod.Namespace, UID: types.UID(claimName),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: pod.UID, Controller: new(true)}},
	}, Spec: oneDevice()}
	if err := errors.Join(j.cluster.Set(claim), j.cluster.Set(pod)); err != nil {
		return nil, err
	}
	return j.cluster.PendingPod(pod.UID), nil
}

// measure returns how long it takes to judge a pod on all nodes by its devices, and to ask for what is remembered of all
// filters once the devices of one node have changed.
func (j *judging) measure(rounds int) (fresh, cached time.Duration, err error) {
	pod, err := j.waiting("asked")
	if err != nil {
		return 0, 0, err
	}
	view := j.store.View(pod)
	view.Close()
	var afresh, remembered []time.Duration
	for round := range rounds * 5 {
		change := heldBy(round%j.nodes, devicesPerNode/2)
		if err := j.cluster.Set(change); err != nil {
			return 0, 0, err
		}
		snap := j.cluster.Snapshot()
		began := time.Now()
		judgement, fits := j.alone.Judge(pod, snap), 0
		for node := range snap.Nodes() {
			if judgement.Verdict(node) == predicates.Fits {
				fits++
			}
		}
		afresh = append(afresh, time.Since(began))
		began = time.Now()
		view, same := j.store.View(pod), 0
		for index := range int32(j.nodes) {
			if view.Verdict(index) == predicates.Fits {
				same++
			}
		}
		view.Close()
		remembered = append(remembered, time.Since(began))
		if fits != j.nodes || same != fits {
			return 0, 0, fmt.Errorf("the pod fits %d nodes afresh and %d as remembered, of %d", fits, same, j.nodes)
		}
	}
	return figures.Quantile(afresh, 50), figures.Quantile(remembered, 50), nil
}

// measurePlan returns how long it takes to plan a gang whose pods take all devices that are free.
func measurePlan(rounds, nodes int) (time.Duration, error) {
	var took []time.Duration
	for round := range rounds {
		j, err := newJudging(nodes)
		if err != nil {
			return 0, err
		}
		var pods []*cluster.Pod
		for i := range gangOfAPlan {
			pod, err := j.waiting(fmt.Sprintf("member-%d", i))
			if err != nil {
				return 0, err
			}
			pods = append(pods, pod)
		}
		began := time.Now()
		plan := placement.New(j.store, pods, uint64(round))
		outcome := plan.PlaceAll(pods, gangOfAPlan, time.Time{})
		took = append(took, time.Since(began))
		plan.Close()
		if !outcome.Kept {
			return 0, errors.New("there is no plan for the gang")
		}
	}
	return figures.Quantile(took, 50), nil
}
