package extender_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

// tlsFiles are the certificates of a muster and of the scheduler that calls it.
type tlsFiles struct {
	certificate, key             string // muster's, signed by itself
	clientCertificate, clientKey string // the scheduler's, signed by the cluster's authority
	clientCA                     string
}

func newTLSFiles(t *testing.T) tlsFiles {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("muster", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := shared.KubeconfigFor("system:kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return tlsFiles{
		certificate: write("tls.crt", certificate), key: write("tls.key", key),
		clientCertificate: write("client.crt", client.CertData), clientKey: write("client.key", client.KeyData),
		clientCA: write("client-ca.crt", client.CAData),
	}
}

// client shows the scheduler's certificate.
func (f tlsFiles) client(t *testing.T) *http.Client {
	t.Helper()
	roots, err := certutil.NewPool(f.certificate)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(f.clientCertificate, f.clientKey)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
}

func newClient(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// serveTLS runs a muster that only the scheduler may call.
func (c *cluster) serveTLS(f tlsFiles, config string) *server {
	c.Helper()
	return c.serve(serving{
		config: "serving: {tls: {certFile: " + f.certificate + ", keyFile: " + f.key + ", clientCAFile: " + f.clientCA + "}}\n" + config,
		scheme: "https", client: f.client(c.T),
	})
}

// schedulerFlags are what `muster scheduler-config` must be told.
func (f tlsFiles) schedulerFlags() []string {
	return []string{"--ca-file=" + f.certificate, "--cert-file=" + f.clientCertificate, "--key-file=" + f.clientKey}
}

func TestPodsAreBoundOverTLS(t *testing.T) {
	c := newCluster(t, newNode("a", "110"))
	files := newTLSFiles(t)
	s := c.serveTLS(files, "")
	c.schedule(s.schedulerConfig(files.schedulerFlags()))
	c.createPods(newPods(20, "1")...)
	c.awaitBound(20)
	c.eventually("20 bindings are answered well", func() error { // a pod is bound before its call is counted
		if got := s.calls("bind", "ok"); got != 20 {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
	response, err := s.http.Get(s.url + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("answered over %s, want HTTP/2", response.Proto)
	}

	// Of the same authority, which signs for all the cluster.
	other, err := shared.KubeconfigFor("system:node:a")
	if err != nil {
		t.Fatal(err)
	}
	controllers, err := clientcmd.BuildConfigFromFlags("", other)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(controllers.CertData, controllers.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	stranger := newClient(
		t, &tls.Config{RootCAs: s.http.Transport.(*http.Transport).TLSClientConfig.RootCAs, Certificates: []tls.Certificate{pair}},
	)
	response, err = stranger.Post(s.url+"/bind", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if want := `the client certificate is for ["system:node:a"], and serving.tls.allowedClientNames lists ` +
		`["system:kube-scheduler"]`; err != nil ||
		response.StatusCode != http.StatusForbidden ||
		strings.TrimSpace(string(text)) != want {
		t.Errorf("another client of the authority is answered %s %s, error %v", response.Status, text, err)
	}

	strangers := x509.NewCertPool()
	for name, config := range map[string]*tls.Config{
		"without a certificate":              {RootCAs: s.http.Transport.(*http.Transport).TLSClientConfig.RootCAs},
		"that trusts another authority only": {RootCAs: strangers},
	} {
		if response, err := newClient(t, config).Get(s.url + "/livez"); err == nil {
			response.Body.Close()
			t.Errorf("a client %s was answered", name)
		}
	}
}

func TestHeldBindingsShareConnectionsOverTLS(t *testing.T) {
	const count = 60
	c := newCluster(t, newNode("a", "110"))
	files := newTLSFiles(t)
	s := c.serveTLS(files, "clientConnection: {qps: 10, burst: 1}") // a binding each 100 ms
	c.createPods(newPods(count, "1")...)
	c.schedule(s.schedulerConfig(files.schedulerFlags()))
	var held int
	c.eventually("bindings are held", func() error {
		if held = s.callsInFlight("bind"); held < count/3 {
			return fmt.Errorf("%d are", held)
		}
		return nil
	})
	// Over HTTP/1.1 each would have its own. This one is the test's, two entries of the
	// scheduler have theirs, and what they open at the same time at first.
	if got := s.connections(); got > held/2 {
		t.Errorf("%d connections for %d held bindings", got, held)
	}
	c.awaitBound(count)
}

// connections counts the established connections to muster.
func (s *server) connections() int {
	s.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if errors.Is(err, fs.ErrNotExist) {
		s.Skip("this system has no /proc/net/tcp to count connections in")
	}
	if err != nil {
		s.Fatal(err)
	}
	address, err := url.Parse(s.url)
	if err != nil {
		s.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		s.Fatal(err)
	}
	const established = "01"
	count := 0
	for row := range strings.Lines(string(table)) {
		columns := strings.Fields(row)
		if strings.HasSuffix(columns[1], fmt.Sprintf(":%04X", port)) && columns[3] == established {
			count++
		}
	}
	if count == 0 {
		s.Fatal("not even the test's own connection is in /proc/net/tcp")
	}
	return count
}
