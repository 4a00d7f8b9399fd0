// Package jobset has all pods of a JobSet start together, whatever Job they are of. A TrainJob of Kubeflow Trainer makes a
// JobSet, and so do others.
package jobset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/batchjob"
)

const (
	labelSet   = "jobset.sigs.k8s.io/jobset-name"
	labelRole  = "jobset.sigs.k8s.io/replicatedjob-name"
	labelIndex = "jobset.sigs.k8s.io/job-index"

	exclusive    = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	nodeSelector = "alpha.jobset.sigs.k8s.io/node-selector"
)

// Kind returns JobSets.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindJobSet,
		Owners: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}, Kind: "JobSet",
		}},
		Label:   labelSet,
		Through: []schema.GroupKind{operators.Job},
		Asks:    asks,
		Place:   func(pod *corev1.Pod) (instance, role string) { return pod.Labels[labelIndex], pod.Labels[labelRole] },
		Dress:   dress,
	}
}

// asks counts pods. With an order of replicated jobs, the pods of one are made once the former one is ready, or
// have ended. With exclusive placement by affinity, all pods of a Job but the first are refused until that has a node.
func asks(set operators.Object) cluster.Asks {
	var asks cluster.Asks
	asks.Instances = set.Scope() == v1alpha1.ScopeJob
	asks.Apart = asks.Instances || set.Text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	alone := isExclusive(set)
	for _, job := range set.Items("spec", "replicatedJobs") {
		alone = alone || isExclusive(job.Object("template"))
		asks.Apart = asks.Apart || len(job.Items("dependsOn")) > 0
		pods := batchjob.Pods(job.Object("template", "spec"))
		if !asks.Instances {
			pods = operators.Times(job.Number(1, "replicas"), pods)
		}
		asks.Roles = append(asks.Roles, cluster.Role{Name: job.Text("name"), Min: pods, All: pods})
	}
	if asks.Apart && !asks.Instances {
		asks.Late = "makes pods of one replicated job once those of another have started (startupPolicy or dependsOn)"
	}
	if alone {
		return operators.Alone("places each Job exclusively by affinity (" + exclusive + "): its other pods are made once the first has a node")
	}
	return asks
}

func isExclusive(object operators.Object) bool {
	annotations := object.Object("metadata", "annotations")
	return annotations.Has(exclusive) && !annotations.Has(nodeSelector)
}

// dress returns the labels of a pod of a replicated job.
func dress(set operators.Object, of *operators.Template, number int32) map[string]string {
	name, role := set.Text("metadata", "name"), ""
	if len(of.Above) > 2 {
		role = of.Above[2].Text("name") // of spec.replicatedJobs
	}
	index := strconv.Itoa(int(number / max(batchjob.Pods(of.Above[len(of.Above)-1]), 1)))
	labels := batchjob.Dress(name+"-"+role+"-"+index, of, number)
	labels[labelSet], labels[labelRole], labels[labelIndex] = name, role, index
	return labels
}
