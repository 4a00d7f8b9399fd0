package extender_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func newClient(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestPodsAreBoundOverTLS(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "110"))
	s := c.serveAndSchedule(muster.Options{TLS: true})
	c.createPods(workload.NewPods("pod", 20, "1")...)
	c.awaitBound(20)
	// A pod is bound before its call is counted.
	c.EventuallyIs("20 bindings are answered well", 20, func() int { return s.calls("bind", "ok") })
	caller, roots := &http.Client{Transport: s.Transport()}, s.Transport().TLSClientConfig.RootCAs
	response, err := caller.Get(s.URL() + "/livez")
	c.Must(err)
	response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("answered over %s, want HTTP/2", response.Proto)
	}

	// Of the same authority, which signs for all the cluster.
	other, err := c.KubeconfigFor("system:node:a")
	c.Must(err)
	controllers, err := clientcmd.BuildConfigFromFlags("", other)
	c.Must(err)
	pair, err := tls.X509KeyPair(controllers.CertData, controllers.KeyData)
	c.Must(err)
	stranger := newClient(
		t, &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	)
	response, err = stranger.Post(s.URL()+"/bind", "application/json", strings.NewReader("{}"))
	c.Must(err)
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
		"without a certificate":              {RootCAs: roots},
		"that trusts another authority only": {RootCAs: strangers},
	} {
		if response, err := newClient(t, config).Get(s.URL() + "/livez"); err == nil {
			response.Body.Close()
			t.Errorf("a client %s was answered", name)
		}
	}
}

func TestHeldBindingsShareConnectionsOverTLS(t *testing.T) {
	lab.Long(t)
	const count = 60
	c := newCluster(t, workload.NewNode("a", "110"))
	s := c.serve(muster.Options{TLS: true, Text: "clientConnection: {qps: 8}"}) // a binding each 125 ms, after the first 16
	c.createPods(workload.NewPods("pod", count, "1")...)
	c.Schedule(s.schedulerConfig(nil))
	var held int
	c.Eventually("bindings are held", func() error {
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
	s.Must(err)
	address, err := url.Parse(s.URL())
	s.Must(err)
	port, err := strconv.Atoi(address.Port())
	s.Must(err)
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
