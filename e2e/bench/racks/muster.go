package racks

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/e2e/workload"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/topology"
	"muster.dev/muster/predicates"
)

// The labels of nodes that tell where they are.
const (
	blockKey = "example.com/block"
	rackKey  = "example.com/rack"
)

// musterConfig fills nodes, and keeps racks whole.
const musterConfig = `
apiVersion: ` + v1alpha2.APIVersion + `
kind: ` + v1alpha2.Kind + `
profiles:
  - schedulerName: default-scheduler
    nodeSelection: Muster
    equivalence: Template
    plugins:
      score:
        enabled: [{name: WholeDomains, weight: 2}, {name: NodeResourcesFit}]
        disabled: [{name: "*"}]
    pluginConfig:
      - name: WholeDomains
        args: {levels: [` + blockKey + `, ` + rackKey + `]}
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: ` + string(workload.GPUMilliResource) + `, weight: 1}]}}
`

// muster is a rule that makes real plans.
type muster struct {
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	nodes   map[string]int32 // their numbers here
	pods    map[int][]*corev1.Pod
}

func newMuster(on shape) (*muster, error) {
	cfg, err := v1alpha2.Decode([]byte(musterConfig))
	if err != nil {
		return nil, err
	}
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	m := &muster{nodes: map[string]int32{}, pods: map[int][]*corev1.Pod{}}
	m.cluster = cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	m.store = predicates.NewVerdictStore(profile, m.cluster, 1<<26, predicates.NewStoreMetrics(registry), clock.RealClock{})
	for i, n := range on.world().nodes {
		name := fmt.Sprintf("node-%04d", i)
		m.nodes[name] = int32(i)
		if err := m.cluster.Set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				blockKey: fmt.Sprint("block-", n.block), rackKey: fmt.Sprint("rack-", n.rack),
			}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourcePods: resource.MustParse("1000"), workload.GPUMilliResource: *resource.NewQuantity(n.has, resource.DecimalSI),
			}},
		}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// place implements [rule].
func (m *muster) place(_ *world, j *job, within int) ([]topology.Share, error) {
	objects := j.objects()
	pods := make([]*cluster.Pod, len(objects))
	for i, object := range objects {
		pods[i] = cluster.NewPod(object)
	}
	demand := placement.Demand{Pods: pods, AtLeast: len(pods)}
	switch within { // as with the annotations for a required rack, or a required block and a preferred rack
	case levelRack:
		demand.Network = &placement.Network{Levels: []string{rackKey}, Required: 1}
	case levelBlock:
		demand.Network = &placement.Network{Levels: []string{blockKey, rackKey}, Required: 1}
	}
	plan := placement.New(m.store, pods, uint64(j.id))
	together := plan.PlaceTogether([]placement.Demand{demand}, time.Time{})
	var shares []topology.Share
	if together.Kept {
		for i, place := range together.Enough[0].Places {
			name := plan.Snapshot().Node(place.Node).Name
			objects[i].Spec.NodeName = name
			shares = append(shares, topology.Share{Node: m.nodes[name], Pods: 1})
		}
	}
	plan.Close()
	for _, object := range objects {
		if object.Spec.NodeName == "" {
			continue
		}
		if err := m.cluster.Set(object); err != nil {
			return nil, err
		}
	}
	m.pods[j.id] = objects
	return shares, nil
}

// ended implements [rule].
func (m *muster) ended(j *job) error {
	for _, object := range m.pods[j.id] {
		if err := m.cluster.Delete(object); err != nil {
			return err
		}
	}
	delete(m.pods, j.id)
	return nil
}

// objects returns the pods of a job.
func (j *job) objects() (pods []*corev1.Pod) {
	gpu, name := *resource.NewQuantity(j.gpu, resource.DecimalSI), fmt.Sprint("job-", j.id)
	owner := &metav1.ObjectMeta{Name: name, UID: types.UID(name)}
	for i := range j.pods {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: workload.Namespace, Name: fmt.Sprint(name, "-", i), UID: types.UID(fmt.Sprint(name, "-", i)),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{workload.GPUMilliResource: gpu}, Limits: corev1.ResourceList{workload.GPUMilliResource: gpu},
			}}}},
		})
	}
	return pods
}
