package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config/v1alpha2"
)

func TestPoliciesThatAreOffAreFoundByTheirNames(t *testing.T) {
	config := &v1alpha2.Rescheduler{Coalesce: v1alpha2.CoalescePolicy{Enabled: true}}
	enabled := map[string]bool{}
	for _, name := range Names() {
		p, err := Named(config, name)
		if err != nil || p.Name != name {
			t.Errorf("%s: found %s: %v", name, p.Name, err)
		}
		enabled[string(name)] = p.Enabled
	}
	if diff := cmp.Diff(map[string]bool{"MakeRoom": false, "Repair": false, "Separate": false, "Coalesce": true}, enabled); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	_, err := Named(config, "Defragment")
	if want := `policy "Defragment": want one of [MakeRoom Separate Repair Coalesce]`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
