package relay

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
)

// Target is where a server is that may come again at another address. Its methods are safe for
// concurrent use; before the first LeadTo none but that may be called.
type Target struct{ now atomic.Pointer[address] }

type address struct {
	url       *url.URL
	transport http.RoundTripper
}

// LeadTo has requests go to another server from now on.
func (t *Target) LeadTo(server string, transport http.RoundTripper) error {
	to, err := url.Parse(server)
	if err != nil {
		return fmt.Errorf("address of a server: %w", err)
	}
	t.now.Store(&address{to, transport})
	return nil
}

// URL is the server of now.
func (t *Target) URL() *url.URL { return t.now.Load().url }

// RoundTrip implements [http.RoundTripper].
func (t *Target) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.now.Load().transport.RoundTrip(r)
}
