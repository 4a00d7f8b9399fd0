package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/certs"
)

// authority signs the certificates of a test.
type authority struct {
	*testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.certificate, a.pem = template, a.sign(template, template, a.key)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns a certificate for clients and for servers on 127.0.0.1, and its key.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	return a.sign(template, a.certificate, private), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// client is the configuration of a client that trusts the authority.
func (a *authority) client() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.pem)
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// clientNamed is a client that shows a certificate.
func (a *authority) clientNamed(name string, signer *authority) *tls.Config {
	a.Helper()
	pair, err := tls.X509KeyPair(signer.issue(name))
	if err != nil {
		a.Fatal(err)
	}
	cfg := a.client()
	cfg.Certificates = []tls.Certificate{pair}
	return cfg
}

// identity is a directory with the files of a server's identity.
type identity struct {
	*testing.T
	config.TLS
	writes int
}

func newIdentity(t *testing.T) *identity {
	t.Helper()
	dir := t.TempDir()
	return &identity{T: t, TLS: config.TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}}
}

func (i *identity) write(certificate, key []byte) {
	i.Helper()
	i.file(i.CertFile, certificate)
	i.file(i.KeyFile, key)
}

// file gives each version a time of its own, however fast they follow.
func (i *identity) file(path string, content []byte) {
	i.Helper()
	i.writes++
	written := time.Unix(int64(i.writes), 0)
	if err := errors.Join(os.WriteFile(path, content, 0o600), os.Chtimes(path, written, written)); err != nil {
		i.Fatal(err)
	}
}

// handshake connects a client and returns the name that the server shows it.
func handshake(t *testing.T, c *certificates, client *tls.Config) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	served := make(chan error, 1)
	go func() {
		defer far.Close()
		served <- tls.Server(far, c.forScheduler()).Handshake()
	}()
	connection := tls.Client(near, client)
	err := connection.Handshake()
	if err == nil {
		// In TLS 1.3 it is the server that has the last word, about the client's certificate.
		_, err = io.Copy(io.Discard, connection)
	}
	near.Close()
	if err := errors.Join(err, <-served); err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestChangedCertificatesAreServedToNewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, files := newAuthority(t), newIdentity(t)
		var log bytes.Buffer
		files.write(ca.issue("first"))
		c, err := newCertificates(slog.New(slog.NewTextHandler(&log, nil)), files.TLS, nil)
		if err != nil {
			t.Fatal(err)
		}
		serves := func(when, want string) {
			t.Helper()
			if got, err := handshake(t, c, ca.client()); err != nil || got != want {
				t.Errorf("%s: %q is served (error %v), want %q", when, got, err, want)
			}
		}
		later := func() { <-time.After(reloadInterval) }

		serves("at first", "first")
		files.write(ca.issue("second"))
		serves("within the interval", "first")
		later()
		serves("after the interval", "second")

		files.file(files.CertFile, []byte("not PEM"))
		later()
		serves("when the new certificate is broken", "second")
		if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "failed to find any PEM data") {
			t.Errorf("the broken certificate is logged as %q", text)
		}
		certificate, key := ca.issue("third")
		files.file(files.CertFile, certificate)
		later()
		serves("while the key is still to come", "second")
		files.file(files.KeyFile, key)
		later()
		serves("when both are there", "third")
		if err := os.Remove(files.CertFile); err != nil {
			t.Fatal(err)
		}
		later()
		serves("when the file is gone", "third")
	})
}

func TestOnlyClientsOfTheClientCAAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
		files := newIdentity(t)
		files.write(ca.issue("server"))
		files.ClientCAFile = filepath.Join(t.TempDir(), "client-ca.crt")
		files.file(files.ClientCAFile, clients.pem)
		c, err := newCertificates(slog.New(slog.DiscardHandler), files.TLS, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := handshake(t, c, ca.client()); err == nil || !strings.Contains(err.Error(), "client didn't provide a certificate") {
			t.Errorf("without a certificate: error %v", err)
		}
		if _, err := handshake(t, c, ca.clientNamed("scheduler", others)); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("with a certificate of another authority: error %v", err)
		}
		if _, err := handshake(t, c, ca.clientNamed("scheduler", clients)); err != nil {
			t.Errorf("with a certificate of the client CA: %v", err)
		}
		files.file(files.ClientCAFile, others.pem)
		<-time.After(reloadInterval)
		if _, err := handshake(t, c, ca.clientNamed("scheduler", others)); err != nil {
			t.Errorf("with a certificate of the new client CA: %v", err)
		}
	})
}

