package core

import "testing"

func TestEveryCodeOfAStageAndAStepHasAName(t *testing.T) {
	for s := range stages {
		if s.String() == "" {
			t.Errorf("stage %d has no name", s)
		}
	}
	for k := range kinds {
		if kindNames[k] == "" {
			t.Errorf("step %d has no name", k)
		}
	}
}
