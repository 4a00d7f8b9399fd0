package gangfaults

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
)

func TestAWatchStandsStillWhileItsKindIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := newTraffic(t.Context(), &script{trouble: faultcampaign.NewTrouble(1)})
		l := &lane{}
		l.traffic.Store(traffic)
		const length = 3 * time.Second
		go traffic.holdBack(t.Context(), ofPods, length)
		synctest.Wait()
		began := time.Now()
		for _, test := range []struct {
			path string
			late time.Duration
		}{
			{"/api/v1/nodes?watch=true", 0},
			{"/api/v1/pods?watch=true", length},
			{"/api/v1/pods?watch=true", length}, // it is over
		} {
			r := httptest.NewRequest(http.MethodGet, test.path, nil)
			answer := httptest.NewRecorder()
			w := &stream{ResponseWriter: answer, kind: watched(r), lane: l, left: t.Context()}
			if _, err := w.Write([]byte("{}")); err != nil || answer.Body.String() != "{}" {
				t.Errorf("%s: wrote %q, error %v", test.path, answer.Body, err)
			}
			if took := time.Since(began); took != test.late {
				t.Errorf("%s is told after %s, want %s", test.path, took, test.late)
			}
		}
	})
	if kind := watched(httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)); kind != "" {
		t.Errorf("a list is a watch of %q", kind)
	}
}
