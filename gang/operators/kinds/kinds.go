// Package kinds lists the controllers of others whose gangs muster knows.
package kinds

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/batchjob"
	"muster.dev/muster/gang/operators/grove"
	"muster.dev/muster/gang/operators/jobset"
	"muster.dev/muster/gang/operators/kubeflow"
	"muster.dev/muster/gang/operators/kueue"
	"muster.dev/muster/gang/operators/leaderworkerset"
	"muster.dev/muster/gang/operators/native"
	"muster.dev/muster/gang/operators/ray"
	"muster.dev/muster/gang/operators/spark"
	"muster.dev/muster/gang/operators/steps"
	"muster.dev/muster/gang/operators/volcano"
	"muster.dev/muster/gang/operators/yunikorn"
)

// Set returns all kinds that there are, and switches the named ones on.
func Set(on []config.GangKind) *operators.Set { return operators.NewSet(All(), on) }

// All returns all kinds that there are. Of two that read the same objects the later one counts.
func All() []operators.Kind {
	return []operators.Kind{
		batchjob.Kind(), batchjob.Indexed(), jobset.Kind(), leaderworkerset.Kind(), kubeflow.Kind(), kubeflow.MPI(), ray.Kind(), spark.Kind(),
		volcano.Kind(), yunikorn.Kind(), kueue.Kind(), grove.Kind(), native.Kind(), steps.Kind(),
	}
}
