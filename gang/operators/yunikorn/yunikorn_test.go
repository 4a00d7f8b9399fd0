package yunikorn_test

import (
	"testing"

	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/yunikorn"
)

func TestPodsOfATaskGroupStartTogether(t *testing.T) {
	operatorstest.Expect(t, yunikorn.Kind(), "testdata/taskgroups.yaml", map[string]string{
		"gang-abcde": "gang-1: 4",
		"orphan":     "single: nobody says how large its task group task is (yunikorn.apache.org/task-groups)",
		"yk-driver":  "single: one pod is all that it has to start with",
		"yk-exec-1":  "spark-yk/spark-executor: 3",
	})
}
