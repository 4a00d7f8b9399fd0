// Package kubeflow has all pods of a job of Kubeflow's training operator start together, and of an MPIJob.
package kubeflow

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	apiGroup  = "kubeflow.org"
	labelJob  = "training.kubeflow.org/job-name"
	labelRole = "training.kubeflow.org/replica-type"
)

// job is a kind of jobs of the training operator, and the field that has its roles.
type job struct{ kind, resource, roles string }

// Kind returns the jobs of the training operator. How many of their pods must run is runPolicy.schedulingPolicy.minAvailable,
// and all of them where that says nothing.
func Kind() operators.Kind {
	kind := operators.Kind{Name: config.GangKindKubeflow, Place: place, Label: labelJob, Dress: dress}
	fields := map[string]string{}
	for _, one := range []job{
		{"PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs"},
		{"TFJob", "tfjobs", "tfReplicaSpecs"},
		{"XGBoostJob", "xgboostjobs", "xgbReplicaSpecs"},
		{"PaddleJob", "paddlejobs", "paddleReplicaSpecs"},
		{"JAXJob", "jaxjobs", "jaxReplicaSpecs"},
	} {
		fields[one.kind] = one.roles
		kind.Owners = append(kind.Owners, resource("v1", one))
	}
	kind.Asks = func(job operators.Object) cluster.Asks {
		spec := job.Object("spec")
		asks := roles(spec.Object(fields[job.Text("kind")]))
		if spec.Has("elasticPolicy", "minReplicas") {
			return elastic(asks, spec.Number(1, "elasticPolicy", "minReplicas"))
		}
		return atLeast(asks, spec)
	}
	return kind
}

// MPI returns MPIJobs, of the MPI operator and of the training operator. Their launcher and their workers start together.
// With launcherCreationPolicy: WaitForWorkersReady the launcher is made when the workers are ready, and none of them waits
// for it.
func MPI() operators.Kind {
	one := job{"MPIJob", "mpijobs", "mpiReplicaSpecs"}
	return operators.Kind{
		Name: config.GangKindMPIJob, Owners: []operators.Resource{resource("v2beta1", one, "v1")}, Through: []schema.GroupKind{operators.Job},
		Place: place, Label: labelJob, Dress: dress,
		Asks: func(job operators.Object) cluster.Asks {
			spec := job.Object("spec")
			asks := atLeast(roles(spec.Object(one.roles)), spec)
			if workers := spec.Number(1, one.roles, "Worker", "replicas"); spec.Text("launcherCreationPolicy") == "WaitForWorkersReady" {
				total := total(asks)
				return cluster.Asks{
					Roles: []cluster.Role{{Min: min(total.Min, workers), All: total.All}},
					Late:  "makes its launcher once the workers are ready (launcherCreationPolicy)",
				}
			}
			return asks
		},
	}
}

func resource(version string, of job, older ...string) operators.Resource {
	return operators.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: apiGroup, Version: version, Resource: of.resource}, Kind: of.kind, Older: older,
	}
}

func place(pod *corev1.Pod) (instance, role string) { return "", pod.Labels[labelRole] }

// dress returns the labels of a pod of a role, whose template is under the name of that.
func dress(job operators.Object, of *operators.Template, _ int32) map[string]string {
	path := strings.Split(of.Path, ".")
	return map[string]string{labelJob: job.Text("metadata", "name"), labelRole: operators.Lower(path[max(len(path)-2, 0)])}
}

// roles returns all pods of a job, by what the job calls them.
func roles(specs operators.Object) (asks cluster.Asks) {
	for _, name := range operators.Names(specs) {
		pods := specs.Number(1, name, "replicas")
		asks.Roles = append(asks.Roles, cluster.Role{Name: operators.Lower(name), Min: pods, All: pods})
	}
	return asks
}

func total(asks cluster.Asks) (sum cluster.Role) {
	for _, role := range asks.Roles {
		sum.Min, sum.All = operators.Sum(sum.Min, role.Min), operators.Sum(sum.All, role.All)
	}
	return sum
}

// atLeast returns what is asked for with schedulingPolicy.minAvailable, which counts pods of any role.
func atLeast(asks cluster.Asks, spec operators.Object) cluster.Asks {
	sum := total(asks)
	least := spec.Number(sum.Min, "runPolicy", "schedulingPolicy", "minAvailable")
	return cluster.Asks{Roles: []cluster.Role{{Min: min(least, sum.All), All: sum.All}}}
}

// elastic returns what is asked for where a number of workers does to begin with.
func elastic(asks cluster.Asks, workers int32) cluster.Asks {
	for i := range asks.Roles {
		if role := &asks.Roles[i]; role.Name == "worker" {
			role.Min = min(role.Min, workers)
		}
	}
	return asks
}
