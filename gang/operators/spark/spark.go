// Package spark has the executors of a SparkApplication start together. Its driver makes them, and runs before.
package spark

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	labelName  = "sparkoperator.k8s.io/app-name"
	labelRole  = "spark-role"
	maxPending = "spark.kubernetes.allocation.maxPendingPods"
	executor   = "executor"
	driver     = "driver"
)

// Kind returns SparkApplications, and applications of spark-submit.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindSpark,
		Owners: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"},
			Kind:                 "SparkApplication",
		}},
		Through: []schema.GroupKind{operators.Pod},
		Marks:   operators.Marks{Labels: []string{labelName}},
		Asks:    asks,
		Place:   operators.Labelled(labelRole),
		Alone:   alone,
	}
}

// asks counts the executors that there are from the beginning on. Spark makes them in batches. Up to 3.2 it waits until one
// batch runs before it makes the next.
func asks(application operators.Object) cluster.Asks {
	spec := application.Object("spec")
	executors := spec.Number(1, executor, "instances")
	if scales := spec.Object("dynamicAllocation"); scales.True("enabled") {
		executors = scales.Number(scales.Number(0, "minExecutors"), "initialExecutors")
	}
	if !makesAll(spec.Text("sparkVersion")) {
		return operators.Alone("is of Spark before 3.3, which makes more executors once others run")
	}
	if text := spec.Text("sparkConf", maxPending); text != "" {
		if most, err := strconv.Atoi(text); err != nil || most < int(executors) {
			return operators.Alone("makes no more executors while " + text + " wait (" + maxPending + ")")
		}
	}
	return cluster.Asks{Apart: true, Roles: []cluster.Role{
		{Name: driver, Min: 1, All: 1}, {Name: executor, Min: executors, All: executors},
	}}
}

// makesAll reports whether a version of Spark makes all executors though none of them runs.
func makesAll(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (major > 3 || major == 3 && minor >= 3)
}

// alone says why pods of an application without an object start one by one.
func alone(pod *corev1.Pod) string {
	switch pod.Labels[labelRole] {
	case driver:
		return "a driver of Spark runs before its executors are made"
	case executor:
		return "no SparkApplication says how many executors there are"
	}
	return ""
}
