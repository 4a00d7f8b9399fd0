package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/binaries"
)

func TestEachReleaseKnowsGangsInItsOwnWay(t *testing.T) {
	for release, want := range map[binaries.Release][2]string{
		binaries.Release136: {"--feature-gates=GangScheduling=true,GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"},
		binaries.Release137: {"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"},
	} {
		if diff := cmp.Diff(want[:], NativeGangsOf(release).APIServerFlags()[:2]); diff != "" {
			t.Errorf("flags of release %s (-want +got):\n%s", release, diff)
		}
	}
}
