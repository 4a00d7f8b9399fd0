package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/certs"
	"muster.dev/muster/server/servertest"
)

// asked is a request of an attacker, or of somebody who may call.
type asked struct {
	method, path, host, body string
	header                   map[string]string
}

// answers makes a request, and says with what it was answered.
func answers(t *testing.T, client *http.Client, url string, a asked) (int, string) {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(t.Context(), a.method, url+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = a.host
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// web is a client that keeps no connection.
func web(t *testing.T, cfg *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: cfg}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newPorts is a process with every port there can be, on this machine.
func newPorts(t *testing.T) *process {
	t.Helper()
	files := newIdentity(t)
	files.write(newAuthority(t).issue("muster"))
	p := newProcess(t, func(cfg *config.Configuration) {
		cfg.Serving.HealthListen, cfg.Serving.WebhookListen = "127.0.0.1:0", "127.0.0.1:0"
		cfg.Serving.TLS = files.TLS
		cfg.Debug.AllowedHosts = []string{"muster.example.com"}
	})
	p.runToLead()
	return p
}

const (
	filterBody = `{"Pod": {"metadata": {"name": "p", "namespace": "default"}, "spec": {"schedulerName": "default-scheduler"}}, "NodeNames": ` +
		`["a"]}`
	jsonType = "application/json"
)

func TestAtEachPortWhoMayCallIsAnsweredAndWebPagesAreNot(t *testing.T) {
	p := newPorts(t)
	asJSON, evil := map[string]string{"Content-Type": jsonType}, "https://evil.example"
	with := func(name, value string) map[string]string {
		return map[string]string{"Content-Type": jsonType, name: value}
	}
	for _, test := range []struct {
		name, field string
		asked
		status int
		says   string
	}{
		{"kube-scheduler", fieldVerbs, asked{method: "POST", path: "/filter", body: filterBody, header: asJSON}, 200, `"NodeNames":["a"]`},
		{
			"kube-scheduler, by localhost", fieldVerbs,
			asked{method: "POST", path: "/filter", host: "localhost:1", body: filterBody, header: asJSON},
			200, `["a"]`,
		},
		{
			"a page's form", fieldVerbs,
			asked{method: "POST", path: "/preempt", body: "{}", header: map[string]string{"Content-Type": "text/plain"}},
			415,
			`Content-Type: "text/plain", want application/json`,
		},
		{
			"a form of curl", fieldVerbs,
			asked{method: "POST", path: "/bind", body: "{}", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
			415, "Content-Type",
		},
		{
			"a page's script", fieldVerbs,
			asked{method: "POST", path: "/preempt", body: "{}", header: with("Origin", evil)},
			403,
			`Origin: ["https://evil.example"]`,
		},
		{
			"a page of the same origin", fieldVerbs,
			asked{method: "POST", path: "/bind", body: "{}", header: with("Origin", "http://127.0.0.1")},
			403, "Origin",
		},
		{
			"a page, by what browsers add", fieldVerbs,
			asked{method: "POST", path: "/bind", body: "{}", header: with("Sec-Fetch-Site", "cross-site")},
			403, "Sec-Fetch-Site",
		},
		{
			"a name that means this machine", fieldVerbs,
			asked{method: "POST", path: "/filter", host: "evil.example", body: filterBody, header: asJSON},
			403, `Host: "evil.example"`,
		},
		{"a kubelet", fieldVerbs, asked{path: "/livez"}, 200, "ok"},
		{"a page that reads", fieldVerbs, asked{path: "/version", host: "evil.example"}, 403, "Host"},

		{"a person", fieldDebug, asked{path: "/debug/nodes"}, 200, "NODE"},
		{"a person, by a listed name", fieldDebug, asked{path: "/debug/nodes", host: "muster.example.com"}, 200, "NODE"},
		{
			"the page", fieldDebug,
			asked{path: "/debug/nodes?format=json", header: map[string]string{"Sec-Fetch-Site": "same-origin"}},
			200, `"nodes":`,
		},
		{
			"a page of another site", fieldDebug,
			asked{path: "/debug/nodes", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
			403, "open the address itself",
		},
		{
			"a page of another site, by an old browser", fieldDebug,
			asked{path: "/configz", header: map[string]string{"Origin": evil}},
			403, "Origin",
		},
		{"a rebound name", fieldDebug, asked{path: "/debug/nodes", host: "evil.example:8887"}, 403, "add the name to debug.allowedHosts"},
		{"a rebound name, for metrics", fieldDebug, asked{path: "/metrics", host: "evil.example"}, 403, "Host"},
		{
			"a pod to explain", fieldDebug,
			asked{method: "POST", path: "/debug/explain", body: "spec: {}", header: map[string]string{"Content-Type": "application/yaml"}},
			200, "1 of 1 nodes fit",
		},
		{
			"a pod to explain, as JSON", fieldDebug,
			asked{method: "POST", path: "/debug/explain", body: "{}", header: asJSON},
			200,
			"1 of 1 nodes fit",
		},
		{
			"a pod to explain, by a form", fieldDebug,
			asked{method: "POST", path: "/debug/explain", body: "spec: {}", header: map[string]string{"Content-Type": "text/plain"}},
			415,
			"want application/json or application/yaml",
		},

		{"a kubelet, by any name", fieldHealth, asked{path: "/livez", host: "10.1.2.3:8890"}, 200, "ok"},
		{"a Prometheus, by any name", fieldHealth, asked{path: "/metrics", host: "muster.monitoring.svc"}, 200, "go_goroutines"},
		{
			"a page that asks for metrics", fieldHealth,
			asked{path: "/metrics", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
			403, "Sec-Fetch-Site",
		},
		{
			"verbs where there are none", fieldHealth,
			asked{method: "POST", path: "/bind", body: "{}", header: asJSON},
			404,
			"this is serving.healthListen",
		},

		{
			"the API server", fieldWebhook,
			asked{method: "POST", path: "/webhook/gates", host: "muster.kube-system.svc", body: servertest.ReviewOf("CREATE", "{}"), header: asJSON},
			200, `"allowed":true`,
		},
		{
			"a page that reviews", fieldWebhook,
			asked{method: "POST", path: "/webhook/gates", body: servertest.ReviewOf("CREATE", "{}"), header: with("Origin", evil)},
			403, "Origin",
		},
		{
			"a form that reviews", fieldWebhook,
			asked{method: "POST", path: "/webhook/gates", body: "{}", header: map[string]string{"Content-Type": "text/plain"}},
			415,
			"Content-Type",
		},
		{
			"verbs at the webhook", fieldWebhook,
			asked{method: "POST", path: "/bind", body: "{}", header: asJSON},
			404,
			"this is serving.webhookListen",
		},
		{
			"the webhook among the verbs", fieldVerbs,
			asked{method: "POST", path: "/webhook/gates", body: "{}", header: asJSON},
			404,
			"is not served",
		},
	} {
		t.Run(test.field+"/"+test.name, func(t *testing.T) {
			url := p.at(test.field)
			if p.port(test.field).TLS != nil {
				url = strings.Replace(url, "http:", "https:", 1)
			}
			status, text := answers(t, web(t, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}), url, test.asked)
			if status != test.status || !strings.Contains(text, test.says) {
				t.Errorf("answered %d, want %d with %q:\n%s", status, test.status, test.says, text)
			}
		})
	}
	if _, metrics := answers(t, web(t, nil), p.at(fieldHealth), asked{path: "/metrics"}); !strings.Contains(
		metrics, `muster_http_requests_refused_total{listener="serving.listen",reason="origin"} 3`,
	) {
		t.Errorf("three web pages that called the verbs are not counted:\n%s", metrics)
	}
}

func TestOfTheClientsOfAnAuthorityThoseMayCallThatAreListed(t *testing.T) {
	ca, of, files := newAuthority(t), newAuthority(t), newIdentity(t)
	files.write(ca.issue("muster"))
	files.ClientCAFile = files.CertFile + ".client"
	files.file(files.ClientCAFile, of.pem)
	files.Webhook = config.WebhookTLS{ClientCAFile: files.ClientCAFile, AllowedClientNames: []string{"kube-apiserver"}}
	files.AllowedClientNames = []string{config.KubeScheduler}
	p := newProcess(t, func(cfg *config.Configuration) {
		cfg.Serving.TLS, cfg.Serving.WebhookListen, cfg.Debug.Listen = files.TLS, "127.0.0.1:0", ":0"
	})
	p.runToLead()
	for _, test := range []struct {
		client, field string
		asked
		status int
		says   string
	}{
		{config.KubeScheduler, fieldVerbs, asked{method: "POST", path: "/filter", body: filterBody}, 200, `["a"]`},
		{config.KubeScheduler, fieldVerbs, asked{path: "/livez"}, 200, "ok"},
		{
			"system:node:a", fieldVerbs,
			asked{method: "POST", path: "/bind", body: "{}"},
			403,
			`the client certificate is for ["system:node:a"], and serving.tls.allowedClientNames lists ["system:kube-scheduler"]`,
		},
		{"system:node:a", fieldVerbs, asked{path: "/livez"}, 403, "system:node:a"},
		{"kube-apiserver", fieldVerbs, asked{path: "/version"}, 403, "kube-apiserver"},
		{
			"kube-apiserver", fieldWebhook,
			asked{method: "POST", path: "/webhook/gates", body: servertest.ReviewOf("CREATE", "{}")},
			200, `"allowed":true`,
		},
		{
			config.KubeScheduler, fieldWebhook,
			asked{method: "POST", path: "/webhook/gates", body: "{}"},
			403,
			"serving.tls.webhook.allowedClientNames",
		},
		{"jane", fieldDebug, asked{path: "/debug/nodes"}, 200, "NODE"},
	} {
		t.Run(test.client+" at "+test.field+test.path, func(t *testing.T) {
			test.header = map[string]string{"Content-Type": jsonType}
			_, number, _ := strings.Cut(p.at(test.field), "http://")
			url := "https://127.0.0.1" + number[strings.LastIndex(number, ":"):]
			status, text := answers(t, web(t, ca.clientNamed(test.client, of)), url, test.asked)
			if status != test.status || !strings.Contains(text, test.says) {
				t.Errorf("answered %d, want %d with %q:\n%s", status, test.status, test.says, text)
			}
			if response, err := web(t, ca.client()).Get(url + "/livez"); err == nil {
				response.Body.Close()
				t.Error("a client without a certificate is answered")
			}
		})
	}
}

func TestWithTheCertificateThatMusterMakesKubeSchedulerIsLetInAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "kube-system", Name: name} }
		client := fake.NewClientset(&corev1.Secret{ObjectMeta: meta("muster-tls")}, &corev1.Secret{ObjectMeta: meta("scheduler-tls")})
		settings := config.TLS{
			AllowedClientNames: []string{config.KubeScheduler},
			SelfManaged:        config.SelfManaged{SecretName: "muster-tls", ClientSecretName: "scheduler-tls"},
		}
		keeper := certs.New(certs.Options{
			Logger:     slog.New(slog.DiscardHandler),
			Clock:      clocktesting.NewFakeClock(time.Now()),
			Client:     client,
			Config:     settings.SelfManaged,
			Namespace:  "kube-system",
			ClientName: config.KubeScheduler,
		})
		c, err := newCertificates(slog.New(slog.DiscardHandler), settings, keeper)
		if err != nil {
			t.Fatal(err)
		}
		// showing is a caller with what a Secret holds.
		showing := func(secret string) *tls.Config {
			t.Helper()
			got, err := client.CoreV1().Secrets("kube-system").Get(ctx, secret, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair(got.Data[corev1.TLSCertKey], got.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				t.Fatal(err)
			}
			cfg := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12}
			cfg.RootCAs.AppendCertsFromPEM(got.Data["ca.crt"])
			cfg.Certificates = []tls.Certificate{pair}
			return cfg
		}
		if _, err := handshake(t, c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}); err == nil {
			t.Error("somebody is let in before there is an authority")
		}
		go keeper.Run(ctx)
		synctest.Wait()
		if _, err := handshake(t, c, showing("scheduler-tls")); err != nil {
			t.Errorf("kube-scheduler is refused: %v", err)
		}
		if _, err := handshake(t, c, showing("muster-tls")); err == nil {
			t.Error("muster's own certificate lets its client in")
		}
		nobody := showing("scheduler-tls")
		nobody.Certificates = nil
		if _, err := handshake(t, c, nobody); err == nil || !strings.Contains(err.Error(), "client didn't provide a certificate") {
			t.Errorf("a client without a certificate: error %v", err)
		}
		// The webhook's callers have authorities of their own, or none.
		if c.current(time.Now()).apiServer.ClientAuth != tls.NoClientCert {
			t.Error("the API server is asked for a certificate, too")
		}
	})
}

