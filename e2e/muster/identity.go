package muster

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"

	"muster.dev/muster/e2e/controlplane"
)

// identity is by what a muster that serves https is known, and by what it knows its scheduler.
type identity struct {
	path        string // that the names of its files begin with
	certificate []byte // in PEM, signed by itself
	roots       *tls.Config
	mutual      bool // only the scheduler may call
}

// Files of an identity.
const (
	certFile, keyFile             = ".crt", ".key"
	clientCertFile, clientKeyFile = "-client.crt", "-client.key"
	clientCAFile                  = "-client-ca.crt"
)

// newIdentity makes one whose files have names that begin with a path.
func newIdentity(path string) (*identity, error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("muster", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make muster's certificate: %w", err)
	}
	roots, err := certutil.NewPoolFromBytes(certificate)
	if err != nil {
		return nil, fmt.Errorf("read muster's certificate: %w", err)
	}
	i := &identity{path: path, certificate: certificate, roots: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return i, i.write(map[string][]byte{certFile: certificate, keyFile: key})
}

// trust has muster answer the scheduler of a control plane only, which the transport then is.
func (i *identity) trust(cp *controlplane.ControlPlane) error {
	kubeconfig, err := cp.KubeconfigFor("system:kube-scheduler")
	if err != nil {
		return fmt.Errorf("make the scheduler's certificate: %w", err)
	}
	client, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the scheduler's kubeconfig: %w", err)
	}
	pair, err := tls.X509KeyPair(client.CertData, client.KeyData)
	if err != nil {
		return fmt.Errorf("read the scheduler's certificate: %w", err)
	}
	i.mutual, i.roots.Certificates = true, []tls.Certificate{pair}
	return i.write(map[string][]byte{clientCertFile: client.CertData, clientKeyFile: client.KeyData, clientCAFile: client.CAData})
}

func (i *identity) write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(i.path+name, content, 0o600); err != nil {
			return fmt.Errorf("write muster's certificates: %w", err)
		}
	}
	return nil
}

// serving is the section of muster's configuration. The address of the webhook is "" for none.
func (i *identity) serving(webhook string) map[string]any {
	files := map[string]any{"certFile": i.path + certFile, "keyFile": i.path + keyFile}
	if i.mutual {
		files["clientCAFile"] = i.path + clientCAFile
	}
	serving := map[string]any{"tls": files}
	if webhook != "" {
		serving["webhookListen"] = webhook
	}
	return serving
}

// schedulerFlags are what `muster scheduler-config` must be told.
func (i *identity) schedulerFlags() []string {
	flags := []string{"--ca-file=" + i.path + certFile}
	if i.mutual {
		flags = append(flags, "--cert-file="+i.path+clientCertFile, "--key-file="+i.path+clientKeyFile)
	}
	return flags
}

// transport calls muster; that of no identity, without TLS.
func (i *identity) transport() *http.Transport {
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	if i != nil {
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = i.roots, true
	}
	return transport
}
