package attack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"

	"muster.dev/muster/e2e/process"
)

// guarded is a muster that only kube-scheduler may call, with a certificate, and that an API server
// may ask for gates. It answers from a dump, as nothing is asked of it that takes an API server.
type guarded struct {
	process *process.Process
	verbs   string // URLs
	webhook string
	roots   *x509.CertPool
}

// dump is a cluster of one node.
const dump = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
]}`

const guardedConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
serving:
  webhookListen: %s
  tls: {certFile: %s, keyFile: %s, clientCAFile: %s}
gangs: {gates: UntilMembers, gatedBy: Webhook}
`

func (g *ground) startGuarded(ctx context.Context) error {
	dir := g.cp.Dir()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("muster", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("make muster's certificate: %w", err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", g.cp.Kubeconfig())
	if err != nil {
		return err
	}
	var addresses []string
	for range 3 {
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	file := func(name string) string { return filepath.Join(dir, "guarded-"+name) }
	config := fmt.Sprintf(guardedConfig, addresses[2], file("tls.crt"), file("tls.key"), file("client-ca.crt"))
	for name, content := range map[string][]byte{
		"tls.crt": certificate, "tls.key": key, "client-ca.crt": admin.CAData, "muster.yaml": []byte(config), "dump.json": []byte(dump),
	} {
		if err := os.WriteFile(file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the files of a muster: %w", err)
		}
	}
	g.guarded = &guarded{verbs: "https://" + addresses[0], webhook: "https://" + addresses[2]}
	if g.guarded.roots, err = certutil.NewPoolFromBytes(certificate); err != nil {
		return err
	}
	g.guarded.process, err = process.Start(process.Spec{
		Name: "guarded",
		Path: g.binary,
		Log:  file("muster.log"),
		Args: []string{
			"serve",
			"--config=" + file("muster.yaml"),
			"--snapshot=" + file("dump.json"),
			"--listen=" + addresses[0],
			"--debug-listen=" + addresses[1],
		},
	})
	if err != nil {
		return err
	}
	g.closers = append(g.closers, func() { g.guarded.process.Stop(10 * time.Second) })
	return g.guarded.process.Await(ctx, func(ctx context.Context) error {
		if got := g.call(ctx, http.MethodGet, "http://"+addresses[1]+"/readyz", nil); got.status != http.StatusOK {
			return fmt.Errorf("it answers %s", got)
		}
		return nil
	})
}

// client shows a certificate, or none.
func (s *guarded) client(certificates ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: s.roots, Certificates: certificates, MinVersion: tls.VersionTLS12},
	}}
}
