package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/admission"
)

// The URL in a file of kube-scheduler's names the profiles that it was printed for.
func TestACallTellsWhetherKubeSchedulerWasToldOfTheProfiles(t *testing.T) {
	p, _ := newOnPipes(t, surroundings{}, func(cfg *config.Configuration) { cfg.Profiles[0].Offload = true })
	call := func(path string) int {
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
		request.Header.Set("Content-Type", "application/json")
		return p.asks(fieldVerbs, request).Code
	}
	registration, err := admission.Registration(p.config.Profiles)
	if err != nil || registration == "" {
		t.Fatalf("registration %q, error %v", registration, err)
	}
	for _, step := range []struct{ path, outdated string }{
		{admission.NamePath + admission.RegisteredPath + registration + "/filter", "0"},
		{admission.NamePath + "/filter", "1"},
		{admission.NamePath + admission.RegisteredPath + registration + "/preempt", "0"},
		{"/filter", "1"},
		{admission.RegisteredPath + registration + "/filter", "0"}, // as it was printed before
		{admission.RegisteredPath + "000000000000/filter", "1"},
		{admission.RegisteredPath + registration + "/bind", "0"},
	} {
		if code := call(step.path); code == http.StatusNotFound {
			t.Errorf("%s answered %d", step.path, code)
		}
		if want := "\nmuster_scheduler_config_outdated " + step.outdated + "\n"; !strings.Contains(p.get("/metrics").Body.String(), want) {
			t.Errorf("after a call of %s there is no %q", step.path, want)
		}
	}
	if got := strings.Count(p.log.String(), "was printed for other profiles"); got != 1 {
		t.Errorf("the log tells %d times that kube-scheduler's configuration differs, want once", got)
	}
	for _, path := range []string{
		admission.RegisteredPath + registration + "/evict", admission.NamePath + "/evict", admission.NamePath + "/livez",
		admission.NamePath + admission.NamePath + "/filter",
	} {
		if code := call(path); code != http.StatusNotFound {
			t.Errorf("%s was answered %d", path, code)
		}
	}
}