func TestACertificateOfMustersOwnIsServedOnceItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "kube-system", Name: name} }
		client := fake.NewClientset(&corev1.Secret{ObjectMeta: meta("muster-tls")}, &corev1.Service{ObjectMeta: meta("muster")})
		clients := newAuthority(t)
		settings := config.TLS{
			ClientCAFile: filepath.Join(t.TempDir(), "client-ca.crt"),
			SelfManaged:  config.SelfManaged{SecretName: "muster-tls"},
		}
		newIdentity(t).file(settings.ClientCAFile, clients.pem)
		keeper := certs.New(certs.Options{
			Logger: slog.New(slog.DiscardHandler), Clock: clocktesting.NewFakeClock(time.Now()), Client: client, Config: settings.SelfManaged,
			Namespace: "kube-system", Service: "muster",
		})
		c, err := newCertificates(slog.New(slog.DiscardHandler), settings, keeper)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := handshake(t, c, clients.client()); err == nil || !strings.Contains(err.Error(), "there is no certificate yet") {
			t.Errorf("before it is there: error %v", err)
		}
		election, err := app.NewElection(app.ElectionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		process := &app.Process{Logger: slog.New(slog.DiscardHandler), Election: election}
		go func() { _ = process.Run(ctx) }() // so that it leads
		synctest.Wait()
		ready := app.NewReadiness(app.ReadinessOptions{Synced: func() bool { return true }, Certified: keeper.Ready, Election: election})
		if err := ready.Ready(); err == nil || err.Error() != "serving.tls.selfManaged: there is no certificate yet" {
			t.Errorf("before it is there, readiness says: %v", err)
		}

		go keeper.Run(ctx)
		synctest.Wait()
		if err := ready.Ready(); err != nil {
			t.Errorf("when it is there, readiness says: %v", err)
		}
		secret, err := client.CoreV1().Secrets("kube-system").Get(ctx, "muster-tls", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		caller := clients.clientNamed("scheduler", clients)
		caller.RootCAs, caller.ServerName = x509.NewCertPool(), "muster.kube-system.svc"
		caller.RootCAs.AppendCertsFromPEM(secret.Data["ca.crt"])
		if name, err := handshake(t, c, caller); err != nil || name != "muster" {
			t.Errorf("when it is there: %q is served, error %v", name, err)
		}
		caller.Certificates = nil
		if _, err := handshake(t, c, caller); err == nil || !strings.Contains(err.Error(), "client didn't provide a certificate") {
			t.Errorf("to a client without a certificate: error %v", err)
		}
	})
}

func TestACertificateOfMustersOwnNeedsAnAPIServer(t *testing.T) {
	cfg := config.Default()
	cfg.Serving.Listen, cfg.Debug.Listen = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Serving.TLS.SelfManaged = config.SelfManaged{SecretName: "muster-tls"}
	_, err := New(quiet(cfg))
	if err == nil || !strings.HasPrefix(err.Error(), "serving.tls.selfManaged: ") {
		t.Errorf("error %v, want one about serving.tls.selfManaged", err)
	}
}

func TestCertificateErrorsNameTheFieldAndTheFile(t *testing.T) {
	ca := newAuthority(t)
	certificate, key := ca.issue("server")
	_, otherKey := ca.issue("other")
	for name, test := range map[string]struct {
		certificate, key, clientCA []byte
		want                       string // with the directory left out
	}{
		"no certificate":     {nil, key, ca.pem, "serving.tls.certFile: open tls.crt: no such file or directory"},
		"no key":             {certificate, nil, ca.pem, "serving.tls.keyFile: open tls.key: no such file or directory"},
		"no client CA":       {certificate, key, nil, "serving.tls.clientCAFile: open client-ca.crt: no such file or directory"},
		"the key of another": {certificate, otherKey, ca.pem, "serving.tls: tls.crt and tls.key: tls: private key does not match public key"},
		"something else than PEM": {
			[]byte("x"), key, ca.pem, "serving.tls: tls.crt and tls.key: tls: failed to find any PEM data in certificate input",
		},
		"an empty client CA": {certificate, key, []byte{}, "serving.tls.clientCAFile: client-ca.crt holds no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := config.TLS{
				CertFile:     filepath.Join(dir, "tls.crt"),
				KeyFile:      filepath.Join(dir, "tls.key"),
				ClientCAFile: filepath.Join(dir, "client-ca.crt"),
			}
			for path, content := range map[string][]byte{
				files.CertFile: test.certificate, files.KeyFile: test.key, files.ClientCAFile: test.clientCA,
			} {
				if content == nil {
					continue
				}
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := newCertificates(slog.New(slog.DiscardHandler), files, nil)
			if err == nil || strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
