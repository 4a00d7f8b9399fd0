package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfilesAreFoundByNameUntilTheyAreReplaced(t *testing.T) {
	named := func(name string) *VerdictStore { return &VerdictStore{Profile: &Profile{Name: name}} }
	profiles := NewProfiles(named("pack"), named("default-scheduler"))
	names := func() (all []string) {
		for _, store := range profiles.Stores() {
			all = append(all, store.Profile.Name)
		}
		return all
	}
	if diff := cmp.Diff([]string{"default-scheduler", "pack"}, names()); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
	if profiles.Of("") == nil || profiles.Of("") != profiles.Of("default-scheduler") {
		t.Error("the empty name is not that of the default scheduler")
	}
	replaced := profiles.Replaced()
	select {
	case <-replaced:
		t.Error("told of a replacement before there was one")
	default:
	}
	profiles.Replace(named("spread"))
	<-replaced
	if diff := cmp.Diff([]string{"spread"}, names()); diff != "" {
		t.Errorf("profiles after a replacement (-want +got):\n%s", diff)
	}
	if profiles.Of("pack") != nil || profiles.Of("") != nil {
		t.Error("profiles that were replaced are still found")
	}
}
