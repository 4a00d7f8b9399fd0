package chart

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
)

// elsewhere is an address of this machine that is not loopback: to a process that listens, a caller from another pod comes by one.
func elsewhere(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() {
			return network.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback: nothing can be called as from another pod")
	return ""
}

// caller calls the ports of a pod.
type caller struct {
	*kubelet
	host string // at which it reaches the pod
	tls  *tls.Config
}

// Outcomes of a call, where it is no HTTP status.
const (
	nobodyListens = "nobody listens"
	noCertificate = "no certificate"
	plainHTTP     = "plain http"
)

// calls says what comes of a request: an HTTP status, or why there is none.
func (c caller) calls(scheme string, port int, path, method, body string, header ...string) string {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), method, scheme+"://"+c.at(c.host, port)+path, strings.NewReader(body))
	c.Must(err)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client(c.tls).Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nobodyListens
	case err != nil && strings.Contains(err.Error(), "certificate required"):
		return noCertificate
	case errors.Is(err, http.ErrSchemeMismatch):
		return plainHTTP
	}
	c.Must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	c.Must(err)
	if response.StatusCode == http.StatusBadRequest && strings.Contains(string(text), "HTTP request to an HTTPS server") {
		return noCertificate
	}
	return fmt.Sprint(response.StatusCode)
}

// attack calls each port as an attacker does, and says what came of it.
func (c caller) attack(scheme string) map[string]string {
	c.Helper()
	const asJSON = "application/json"
	binding, err := json.Marshal(extenderv1.ExtenderBindingArgs{PodName: "target", PodNamespace: "default", PodUID: "unknown", Node: "evil"})
	c.Must(err)
	got := map[string]string{
		"bind": c.calls(scheme, portVerbs, "/bind", http.MethodPost, string(binding), "Content-Type", asJSON),
		"bind by a page": c.calls(
			scheme, portVerbs, "/bind", http.MethodPost, string(binding), "Content-Type", asJSON, "Origin", "https://evil.example",
		),
		"bind by a form":         c.calls(scheme, portVerbs, "/bind", http.MethodPost, string(binding), "Content-Type", "text/plain"),
		"read the verbs' port":   c.calls(scheme, portVerbs, "/debug/nodes", http.MethodGet, ""),
		"look":                   c.calls("http", portDebug, "/debug/nodes", http.MethodGet, ""),
		"look by a rebound name": c.calls("http", portDebug, "/debug/nodes", http.MethodGet, "", "Host", "evil.example"),
		"scrape":                 c.calls("http", portHealth, "/metrics", http.MethodGet, ""),
		"look where it scrapes":  c.calls("http", portHealth, "/debug/nodes", http.MethodGet, ""),
		"ask for gates":          c.calls("https", portWebhook, "/webhook/gates", http.MethodPost, "{}", "Content-Type", asJSON),
		"bind at the webhook":    c.calls("https", portWebhook, "/bind", http.MethodPost, string(binding), "Content-Type", asJSON),
		"separate":               c.calls("http", portSeparate, "/separate", http.MethodPost, "{}", "Content-Type", asJSON),
	}
	return got
}

// target is a pending pod of muster's, which an attacker would have on a node.
func (c *cluster) target() {
	c.Helper()
	c.createNode("evil", "evil", "8")
	c.Create(newPod("target", "none", "1"))
}

// isPending fails when somebody has bound the target.
func (c *cluster) isPending() {
	c.Helper()
	if node := c.pod("target").Spec.NodeName; node != "" {
		c.Errorf("the pod was bound to %s", node)
	}
}

// want compares what came of attacks with what should.
func (c *cluster) want(from string, got, want map[string]string) {
	c.Helper()
	for attack, outcome := range want {
		if got[attack] != outcome {
			c.Errorf("%s: to %s ends with %q, want %q", from, attack, got[attack], outcome)
		}
	}
	if len(got) != len(want) {
		c.Errorf("%s: there are %d attacks, and %d outcomes are known", from, len(got), len(want))
	}
}

