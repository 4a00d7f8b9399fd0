package muster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answering is a server with one page.
func answering(t *testing.T, path, text string) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &Server{debug: strings.TrimPrefix(server.URL, "http://")}
}

func TestInFlightReadsOneTableOfThePage(t *testing.T) {
	const head = `pods by stage, and nominations by what became of them

standing  2

confirmed  7

`
	for name, test := range map[string]struct {
		page string
		want map[string]bool
	}{
		"two pods": {
			page: head + `IN FLIGHT      NODE    STAGE     AGE  ATTEMPT
default/pod-1  node-1  standing  3ms  1
other/pod-2    node-2  taken     1s   2

MISSED         NODE    WHY   AT                    ATTEMPT
default/pod-3  node-3  gone  2020-01-01T00:00:00Z  1
`,
			want: map[string]bool{"default/pod-1": true, "other/pod-2": true},
		},
		"none": {
			page: head + "IN FLIGHT  NODE  STAGE  AGE  ATTEMPT\n\nMISSED  NODE  WHY  AT  ATTEMPT\n",
			want: map[string]bool{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := answering(t, "/debug/placement", test.page).InFlight(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("in flight (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := answering(t, "/debug/placement", "something else\n").InFlight(t.Context()); err == nil {
		t.Error("no error for a page without the table")
	}
	if _, err := answering(t, "/other", "").InFlight(t.Context()); err == nil {
		t.Error("no error without the page")
	}
}

func TestNominationsAreCountedByOutcome(t *testing.T) {
	got, err := answering(t, "/metrics", `
# TYPE muster_nominations_total counter
muster_nominations_total{outcome="confirmed"} 7
muster_nominations_total{outcome="gone"} 0
`).Nominations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"confirmed": 7, "gone": 0}, got); diff != "" {
		t.Errorf("nominations (-want +got):\n%s", diff)
	}
}
