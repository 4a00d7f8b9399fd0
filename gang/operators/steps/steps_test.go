package steps_test

import (
	"testing"

	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/steps"
)

func TestAStepStartsByItself(t *testing.T) {
	operatorstest.Expect(t, steps.Kind(), "testdata/steps.yaml", map[string]string{
		"build-pod":     "single: its TaskRun build: a step starts by itself; a label muster.dev/pod-group on pods makes them a gang",
		"flow-main-123": "single: its Workflow flow: a step starts by itself; a label muster.dev/pod-group on pods makes them a gang",
	})
}
