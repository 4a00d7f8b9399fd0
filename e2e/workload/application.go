package workload

import (
	"math"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// application makes a Deployment or a Job. CPU and memory are relative until scaleRequests has set
// them.
type application struct {
	replicas int
	// runsFor is positive for a Job.
	runsFor time.Duration

	milliCPU  float64
	memoryMiB float64
	gpus      int

	zones    []string
	prefers  string
	pool     string
	hostPort int32
	sidecar  bool
	init     bool
}

// Limits of one pod's requests: what a production cluster's users ask for, and less
// than half of the smallest node, so that nearly everything finds room.
const (
	minMilliCPU, maxMilliCPU   = 10, 7000
	minMemoryMiB, maxMemoryMiB = 16, 28 << 10

	sidecarMilliCPU  = 50
	sidecarMemoryMiB = 64

	// utilization is the part of the general nodes that the pods together ask for.
	utilization = 0.65
	// cpuPerMemory of the general nodes: 4 GiB for each core.
	memoryMiBPerMilliCPU = 4096.0 / 1000
)

func drawApplication(r *rand.Rand, nodes int, gpus *int) *application {
	a := &application{
		replicas: int(math.Ceil(longTail(r, 3, 1.3))),
		milliCPU: longTail(r, 1, 1),
		sidecar:  r.IntN(100) < 15,
		init:     r.IntN(100) < 10,
	}
	a.memoryMiB = a.milliCPU * longTail(r, 0.5*memoryMiBPerMilliCPU, 0.6)
	if r.IntN(100) < 30 {
		a.runsFor = time.Duration(longTail(r, 60, 0.7) * float64(time.Second)).Round(time.Second)
	}
	switch kind := r.IntN(100); {
	case kind < 5:
		a.askForGPUs(r, gpus)
	case kind < 10:
		a.pool = PoolMemory
		a.replicas = min(a.replicas, max(1, nodes/20))
		a.memoryMiB = a.milliCPU * 2 * memoryMiBPerMilliCPU
	case kind < 20:
		a.zones = []string{zones[r.IntN(len(zones))].name, zones[r.IntN(len(zones))].name}
	case kind < 28:
		a.prefers = zones[r.IntN(len(zones))].name
	case kind < 31:
		a.hostPort = 9000 + r.Int32N(100)
		a.replicas = min(a.replicas, max(1, nodes/10))
	}
	return a
}

// askForGPUs takes GPUs as long as there are some to spare.
func (a *application) askForGPUs(r *rand.Rand, spare *int) {
	a.gpus = 1 << r.IntN(4)
	a.replicas = min(a.replicas, *spare/a.gpus)
	if a.replicas == 0 {
		a.replicas, a.gpus = 1, 0
		return
	}
	*spare -= a.replicas * a.gpus
	a.pool = PoolGPU
}

// scaleRequests turns relative requests into absolute ones.
func scaleRequests(apps []*application, nodes []*corev1.Node) {
	var coresMilli, cpu float64
	for _, n := range nodes {
		if n.Labels[PoolLabel] == PoolGeneral {
			coresMilli += float64(n.Status.Allocatable.Cpu().MilliValue())
		}
	}
	for _, a := range apps {
		cpu += float64(a.replicas) * a.milliCPU
	}
	scale := utilization * coresMilli / cpu
	for _, a := range apps {
		a.milliCPU = round(a.milliCPU*scale, minMilliCPU, maxMilliCPU)
		a.memoryMiB = round(a.memoryMiB*scale, minMemoryMiB, maxMemoryMiB)
	}
}

// round keeps two significant digits, as people do.
func round(x, low, high float64) float64 {
	x = min(max(x, low), high)
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

func (a *application) podSpec(restart corev1.RestartPolicy) corev1.PodSpec {
	main := container("main", a.milliCPU, a.memoryMiB)
	if a.gpus > 0 {
		gpus := *resource.NewQuantity(int64(a.gpus), resource.DecimalSI)
		main.Resources.Requests[GPUResource] = gpus
		main.Resources.Limits = corev1.ResourceList{GPUResource: gpus}
	}
	if a.hostPort > 0 {
		main.Ports = []corev1.ContainerPort{{ContainerPort: a.hostPort, HostPort: a.hostPort, Protocol: corev1.ProtocolTCP}}
	}
	spec := corev1.PodSpec{
		RestartPolicy:                 restart,
		TerminationGracePeriodSeconds: new(int64(0)),
		Containers:                    []corev1.Container{main},
		Affinity:                      a.affinity(),
	}
	if a.sidecar {
		proxy := container("proxy", sidecarMilliCPU, sidecarMemoryMiB)
		proxy.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		spec.InitContainers = append(spec.InitContainers, proxy)
	}
	if a.init {
		spec.InitContainers = append(spec.InitContainers, container("migrate", a.milliCPU/2, a.memoryMiB/2))
	}
	if a.pool != "" {
		spec.NodeSelector = map[string]string{PoolLabel: a.pool}
	}
	if a.pool == PoolGPU {
		spec.Tolerations = []corev1.Toleration{{Key: GPUTaint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	return spec
}

func (a *application) affinity() *corev1.Affinity {
	inZones := func(names ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: names,
		}}}
	}
	switch {
	case len(a.zones) > 0:
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{inZones(a.zones...)},
			},
		}}
	case a.prefers != "":
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 50, Preference: inZones(a.prefers)},
			},
		}}
	}
	return nil
}

func container(name string, milliCPU, memoryMiB float64) corev1.Container {
	return corev1.Container{
		Name:  name,
		Image: "example.com/" + name,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(milliCPU), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(memoryMiB)<<20, resource.BinarySI),
		}},
	}
}