func TestASidecarAnswersNobodyOutsideOfItsPodWithAndWithoutTLS(t *testing.T) {
	lab.Long(t)
	t.Parallel()
	for name, values := range map[string][]string{
		"plain http": nil, "https": {"--set=tls.selfManaged.enabled=true"},
		"https and a webhook": {"--set=tls.selfManaged.enabled=true,webhook.enabled=true"},
	} {
		t.Run(name, func(t *testing.T) {
			host := elsewhere(t)
			c := newCluster(t)
			c.target()
			c.install(append(installedValues("sidecar"), values...)...)
			k := newKubelet(c)
			pod := k.pod("muster")
			pod.start(pod.spec.InitContainers)

			scheme, webhook, elsewhereAtTheWebhook := "http", nobodyListens, nobodyListens
			if name != "plain http" {
				scheme = "https"
			}
			if name == "https and a webhook" {
				webhook, elsewhereAtTheWebhook = "400", "404" // it is for the API server, which shows no certificate unless it is told to
			}
			anyone := &tls.Config{InsecureSkipVerify: true}
			c.want("from another pod", caller{k, host, anyone}.attack(scheme), map[string]string{
				"bind": nobodyListens, "bind by a page": nobodyListens, "bind by a form": nobodyListens, "read the verbs' port": nobodyListens,
				"look": nobodyListens, "look by a rebound name": nobodyListens, "separate": nobodyListens,
				"scrape": "200", "look where it scrapes": "404", "ask for gates": webhook, "bind at the webhook": elsewhereAtTheWebhook,
			})
			// What is in the pod may call: kube-scheduler is. Web pages by a forwarded port may not.
			got := caller{k, "127.0.0.1", anyone}.attack(scheme)
			delete(got, "bind") // by what it says of the pod
			c.want("in the pod", got, map[string]string{
				"bind by a page": "403", "bind by a form": "415", "read the verbs' port": "404",
				"look": "200", "look by a rebound name": "403", "separate": "422",
				"scrape": "200", "look where it scrapes": "404", "ask for gates": webhook, "bind at the webhook": elsewhereAtTheWebhook,
			})
			c.isPending()
		})
	}
}

func TestWithoutCertificatesOfClientsWhoeverReachesAnExternalMusterCallsItAndIsWarned(t *testing.T) {
	lab.Long(t)
	host := elsewhere(t)
	c := newCluster(t)
	c.target()
	notes := c.install(installedValues("external")...)
	if !strings.Contains(notes, "WARNING: anybody who reaches port 8888") {
		t.Errorf("Helm does not warn:\n%s", notes)
	}
	k := newKubelet(c)
	k.runs("muster")
	got := caller{k, host, nil}.attack("http")
	delete(got, "bind") // by what it says of the pod
	c.want("from another pod", got, map[string]string{
		"bind by a page": "403", "bind by a form": "415", "read the verbs' port": "404", // web pages may not, all the same
		"look": nobodyListens, "look by a rebound name": nobodyListens, "separate": nobodyListens,
		"scrape": "200", "look where it scrapes": "404", "ask for gates": nobodyListens, "bind at the webhook": nobodyListens,
	})
	if log := textOf(t, k.log("muster")); !strings.Contains(log, "anybody who reaches the verbs may call them") {
		t.Errorf("muster's log does not warn:\n%s", log)
	}
}

// clientFiles writes what a Secret of kube-scheduler's holds to where it reads it.
func (c *cluster) clientFiles(name, dir string) {
	c.Helper()
	c.Eventually("there is a certificate for kube-scheduler", func() error {
		secret, err := c.Client.CoreV1().Secrets(namespace).Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, file := range []string{"ca.crt", corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if len(secret.Data[file]) == 0 {
				return fmt.Errorf("the Secret lacks %s", file)
			}
			if err := os.WriteFile(filepath.Join(dir, file), secret.Data[file], 0o600); err != nil {
				return err
			}
		}
		return nil
	})
}

// tunnel passes connections on to an address, until they are cut.
type tunnel struct {
	net.Listener
	to string

	mu   sync.Mutex
	open []net.Conn
}

func newTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tunnel := &tunnel{Listener: listener, to: to}
	t.Cleanup(func() { listener.Close(); tunnel.cut() })
	go tunnel.serve()
	return tunnel
}

