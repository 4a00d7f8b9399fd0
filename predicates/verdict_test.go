package predicates

import (
	"testing"

	"muster.dev/muster/cluster"
)

func TestEveryVerdictHasAReasonOfItsOwn(t *testing.T) {
	pod := cluster.NewPod(pod())
	codes := map[string]Verdict{}
	for code := Fits; code <= unknownNode; code++ {
		reason := new(Profile).Reason(code, pod)
		if (reason == "") != (code == Fits) {
			t.Errorf("the reason of %d is %q", code, reason)
		}
		if other, taken := codes[reason]; taken {
			t.Errorf("%d and %d have the reason %q", other, code, reason)
		}
		codes[reason] = code
		if hopeless := new(Profile).Reason(code|hopeless, pod); hopeless != reason {
			t.Errorf("%q becomes %q where eviction does not help", reason, hopeless)
		}
	}
}
