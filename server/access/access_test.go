package access_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"muster.dev/muster/server/access"
)

// asked is a request, and what a guard answers it.
type asked struct {
	method, path, host, body string
	header                   http.Header
	certificate              *x509.Certificate
}

// answers says with which status and words a guard answers, and as what it counts that.
func answers(t *testing.T, guard access.Guard, a asked) (status int, words, counted string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	guard.Field, guard.Metrics = "a.listen", access.NewMetrics(registry)
	if a.method == "" {
		a.method = http.MethodGet
	}
	request := httptest.NewRequest(a.method, "/"+a.path, strings.NewReader(a.body))
	request.Host = a.host
	request.Header = a.header
	if a.certificate != nil {
		request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{a.certificate}}
	}
	answer := httptest.NewRecorder()
	guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "let in") })).
		ServeHTTP(answer, request)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetCounter().GetValue() == 0 {
				continue
			}
			counted += metric.GetLabel()[0].GetValue() + " " + metric.GetLabel()[1].GetValue()
		}
	}
	return answer.Code, strings.TrimSpace(answer.Body.String()), counted
}

// header is one of pairs.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		pages  access.Pages
		header http.Header
		says   string // "" for one that is let in
	}{
		"a program says nothing of a page": {access.NoPages, nil, ""},
		"somebody typed the address":       {access.NoPages, header("Sec-Fetch-Site", "none"), ""},
		"a page of another site": {
			access.OwnPages, header("Sec-Fetch-Site", "cross-site"), `Sec-Fetch-Site: a browser sends "cross-site"`,
		},
		"a page of another port or subdomain": {access.OwnPages, header("Sec-Fetch-Site", "same-site"), `"same-site"`},
		"a value that there is not":           {access.OwnPages, header("Sec-Fetch-Site", "x"), `"x"`},
		"the server's own page":               {access.OwnPages, header("Sec-Fetch-Site", "same-origin"), ""},
		"the server's own page, which posts":  {access.OwnPages, header("Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8887"), ""},
		"a page that posts, to where no page may": {
			access.NoPages, header("Origin", "http://localhost:8887"), `Origin: ["http://localhost:8887"] is a web page`,
		},
		"another site, by a browser without Sec-Fetch-Site": {
			access.OwnPages, header("Origin", "https://evil.example"), `Origin: "https://evil.example" is another site`,
		},
		"another port of this machine": {
			access.OwnPages, header("Origin", "http://localhost:3000"), `another site than this one, "localhost:8887"`,
		},
		"a page in a sandbox":    {access.OwnPages, header("Origin", "null"), `"null" is another site`},
		"an origin that is none": {access.OwnPages, header("Origin", "http://%zz"), "is another site"},
		"an empty origin":        {access.NoPages, header("Origin", ""), "is a web page"},
		"two origins, one of them the server's": {
			access.OwnPages, header("Origin", "http://localhost:8887", "Origin", "https://evil.example"), "evil",
		},
		"where all pages may ask, browsers keep what is read": {
			access.AllPages, header("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), "",
		},
		"what came is quoted, as it may be meant for a terminal": {access.NoPages, header("Origin", "\x1b[2J"), `"\x1b[2J"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, words, counted := answers(t, access.Guard{Pages: test.pages}, asked{host: "localhost:8887", header: test.header})
			want := []any{http.StatusOK, ""}
			if test.says != "" {
				want = []any{http.StatusForbidden, "a.listen origin"}
			}
			if diff := cmp.Diff(want, []any{status, counted}); diff != "" || !strings.Contains(words, test.says) {
				t.Errorf("it says %s, want that it says %s; status and count (-want +got):\n%s", words, test.says, diff)
			}
		})
	}
}

func TestAnOriginWhoseNameIsListedIsTheServersOwn(t *testing.T) {
	guard := access.Guard{
		Pages: access.OwnPages,
		Hosts: access.NewHosts("127.0.0.1:8887", listens("127.0.0.1"), "debug.allowedHosts", []string{"muster.example.com"}),
	}
	for origin, want := range map[string]int{"https://muster.example.com": http.StatusOK, "https://example.com": http.StatusForbidden} {
		if status, words, _ := answers(
			t, guard, asked{host: "muster.kube-system.svc.localhost", header: header("Origin", origin)},
		); status != want {
			t.Errorf("%s is answered %d %s, want %d", origin, status, words, want)
		}
	}
}

// listening is a listener at an address.
type listening struct {
	net.Listener
	address net.Addr
}

func (l listening) Addr() net.Addr { return l.address }

func listens(ip string) net.Listener {
	return listening{address: &net.TCPAddr{IP: net.ParseIP(ip), Port: 8887}}
}

func TestNamesThatAreNotTheServersAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		configured, ip string
		lets, refuses  []string
	}{
		"on loopback": {
			"127.0.0.1:8887", "127.0.0.1",
			[]string{
				"127.0.0.1:8887", "127.0.0.1", "localhost", "LOCALHOST:9", "muster.localhost", "localhost.", "[::1]:8887", "::1", "127.9.9.9",
				"[::ffff:127.0.0.1]:1", "listed.example.com:443", "192.0.2.7:8887", "",
			},
			[]string{
				"evil.example", "evil.example:8887", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "192.0.2.8",
				"10.0.0.1:8887", "0.0.0.0:8887", "[2001:db8::1]:8887", "example.com", "x.listed.example.com", "127.0.0.1@evil.example",
			},
		},
		"on loopback by a name": {
			"muster.internal:8887", "127.0.0.1",
			[]string{"muster.internal:8887", "localhost"},
			[]string{"other.internal:8887"},
		},
		"everywhere": {
			":8887", "0.0.0.0",
			[]string{"10.1.2.3:8887", "[2001:db8::1]:8887", "localhost", "listed.example.com", "192.0.2.7"},
			[]string{"evil.example", "muster.kube-system.svc", "10.1.2.3.evil.example"},
		},
		"at an address of the machine": {
			"10.1.2.3:8887", "10.1.2.3",
			[]string{"10.1.2.3:8887", "10.96.0.9:80", "localhost:8887"},
			[]string{"evil.example"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			guard := access.Guard{
				Hosts: access.NewHosts(test.configured, listens(test.ip), "debug.allowedHosts", []string{"Listed.example.com", "192.0.2.7"}),
			}
			for _, host := range test.lets {
				if status, words, _ := answers(t, guard, asked{host: host}); status != http.StatusOK {
					t.Errorf("%q is answered %d %s", host, status, words)
				}
			}
			for _, host := range test.refuses {
				status, words, counted := answers(t, guard, asked{host: host})
				if want := "header Host: \"" + host + "\" is no name of this server: call it by its address, or add the name to " +
					"debug.allowedHosts"; status != http.StatusForbidden ||
					words != want ||
					counted != "a.listen host" {
					t.Errorf("%q is answered %d %s, and counted as %q", host, status, words, counted)
				}
			}
		})
	}
}

func TestWhereNoNamesCanBeListedARefusalDoesNotSayTo(t *testing.T) {
	guard := access.Guard{Hosts: access.NewHosts("127.0.0.1:0", listens("127.0.0.1"), "", nil)}
	_, words, _ := answers(t, guard, asked{host: "evil.example"})
	if want := `header Host: "evil.example" is no name of this server: call it by the address that it listens at`; words != want {
		t.Errorf("it says %s, want %s", words, want)
	}
}

func TestSomePathsMayBeAskedForByAnyName(t *testing.T) {
	guard := access.Guard{Hosts: access.NewHosts(":0", listens("0.0.0.0"), "", nil), AnyHost: []string{"/metrics"}}
	for path, want := range map[string]int{"metrics": http.StatusOK, "metrics/": http.StatusForbidden, "debug/metrics": http.StatusForbidden} {
		if status, _, _ := answers(t, guard, asked{path: path, host: "scraped.example.com"}); status != want {
			t.Errorf("/%s is answered %d, want %d", path, status, want)
		}
	}
}

func TestLoopbackAddressesAreKnown(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "::1": true, "::ffff:127.0.0.1": true, "::": false, "0.0.0.0": false, "10.0.0.1": false,
	} {
		if got := access.IsLoopback(&net.TCPAddr{IP: net.ParseIP(address), Port: 1}); got != want {
			t.Errorf("%s is loopback: %t", address, got)
		}
	}
}

func TestABodyMustBeOfATypeThatPagesCannotSendUnasked(t *testing.T) {
	guard := access.Guard{ContentTypes: []string{"application/json", "application/yaml"}}
	for name, test := range map[string]struct {
		method string
		header http.Header
		says   string // "" for one that is let in
	}{
		"JSON":                 {http.MethodPost, header("Content-Type", "application/json"), ""},
		"JSON with parameters": {http.MethodPost, header("Content-Type", "application/json; charset=utf-8"), ""},
		"JSON in capitals":     {http.MethodPost, header("Content-Type", "Application/JSON"), ""},
		"YAML":                 {http.MethodPost, header("Content-Type", "application/yaml"), ""},
		"plain text": {
			http.MethodPost, header("Content-Type", "text/plain"), `Content-Type: "text/plain", want application/json or application/yaml`,
		},
		"a form, as curl sends": {
			http.MethodPost, header("Content-Type", "application/x-www-form-urlencoded"), `"application/x-www-form-urlencoded"`,
		},
		"a form with files":          {http.MethodPost, header("Content-Type", "multipart/form-data; boundary=x"), "multipart"},
		"nothing said":               {http.MethodPost, nil, `Content-Type: "", want`},
		"JSON as a mere parameter":   {http.MethodPost, header("Content-Type", "text/plain; a=application/json"), "text/plain"},
		"JSON in a list":             {http.MethodPost, header("Content-Type", "text/plain, application/json"), "text/plain"},
		"JSON said second":           {http.MethodPost, header("Content-Type", "text/plain", "Content-Type", "application/json"), "text/plain"},
		"a parameter that is broken": {http.MethodPost, header("Content-Type", "application/json; charset"), "charset"},
		"another method with a body": {http.MethodPut, header("Content-Type", "text/plain"), "text/plain"},
		"GET, which has no body":     {http.MethodGet, nil, ""},
		"HEAD, which has no body":    {http.MethodHead, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, words, counted := answers(t, guard, asked{method: test.method, header: test.header, body: "{}"})
			want := []any{http.StatusOK, ""}
			if test.says != "" {
				want = []any{http.StatusUnsupportedMediaType, "a.listen content_type"}
			}
			if diff := cmp.Diff(want, []any{status, counted}); diff != "" || !strings.Contains(words, test.says) {
				t.Errorf("it says %s, want that it says %s; status and count (-want +got):\n%s", words, test.says, diff)
			}
		})
	}
}

func TestOnlyCertificatesForAListedNameAreLetIn(t *testing.T) {
	guard := access.Guard{
		ClientNames: []string{"system:kube-scheduler", "spiffe://example.com/scheduler"},
		NamesField:  "serving.tls.allowedClientNames",
	}
	for name, test := range map[string]struct {
		certificate *x509.Certificate
		says        string // "" for one that is let in
	}{
		"by its common name": {&x509.Certificate{Subject: pkix.Name{CommonName: "system:kube-scheduler"}}, ""},
		"by a DNS name":      {&x509.Certificate{Subject: pkix.Name{CommonName: "x"}, DNSNames: []string{"y", "system:kube-scheduler"}}, ""},
		"by a URI":           {&x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/scheduler"}}}, ""},
		"of a node": {
			&x509.Certificate{Subject: pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}},
			`the client certificate is for ["system:node:a"], and serving.tls.allowedClientNames lists ["system:kube-scheduler" ` +
				`"spiffe://example.com/scheduler"]`,
		},
		"with all its names": {
			&x509.Certificate{Subject: pkix.Name{CommonName: "a"}, DNSNames: []string{"b"}, URIs: []*url.URL{{Scheme: "c", Opaque: "d"}}},
			`["a" "b" "c:d"]`,
		},
		"by an organisation": {
			&x509.Certificate{Subject: pkix.Name{CommonName: "x", Organization: []string{"system:kube-scheduler"}}}, `["x"]`,
		},
		"by a mail address":      {&x509.Certificate{EmailAddresses: []string{"system:kube-scheduler"}}, `[""]`},
		"by a name that is like": {&x509.Certificate{Subject: pkix.Name{CommonName: "system:kube-scheduler2"}}, "scheduler2"},
		"in other capitals":      {&x509.Certificate{Subject: pkix.Name{CommonName: "System:Kube-Scheduler"}}, "System"},
		"without a certificate":  {nil, "no client certificate came, and serving.tls.allowedClientNames lists who may call"},
	} {
		t.Run(name, func(t *testing.T) {
			status, words, counted := answers(t, guard, asked{certificate: test.certificate})
			want := []any{http.StatusOK, ""}
			if test.says != "" {
				want = []any{http.StatusForbidden, "a.listen client_name"}
			}
			if diff := cmp.Diff(want, []any{status, counted}); diff != "" || !strings.Contains(words, test.says) {
				t.Errorf("it says %s, want that it says %s; status and count (-want +got):\n%s", words, test.says, diff)
			}
		})
	}
}

func TestAGuardWithoutRulesLetsEverythingIn(t *testing.T) {
	status, _, _ := answers(
		t,
		access.Guard{},
		asked{method: http.MethodPost, host: "evil.example", header: header("Origin", "https://evil.example", "Content-Type", "text/plain")},
	)
	if status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
}

func TestRefusalsAreCountedByListenerAndReason(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := access.NewMetrics(registry)
	for _, field := range []string{"a", "a", "b"} {
		handler := access.Guard{Field: field, Metrics: metrics, Pages: access.NoPages}.Handler(http.NotFoundHandler())
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.Header.Set("Origin", "https://evil.example")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	const want = "# HELP muster_http_requests_refused_total Requests that were refused before anything was read of them, " +
		"by the address (field of the configuration) and the reason: client_name, origin, host or content_type." + `
# TYPE muster_http_requests_refused_total counter
muster_http_requests_refused_total{listener="a",reason="client_name"} 0
muster_http_requests_refused_total{listener="a",reason="content_type"} 0
muster_http_requests_refused_total{listener="a",reason="host"} 0
muster_http_requests_refused_total{listener="a",reason="origin"} 2
muster_http_requests_refused_total{listener="b",reason="client_name"} 0
muster_http_requests_refused_total{listener="b",reason="content_type"} 0
muster_http_requests_refused_total{listener="b",reason="host"} 0
muster_http_requests_refused_total{listener="b",reason="origin"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfAClientsCertificateIsTold(t *testing.T) {
	registry := prometheus.NewRegistry()
	guard := access.Guard{Field: "a", Metrics: access.NewMetrics(registry), ClientNames: []string{"scheduler"}, NamesField: "names"}
	handler := guard.Handler(http.NotFoundHandler())
	shows := func(want string) {
		t.Helper()
		const head = "# HELP muster_client_certificate_expiration_timestamp_seconds When the certificate ends that the last client showed, by " +
			"the address (field of the configuration). +Inf when none was shown.\n" +
			"# TYPE muster_client_certificate_expiration_timestamp_seconds " +
			"gauge\nmuster_client_certificate_expiration_timestamp_seconds{listener=\"a\"} "
		if err := testutil.GatherAndCompare(
			registry, strings.NewReader(head+want+"\n"), "muster_client_certificate_expiration_timestamp_seconds",
		); err != nil {
			t.Error(err)
		}
	}
	shows("+Inf")
	for _, test := range []struct{ name, want string }{{"stranger", "+Inf"}, {"scheduler", "1e+09"}} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.TLS = &tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: test.name}, NotAfter: time.Unix(1e9, 0)}},
		}
		handler.ServeHTTP(httptest.NewRecorder(), request)
		shows(test.want)
	}
}
