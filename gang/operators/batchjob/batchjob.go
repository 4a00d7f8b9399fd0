// Package batchjob has the pods of a Job start together: where the Job asks for it, as most Jobs are queues of work that
// run with any number of pods; or, on request, the pods of each Job whose pods have an index and all run at once.
package batchjob

import (
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

func owners() []operators.Resource {
	return []operators.Resource{{GroupVersionResource: batchv1.SchemeGroupVersion.WithResource("jobs"), Kind: "Job", Core: true}}
}

// Kind returns Jobs that ask for it.
func Kind() operators.Kind {
	return operators.Kind{Name: config.GangKindJob, Owners: owners(), Asks: asked, Dress: dress, Makers: makers()}
}

// Indexed returns Jobs that ask for it, and those whose pods have an index and all run at once.
func Indexed() operators.Kind {
	marks := operators.Marks{Labels: []string{batchv1.JobCompletionIndexAnnotation}} // which is a label as well
	return operators.Kind{
		Name: config.GangKindIndexedJob, Owners: owners(), Marks: marks, Asks: askedOrIndexed, Dress: dress, Makers: makers(),
	}
}

// askedOrIndexed reads what a Job asks for, or has all its pods start together where it has an index for each and runs all at once.
func askedOrIndexed(job operators.Object) cluster.Asks {
	parallelism := job.Number(1, "spec", "parallelism")
	rigid := job.Text("spec", "completionMode") == string(batchv1.IndexedCompletion) &&
		job.Number(0, "spec", "completions") == parallelism
	if rigid && job.Scope() == "" {
		return operators.Whole(left(job))
	}
	return asked(job)
}

func asked(job operators.Object) cluster.Asks {
	switch job.Scope() {
	case v1alpha1.ScopeAll, v1alpha1.ScopeJob:
		return operators.Whole(left(job))
	default:
		return operators.Alone(fmt.Sprintf(
			"does not ask for it; it would with the annotation %s: %s", v1alpha1.AnnotationGangScope, v1alpha1.ScopeAll))
	}
}

// left returns how many pods a Job is to run at once now: none takes the place of one that has succeeded.
func left(job operators.Object) int32 {
	pods := Pods(job.Object("spec"))
	if !job.Has("spec", "completions") {
		return pods
	}
	return min(pods, max(job.Number(0, "spec", "completions")-job.Number(0, "status", "succeeded"), 0))
}

// Pods returns how many pods a Job runs at once, by its spec.
func Pods(spec operators.Object) int32 {
	parallelism := spec.Number(1, "parallelism")
	return min(parallelism, spec.Number(parallelism, "completions"))
}

// Dress returns the labels of a pod of a Job, by the name of that.
func Dress(name string, of *operators.Template, number int32) map[string]string {
	labels := map[string]string{batchv1.JobNameLabel: name, "job-name": name}
	if job := of.Above[len(of.Above)-1]; job.Text("completionMode") == string(batchv1.IndexedCompletion) {
		pods := max(Pods(job), 1) // of several Jobs of one template each has them
		labels[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(int(number % pods))
	}
	return labels
}

func dress(job operators.Object, of *operators.Template, number int32) map[string]string {
	return Dress(job.Text("metadata", "name"), of, number)
}

func makers() map[schema.GroupKind]func(operators.Object) operators.Object {
	return map[schema.GroupKind]func(operators.Object) operators.Object{{Group: batchv1.GroupName, Kind: "CronJob"}: next}
}

// next returns the next Job of a CronJob, which has no name of its own yet.
func next(cron operators.Object) operators.Object {
	template := cron.Object("spec", "jobTemplate")
	metadata := maps.Clone(template.Object("metadata"))
	if metadata == nil {
		metadata = operators.Object{}
	}
	for _, field := range []string{"name", "namespace", "uid"} {
		metadata[field] = cron.Object("metadata")[field]
	}
	return operators.Object{
		"apiVersion": batchv1.SchemeGroupVersion.String(), "kind": operators.Job.Kind,
		"metadata": map[string]any(metadata), "spec": template["spec"],
	}
}
