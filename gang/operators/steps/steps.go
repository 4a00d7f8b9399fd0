// Package steps names controllers whose pods start one by one, as one comes after the other.
package steps

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/gang/operators"
)

// Kind returns the steps of workflows. A step that is a gang has its own owner, such as a JobSet, and is one.
func Kind() operators.Kind {
	return operators.Kind{
		Steps: []schema.GroupKind{{Group: "argoproj.io", Kind: "Workflow"}, {Group: "tekton.dev", Kind: "TaskRun"}},
		Why:   "a step starts by itself; a label muster.dev/pod-group on pods makes them a gang",
	}
}
