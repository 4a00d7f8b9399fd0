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

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/app"
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
	files config.TLS
	own   *certs.Keeper // nil when the certificate is in files

	mu      sync.Mutex
	checked time.Time
	seen    [4]fileVersion
	loaded  identities
}

// identities are what a server shows and asks for, by who connects.
type identities struct{ scheduler, apiServer *tls.Config }

type fileVersion struct {
	modified time.Time
	size     int64
}

// https is how clients connect.
type https struct {
	certificates *certificates // nil for plain http
	components   []app.Component
	// ready is why nobody can connect, nil when they can.
	ready func() error
}

// newHTTPS sets up https, if that is configured.
func newHTTPS(b *base, a *api) (*https, error) {
	settings := b.Config.Serving.TLS
	h := &https{ready: func() error { return nil }}
	if !settings.Enabled() {
		return h, nil
	}
	var keeper *certs.Keeper
	if settings.SelfManaged.Enabled() {
		if !a.live() {
			return nil, errors.New("serving.tls.selfManaged: there is no API server to keep a certificate at")
		}
		o := certs.Options{
			Logger: b.Logger, Clock: clock.RealClock{}, Client: a.Core, Config: settings.SelfManaged,
			Namespace: b.Config.LeaderElection.ResourceNamespace, Webhook: b.Config.Serving.WebhookListen != "",
		}
		if b.Config.Serving.Called() {
			o.Service = b.Config.LeaderElection.ResourceName
		}
		if len(settings.AllowedClientNames) > 0 {
			o.ClientName = settings.AllowedClientNames[0]
		}
		keeper = certs.New(o)
		h.ready = keeper.Ready
		h.components = []app.Component{app.Part("certificate", app.Always, keeper.Run)}
	}
	var err error
	h.certificates, err = newCertificates(b.Logger, settings, keeper)
	return h, err
}

// forScheduler configures a listener that a kube-scheduler connects to, nil for plain http.
func (h *https) forScheduler() *tls.Config {
	if h.certificates == nil {
		return nil
	}
	return h.certificates.forScheduler()
}

// forAPIServer configures the listener of the webhook, nil for plain http.
func (h *https) forAPIServer() *tls.Config {
	if h.certificates == nil {
		return nil
	}
	return h.certificates.forAPIServer()
}

func newCertificates(log *slog.Logger, files config.TLS, own *certs.Keeper) (*certificates, error) {
	c := &certificates{log: log, files: files, own: own, checked: time.Now()}
	c.seen = c.versions()
	var err error
	c.loaded, err = c.load()
	return c, err
}

// forScheduler configures a listener that a kube-scheduler connects to.
func (c *certificates) forScheduler() *tls.Config {
	return c.tlsConfig(func(i identities) *tls.Config { return i.scheduler })
}

// forAPIServer configures the listener of the webhook.
func (c *certificates) forAPIServer() *tls.Config {
	return c.tlsConfig(func(i identities) *tls.Config { return i.apiServer })
}

func (c *certificates) tlsConfig(of func(identities) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Each connection is admitted or refused by itself, whatever client an earlier one had.
		SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return of(c.current(time.Now())), nil
		},
	}
}

func (c *certificates) current(now time.Time) identities {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) < reloadInterval {
		return c.withClients()
	}
	c.checked = now
	versions := c.versions()
	if versions == c.seen {
		return c.withClients()
	}
	c.seen = versions
	loaded, err := c.load()
	if err != nil {
		c.log.Error("changed certificate not loaded, the old one serves on", "err", err)
		return c.withClients()
	}
	c.log.Info("certificate reloaded", "certFile", c.files.CertFile)
	c.loaded = loaded
	return c.withClients()
}

// withClients sets the authorities that muster makes for its clients to the present ones.
func (c *certificates) withClients() identities {
	if c.files.SelfManaged.ClientSecretName == "" {
		return c.loaded
	}
	now := c.loaded
	now.scheduler = asking(now.scheduler, c.own.Clients())
	return now
}

// asking is a configuration that lets in whom one of the authorities has signed.
func asking(cfg *tls.Config, authorities *x509.CertPool) *tls.Config {
	cfg = cfg.Clone()
	cfg.ClientCAs, cfg.ClientAuth = authorities, tls.RequireAndVerifyClientCert
	return cfg
}

func (c *certificates) versions() (versions [4]fileVersion) {
	for i, name := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile, c.files.Webhook.ClientCAFile} {
		if info, err := os.Stat(name); err == nil {
			versions[i] = fileVersion{modified: info.ModTime(), size: info.Size()}
		}
	}
	return versions
}

func (c *certificates) load() (loaded identities, err error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, SessionTicketsDisabled: true}
	if c.own != nil {
		cfg.GetCertificate = c.own.Certificate
	} else {
		pair, err := c.pair()
		if err != nil {
			return loaded, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if loaded.scheduler, err = askingBy(cfg, "clientCAFile", c.files.ClientCAFile); err != nil {
		return loaded, err
	}
	loaded.apiServer, err = askingBy(cfg, "webhook.clientCAFile", c.files.Webhook.ClientCAFile)
	return loaded, err
}

// askingBy is a configuration that lets in whom an authority of a file has signed, or everybody if
// the field that names it is empty.
func askingBy(cfg *tls.Config, field, file string) (*tls.Config, error) {
	if file == "" {
		return cfg, nil
	}
	pem, err := read(field, file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("serving.tls.%s: %s holds no PEM certificate", field, file)
	}
	return asking(cfg, authorities), nil
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
