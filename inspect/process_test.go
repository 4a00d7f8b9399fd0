package inspect_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/inspect"
)

func TestAProcessTellsWhatRunsSinceWhenAndWithWhichFlags(t *testing.T) {
	started := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	process := &inspect.Process{
		Name: "pequod", Version: "v1.2.3", Clock: clocktesting.NewFakePassiveClock(started.Add(90 * time.Second)), Started: started,
		Flags: map[string]string{"sails": "all", "course": "cape"},
	}
	router := inspect.Router(process.Endpoints("/readyz", "/metrics")...)
	for path, want := range map[string]string{
		"/statusz": "pequod statusz\nfor people: programs ask for JSON\n\n" +
			"Started:         2030-01-01T00:00:00Z\nUp:              1m30s\nGo version:     " +
			" " + runtime.Version() + "\nBinary version:  v1.2.3\n\nPaths\n/readyz\n/metrics\n",
		"/flagz": "pequod flagz\nfor people: programs ask for JSON\n\ncourse=cape\nsails=all\n",
		"/statusz?format=json": `{"name":"pequod","version":"v1.2.3","goVersion":"` + runtime.Version() + `","started":"2030-01-01T00:00:00Z",` +
			`"uptimeSeconds":90,"paths":["/readyz","/metrics"]}` + "\n",
		"/flagz?format=json": `{"name":"pequod","flags":{"course":"cape","sails":"all"}}` + "\n",
	} {
		got := httptest.NewRecorder()
		router.ServeHTTP(got, httptest.NewRequest(http.MethodGet, path, nil))
		if diff := cmp.Diff(want, got.Body.String()); diff != "" || got.Code != http.StatusOK {
			t.Errorf("%s answered %d (-want +got):\n%s", path, got.Code, diff)
		}
	}
}
