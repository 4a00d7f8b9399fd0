package gangfaults

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"muster.dev/muster/e2e/muster"
)

// verbs are where the muster of this time is. Its methods are safe for concurrent use.
type verbs struct{ now atomic.Pointer[address] }

type address struct {
	url       *url.URL
	transport http.RoundTripper
}

// leadTo has calls go to another muster from now on.
func (v *verbs) leadTo(server *muster.Server) error {
	to, err := url.Parse(server.URL())
	if err != nil {
		return fmt.Errorf("address of muster: %w", err)
	}
	v.now.Store(&address{to, server.Transport()})
	return nil
}

func (v *verbs) url() *url.URL { return v.now.Load().url }

// RoundTrip implements [http.RoundTripper].
func (v *verbs) RoundTrip(r *http.Request) (*http.Response, error) {
	return v.now.Load().transport.RoundTrip(r)
}
