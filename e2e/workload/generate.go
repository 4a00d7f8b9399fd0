package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/controlplane"
)

// Shape of a generated cluster.
type Shape struct {
	Nodes int
	Pods  int
	Seed  uint64
}

// Generate draws a cluster of exactly that many nodes and pods. Requests are scaled so
// that all pods together ask for about two thirds of the general nodes: nearly every
// pod fits, as long as there are fewer of them than the nodes have places.
func Generate(s Shape) *Cluster {
	r := rand.New(rand.NewPCG(s.Seed, 0))
	c := &Cluster{Nodes: drawNodes(r, s.Nodes)}
	apps := drawApplications(r, s, c.Nodes)
	scaleRequests(apps, c.Nodes)
	for i, a := range apps {
		name := fmt.Sprintf("app-%04d", i)
		if a.runsFor > 0 {
			c.Jobs = append(c.Jobs, a.job("job-"+name))
		} else {
			c.Deployments = append(c.Deployments, a.deployment(name))
		}
	}
	return c
}

func drawApplications(r *rand.Rand, s Shape, nodes []*corev1.Node) []*application {
	gpus := spareGPUs(nodes)
	var apps []*application
	for left := s.Pods; left > 0; {
		a := drawApplication(r, s.Nodes, &gpus)
		a.replicas = min(a.replicas, left)
		left -= a.replicas
		apps = append(apps, a)
	}
	return apps
}

// spareGPUs is how many GPUs applications may ask for: not all, since they come in lumps.
func spareGPUs(nodes []*corev1.Node) int {
	var total int64
	for _, n := range nodes {
		total += n.Status.Allocatable.Name(GPUResource, "").Value()
	}
	return int(total * 6 / 10)
}

// longTail draws from a log-normal distribution: half of the draws are below median,
// and a few are very much above.
func longTail(r *rand.Rand, median, spread float64) float64 {
	return median * math.Exp(spread*r.NormFloat64())
}

func (a *application) deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(a.replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       a.podSpec(corev1.RestartPolicyAlways),
			},
		},
	}
}

func (a *application) job(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(a.replicas)),
			Completions: new(int32(a.replicas)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{"app": name},
					Annotations: map[string]string{controlplane.RunsForAnnotation: a.runsFor.String()},
				},
				Spec: a.podSpec(corev1.RestartPolicyNever),
			},
		},
	}
}
