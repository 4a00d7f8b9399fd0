package access

import (
	"fmt"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Guard says which requests are answered at one address. Every rule is off by default.
type Guard struct {
	// Field is the configuration field of the address, as in serving.listen. Metrics have it.
	Field string
	// ClientNames are the names that a client certificate must have one of; NamesField is the field that lists
	// them. If it is empty, every client that TLS lets in is let in.
	ClientNames []string
	NamesField  string
	// Pages says what the pages of web sites may ask.
	Pages Pages
	// Hosts are the names by which the server may be called; nil lets every name pass.
	Hosts *Hosts
	// AnyHost are paths that may be asked for by any name.
	AnyHost []string
	// ContentTypes are the types that a body may have. Without any, all are let in.
	ContentTypes []string
	// Metrics count what is refused. Required.
	Metrics *Metrics
}

// Pages says what the pages of web sites may ask of a server, from the browsers of its users.
type Pages int

const (
	// AllPages may ask, and the browser keeps the answers from pages of other sites.
	AllPages Pages = iota
	// OwnPages are the pages of the server itself.
	OwnPages
	// NoPages is for a server that no browser calls.
	NoPages
)

// Handler answers what the guard lets in as next does.
func (g Guard) Handler(next http.Handler) http.Handler {
	rules := []struct {
		reason string
		status int
		check  func(*http.Request) error
	}{
		{reasonClient, http.StatusForbidden, g.client},
		{reasonOrigin, http.StatusForbidden, g.origin},
		{reasonHost, http.StatusForbidden, g.host},
		{reasonContentType, http.StatusUnsupportedMediaType, g.contentType},
	}
	for _, rule := range rules { // so that those are there as well that stay 0
		g.Metrics.refused.WithLabelValues(g.Field, rule.reason)
	}
	if g.NamesField != "" {
		g.Metrics.expires.WithLabelValues(g.Field).Set(math.Inf(1))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, rule := range rules {
			if err := rule.check(r); err != nil {
				g.Metrics.refused.WithLabelValues(g.Field, rule.reason).Inc()
				http.Error(w, err.Error(), rule.status)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// client holds the certificate that TLS has verified against the list of names.
func (g *Guard) client(r *http.Request) error {
	if len(g.ClientNames) == 0 {
		return nil
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return fmt.Errorf("no client certificate came, and %s lists who may call", g.NamesField)
	}
	leaf := r.TLS.PeerCertificates[0]
	names := append([]string{leaf.Subject.CommonName}, leaf.DNSNames...)
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	for _, name := range names {
		if name != "" && slices.Contains(g.ClientNames, name) {
			g.Metrics.expires.WithLabelValues(g.Field).Set(float64(leaf.NotAfter.Unix()))
			return nil
		}
	}
	return fmt.Errorf("the client certificate is for %q, and %s lists %q", names, g.NamesField, g.ClientNames)
}

// origin refuses the pages of web sites.
func (g *Guard) origin(r *http.Request) error {
	if g.Pages == AllPages {
		return nil
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		return fmt.Errorf(
			"header Sec-Fetch-Site: a browser sends %q of a request that another site made, or led to: open the address itself", site,
		)
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if g.Pages == NoPages {
		return fmt.Errorf("header Origin: %q is a web page, and none may call", origins)
	}
	for _, origin := range origins {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Host == "" || !strings.EqualFold(parsed.Host, r.Host) && !g.Hosts.names(parsed.Hostname()) {
			return fmt.Errorf("header Origin: %q is another site than this one, %q", origin, r.Host)
		}
	}
	return nil
}

// host refuses names that are not the server's.
func (g *Guard) host(r *http.Request) error {
	if g.Hosts == nil || slices.Contains(g.AnyHost, r.URL.Path) {
		return nil
	}
	if err := g.Hosts.check(r.Host); err != nil {
		return fmt.Errorf("header Host: %w", err)
	}
	return nil
}

// contentType refuses bodies of types that a page could send.
func (g *Guard) contentType(r *http.Request) error {
	if len(g.ContentTypes) == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	came := r.Header.Get("Content-Type")
	if slices.Contains(g.ContentTypes, came) {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(came); err == nil && slices.Contains(g.ContentTypes, kind) {
		return nil
	}
	return fmt.Errorf("header Content-Type: %q, want %s", came, strings.Join(g.ContentTypes, " or "))
}

// hostname returns the host of host:port, or of a host alone.
func hostname(hostport string) string {
	host := hostport
	if split, _, err := net.SplitHostPort(hostport); err == nil {
		host = split
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