func TestAPortThatEverybodyReachesIsWarnedOfUnlessClientsAreAsked(t *testing.T) {
	ca, files := newAuthority(t), newIdentity(t)
	files.write(ca.issue("muster"))
	asking := files.TLS
	asking.ClientCAFile, asking.AllowedClientNames = files.CertFile, []string{config.KubeScheduler}
	for name, test := range map[string]struct {
		listen string
		tls    config.TLS
		want   bool
	}{
		"loopback":                       {"127.0.0.1:0", config.TLS{}, false},
		"everywhere":                     {":0", config.TLS{}, true},
		"everywhere, over https":         {":0", files.TLS, true},
		"everywhere, clients have names": {":0", asking, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, func(cfg *config.Configuration) {
				cfg.Serving.Listen, cfg.Serving.TLS = test.listen, test.tls
			})
			for _, port := range p.ports {
				defer port.Listener.Close()
			}
			announce(slog.New(slog.NewTextHandler(p.log, nil)), p.config.Serving.TLS.AsksClients(), p.ports)
			if got := strings.Contains(p.log.String(), `level=WARN msg="anybody who reaches the verbs may call them`); got != test.want {
				t.Errorf("warned: %t, want %t:\n%s", got, test.want, p.log)
			}
		})
	}
}

func TestThePortsThatWereChosenAreLoggedAndShown(t *testing.T) {
	p := newPorts(t)
	// Who is answered there comes after it was logged.
	answers(
		t,
		web(t, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}),
		strings.Replace(p.at(fieldVerbs), "http:", "https:", 1),
		asked{path: "/livez"},
	)
	var shown struct {
		Listeners []struct {
			Listener, Address string
			TLS               bool
		}
	}
	if err := json.Unmarshal(p.get("/debug/listeners?format=json").Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range shown.Listeners {
		got = append(got, row.Listener)
		if row.Address != p.port(row.Listener).Listener.Addr().String() || strings.HasSuffix(row.Address, ":0") {
			t.Errorf("%s is shown at %s", row.Listener, row.Address)
		}
		if secure := row.Listener == fieldVerbs || row.Listener == fieldWebhook; row.TLS != secure {
			t.Errorf("%s is shown with TLS: %t", row.Listener, row.TLS)
		}
		if line := "msg=serving listener=" + row.Listener + " address=" + row.Address; !strings.Contains(p.log.String(), line) {
			t.Errorf("the log lacks %q:\n%s", line, p.log)
		}
	}
	if diff := cmp.Diff([]string{fieldVerbs, fieldHealth, fieldWebhook, fieldDebug}, got); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	text := p.get("/debug/listeners").Body.Bytes()
	for _, want := range []string{"serving.listen", "/bind", "/webhook/gates"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s is not on the page:\n%s", want, text)
		}
	}
}
