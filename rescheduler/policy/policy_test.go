package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
)

func TestPoliciesThatAreOffAreFoundByTheirNames(t *testing.T) {
	cfg := &config.Rescheduler{Coalesce: config.CoalescePolicy{Enabled: true}}
	enabled := map[string]bool{}
	for _, name := range Names() {
		p, err := Named(cfg, Measured{}, name)
		if err != nil || p.Name != name {
			t.Errorf("%s: found %s: %v", name, p.Name, err)
		}
		enabled[string(name)] = p.Enabled
	}
	want := map[string]bool{
		"MakeRoom": false, "Repair": false, "Separate": false, "Coalesce": true, "FreeDomains": false, "Relieve": false, "Balance": false,
		"Respread": false,
	}
	if diff := cmp.Diff(want, enabled); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	_, err := Named(cfg, Measured{}, "Defragment")
	const all = `policy "Defragment": want one of [MakeRoom Separate Repair Relieve Balance Respread FreeDomains Coalesce]`
	if err == nil || err.Error() != all {
		t.Errorf("the error is %v, want %s", err, all)
	}
}