func (t *tunnel) serve() {
	for {
		near, err := t.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", t.to)
		if err != nil {
			near.Close()
			continue
		}
		t.mu.Lock()
		t.open = append(t.open, near, far)
		t.mu.Unlock()
		go func() { _, _ = io.Copy(near, far); near.Close() }()
		go func() { _, _ = io.Copy(far, near); far.Close() }()
	}
}

// cut ends all connections that there are.
func (t *tunnel) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, connection := range t.open {
		connection.Close()
	}
	t.open = nil
}

func TestWithTheCertificatesThatMusterMakesKubeSchedulerCallsItAndNobodyElse(t *testing.T) {
	lab.Long(t)
	host := elsewhere(t)
	c := newCluster(t)
	c.target()
	values := append(installedValues("external"), "--set=tls.selfManaged.enabled=true,tls.clientAuth=true")
	if notes := c.install(values...); strings.Contains(notes, "WARNING") {
		t.Errorf("Helm warns:\n%s", notes)
	}
	k := newKubelet(c)
	pod := k.runs("muster")
	refused := map[string]string{
		"bind": noCertificate, "bind by a page": noCertificate, "bind by a form": noCertificate, "read the verbs' port": noCertificate,
		"look": nobodyListens, "look by a rebound name": nobodyListens, "separate": nobodyListens,
		"scrape": "200", "look where it scrapes": "404", "ask for gates": nobodyListens, "bind at the webhook": nobodyListens,
	}
	c.want("from another pod", caller{k, host, &tls.Config{InsecureSkipVerify: true}}.attack("https"), refused)
	// A certificate of the cluster's authority, which every kubelet has, is none of muster's.
	admin, err := tls.X509KeyPair(c.RESTConfig().CertData, c.RESTConfig().KeyData)
	c.Must(err)
	answered := func(config *tls.Config) error {
		_, err := read(client(config), "https://"+k.at(host, portVerbs)+"/livez")
		return err
	}
	if answered(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{admin}}) == nil {
		t.Error("a certificate of another authority is let in")
	}
	c.isPending()

	// A kube-scheduler that has the files binds pods over it.
	files, tunnel := t.TempDir(), newTunnel(t, k.local(portVerbs))
	file := func(name string) string { return filepath.Join(files, name) }
	c.clientFiles("muster-kube-scheduler-tls", files)
	config, err := muster.SchedulerConfig(t.Context(), k.muster, "https://"+tunnel.Addr().String(),
		"--config="+pod.path("config", "muster.yaml"), "--ca-file="+file("ca.crt"), "--cert-file="+file("tls.crt"), "--key-file="+file("tls.key"))
	c.Must(err)
	c.Schedule(config)
	c.createNode("mtls", "mtls", "8")
	c.Create(newPod("over-mtls", "mtls", "1"))
	c.awaitBound("over-mtls")

	// To take the authority of clients away revokes the certificate, and another one is made.
	ours := func() *tls.Config {
		certificate, err := tls.LoadX509KeyPair(file("tls.crt"), file("tls.key"))
		c.Must(err)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(textOf(t, file("ca.crt"))))
		return &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{certificate}}
	}
	first := ours()
	c.Must(answered(first))
	own, err := c.Client.CoreV1().Secrets(namespace).Get(t.Context(), tlsSecret, metav1.GetOptions{})
	c.Must(err)
	delete(own.Data, "client-ca.crt")
	delete(own.Data, "client-ca.key")
	_, err = c.Client.CoreV1().Secrets(namespace).Update(t.Context(), own, metav1.UpdateOptions{})
	c.Must(err)
	c.Eventually("the certificate is revoked", func() error {
		if answered(first) == nil {
			return errors.New("it is let in")
		}
		return nil
	})
	c.Eventually("the new certificate is let in", func() error {
		c.clientFiles("muster-kube-scheduler-tls", files)
		return answered(ours())
	})
	// kube-scheduler reads tls.crt and tls.key again for each connection.
	tunnel.cut()
	c.Create(newPod("over-mtls-again", "mtls", "1"))
	c.awaitBound("over-mtls-again")
}
