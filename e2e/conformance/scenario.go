package conformance

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/cluster"
)

// Scenario is a cluster, a profile and the pods that ask for a place. Files in testdata have it as YAML.
type Scenario struct {
	Profile Profile        `json:"profile"`
	Nodes   []*corev1.Node `json:"nodes"`
	Objects Objects        `json:"objects,omitzero"`
	// Placed pods are on one of the nodes.
	Placed []*corev1.Pod `json:"placed,omitempty"`
	// Pending pods ask for a place. A nodeName in their spec is a wish.
	Pending []*corev1.Pod `json:"pending"`
	// Nominated pods wait as well. Room is promised to each on the node that it is nominated to, which only preemption
	// looks at.
	Nominated []*corev1.Pod `json:"nominated,omitempty"`
}

// Read reads the YAML form of a scenario.
func Read(data []byte) (*Scenario, error) {
	s := &Scenario{}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return s, nil
}

func (s *Scenario) validate() error {
	if len(s.Nodes) == 0 || len(s.Pending) == 0 {
		return errors.New("there must be a node and a pending pod")
	}
	nodes := map[string]bool{}
	for _, node := range s.Nodes {
		if node.Name == "" {
			return errors.New("a node has no name")
		}
		nodes[node.Name] = true
	}
	uids := map[types.UID]bool{}
	for _, pod := range s.Placed {
		if !nodes[pod.Spec.NodeName] {
			return fmt.Errorf("pod %q is on node %q, which does not exist", pod.Name, pod.Spec.NodeName)
		}
		if pod.UID == "" || uids[pod.UID] {
			return fmt.Errorf("pod %q has UID %q, which is not its own", pod.Name, pod.UID)
		}
		uids[pod.UID] = true
	}
	return nil
}

// Profile says which plugins run, in their order.
type Profile struct {
	Filter []string      `json:"filter,omitempty"`
	Score  []ScorePlugin `json:"score,omitempty"`
	// Args are the arguments of plugins by name. Absent ones are the defaults.
	Args map[string]map[string]any `json:"args,omitempty"`
}

// ScorePlugin is a plugin that scores, and the weight of its score.
type ScorePlugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
}

// question is a part of a profile that is asked on its own.
type question struct {
	about string
	Profile
}

// questions are every plugin of the profile alone, at each extension point, and the whole profile.
func (p Profile) questions() []question {
	var questions []question
	for _, name := range p.Filter {
		questions = append(questions, question{about: name + " filter", Profile: Profile{Filter: []string{name}, Args: p.Args}})
	}
	for _, score := range p.Score {
		score.Weight = 1
		questions = append(questions, question{about: score.Name + " score", Profile: Profile{Score: []ScorePlugin{score}, Args: p.Args}})
	}
	return append(questions, question{about: "all plugins together", Profile: p})
}

// asking is the scenario with one of its pending pods and part of its profile.
func (s *Scenario) asking(profile Profile, pod int) *Scenario {
	part := *s
	part.Profile, part.Pending = profile, s.Pending[pod:pod+1]
	return &part
}

// Objects of a cluster that are neither nodes nor pods.
type Objects struct {
	Namespaces             []*corev1.Namespace             `json:"namespaces,omitempty"`
	Services               []*corev1.Service               `json:"services,omitempty"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
	DeviceClasses          []*resourcev1.DeviceClass       `json:"deviceClasses,omitempty"`
	ResourceSlices         []*resourcev1.ResourceSlice     `json:"resourceSlices,omitempty"`
	DeviceTaintRules       []*cluster.DeviceTaintRule      `json:"deviceTaintRules,omitempty"`
	ResourceClaims         []*resourcev1.ResourceClaim     `json:"resourceClaims,omitempty"`
}

// kind is the objects of one kind, and the informer that kube-scheduler's plugins read them from, if they do.
type kind struct {
	objects  []runtime.Object
	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer
}

// kinds is the one list of them.
func (o *Objects) kinds() []kind {
	type factory = informers.SharedInformerFactory
	type informer = cache.SharedIndexInformer
	return []kind{
		{plainly(o.Namespaces), func(f factory) informer { return f.Core().V1().Namespaces().Informer() }},
		{plainly(o.Services), func(f factory) informer { return f.Core().V1().Services().Informer() }},
		{plainly(o.ReplicationControllers), func(f factory) informer { return f.Core().V1().ReplicationControllers().Informer() }},
		{plainly(o.ReplicaSets), func(f factory) informer { return f.Apps().V1().ReplicaSets().Informer() }},
		{plainly(o.StatefulSets), func(f factory) informer { return f.Apps().V1().StatefulSets().Informer() }},
		{plainly(o.PersistentVolumes), func(f factory) informer { return f.Core().V1().PersistentVolumes().Informer() }},
		{plainly(o.PersistentVolumeClaims), func(f factory) informer { return f.Core().V1().PersistentVolumeClaims().Informer() }},
		{plainly(o.StorageClasses), func(f factory) informer { return f.Storage().V1().StorageClasses().Informer() }},
		{plainly(o.CSINodes), func(f factory) informer { return f.Storage().V1().CSINodes().Informer() }},
		{plainly(o.CSIDrivers), func(f factory) informer { return f.Storage().V1().CSIDrivers().Informer() }},
		{plainly(o.VolumeAttachments), func(f factory) informer { return f.Storage().V1().VolumeAttachments().Informer() }},
		{plainly(o.PodDisruptionBudgets), func(f factory) informer { return f.Policy().V1().PodDisruptionBudgets().Informer() }},
		{plainly(o.DeviceClasses), func(f factory) informer { return f.Resource().V1().DeviceClasses().Informer() }},
		{plainly(o.ResourceSlices), func(f factory) informer { return f.Resource().V1().ResourceSlices().Informer() }},
		{objects: plainly(o.DeviceTaintRules)}, // see tainted
		{plainly(o.ResourceClaims), func(f factory) informer { return f.Resource().V1().ResourceClaims().Informer() }},
	}
}

func plainly[T runtime.Object](objects []T) []runtime.Object {
	plain := make([]runtime.Object, len(objects))
	for i, object := range objects {
		plain[i] = object
	}
	return plain
}

// all are the objects of all kinds.
func (o *Objects) all() []runtime.Object {
	var all []runtime.Object
	for _, kind := range o.kinds() {
		all = append(all, kind.objects...)
	}
	return all
}

// fill puts the objects where the listers of informers that never start find them.
func (o *Objects) fill(factory informers.SharedInformerFactory) error {
	for _, kind := range o.kinds() {
		if kind.informer == nil {
			continue
		}
		indexer := kind.informer(factory).GetIndexer()
		for _, object := range kind.objects {
			if err := indexer.Add(object); err != nil {
				return err
			}
		}
	}
	return nil
}
