package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/server/certs"
)

// reloadInterval is how long the files of a certificate are trusted to be
// unchanged.
const reloadInterval = time.Second

// certificates is the server's side of TLS. It reads its files again when a
// client connects after they have changed; while the new ones are not valid, the
// old ones serve on. A certificate of muster's own comes from its keeper instead.
type certificates struct {
	log   *slog.Logger
	files v1alpha2.TLS
	own   *certs.Keeper // nil when the certificate is in files

	mu      sync.Mutex
	checked time.Time
	seen    [3]fileVersion
	config  *tls.Config
}

type fileVersion struct {
	modified time.Time
	size     int64
}

// certify sets up https, if that is configured.
func (s *Server) certify() error {
	settings := s.config.Serving.TLS
	if !settings.Enabled() {
		return nil
	}
	if settings.SelfManaged.Enabled() {
		if s.client == nil {
			return errors.New("serving.tls.selfManaged: there is no API server to keep a certificate at")
		}
		s.certs = certs.New(certs.Options{Logger: s.log, Clock: clock.RealClock{}, Client: s.client, Config: settings.SelfManaged})
		s.readiness.certified = s.certs.Ready
	}
	certificates, err := newCertificates(s.log, settings, s.certs)
	if err != nil {
		return err
	}
	s.http.TLSConfig = certificates.tlsConfig()
	return nil
}

func newCertificates(log *slog.Logger, files v1alpha2.TLS, own *certs.Keeper) (*certificates, error) {
	c := &certificates{log: log, files: files, own: own, checked: time.Now()}
	c.seen = c.versions()
	var err error
	c.config, err = c.load()
	return c, err
}

// tlsConfig is what a listener needs.
func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current(time.Now()), nil
		},
	}
}

func (c *certificates) current(now time.Time) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) < reloadInterval {
		return c.config
	}
	c.checked = now
	versions := c.versions()
	if versions == c.seen {
		return c.config
	}
	c.seen = versions
	config, err := c.load()
	if err != nil {
		c.log.Error("changed certificate not loaded, the old one serves on", "err", err)
		return c.config
	}
	c.log.Info("certificate reloaded", "certFile", c.files.CertFile)
	c.config = config
	return config
}

func (c *certificates) versions() [3]fileVersion {
	var versions [3]fileVersion
	for i, name := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile} {
		if info, err := os.Stat(name); err == nil {
			versions[i] = fileVersion{modified: info.ModTime(), size: info.Size()}
		}
	}
	return versions
}

func (c *certificates) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.own != nil {
		config.GetCertificate = c.own.Certificate
	} else {
		pair, err := c.pair()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if c.files.ClientCAFile == "" {
		return config, nil
	}
	pem, err := read("clientCAFile", c.files.ClientCAFile)
	if err != nil {
		return nil, err
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("serving.tls.clientCAFile: %s holds no PEM certificate", c.files.ClientCAFile)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// pair reads the certificate and its key.
func (c *certificates) pair() (tls.Certificate, error) {
	certificate, err := read("certFile", c.files.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := read("keyFile", c.files.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return pair, fmt.Errorf("serving.tls: %s and %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	return pair, nil
}

// read reads the file that a field of serving.tls names.
func read(field, file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("serving.tls.%s: %w", field, err)
	}
	return content, nil
}
