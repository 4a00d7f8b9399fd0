package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
)

// Interval is the time between two looks at the Secret, and how long one may take.
const Interval = 10 * time.Second

var errNoCertificate = errors.New("there is no certificate yet")

// Options of a Keeper. All are required that do not say otherwise.
type Options struct {
	Logger *slog.Logger
	Clock  clock.Clock
	Client kubernetes.Interface
	Config config.SelfManaged
	// Namespace holds the Secrets and the Service.
	Namespace string
	// Service is the name of the Service through which muster is called, "" where it is called on loopback alone.
	Service string
	// Webhook, which may be false, has the MutatingWebhookConfiguration of the Service's name be told what has signed the certificate.
	Webhook bool
	// ClientName is whom the certificate is for that kube-scheduler calls with, if the
	// configuration names a Secret for it.
	ClientName string
}

// Keeper keeps a certificate. Its methods may be called from several goroutines, Run once.
type Keeper struct {
	Options
	current atomic.Pointer[kept]
}

// kept is the content of the Secret at the last look.
type kept struct {
	certificate *tls.Certificate
	clients     *x509.CertPool
}

// New returns a Keeper without a certificate: Run gets it one.
func New(o Options) *Keeper { return &Keeper{Options: o} }

// Ready is why there is no certificate to serve with, nil when there is one.
func (k *Keeper) Ready() error {
	if k.current.Load() == nil {
		return errNoCertificate
	}
	return nil
}

// Certificate serves as [tls.Config.GetCertificate].
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if now := k.current.Load(); now != nil {
		return now.certificate, nil
	}
	return nil, errNoCertificate
}

// Clients are the authorities of the certificates that muster makes for its clients: an empty pool,
// which lets nobody in, while there are none.
func (k *Keeper) Clients() *x509.CertPool {
	if now := k.current.Load(); now != nil {
		return now.clients
	}
	return x509.NewCertPool()
}

// Run keeps the certificate until the context ends. What fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.Logger.Error("certificate not kept", "secret", k.Namespace+"/"+k.Config.SecretName, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.Clock.After(Interval):
		}
	}
}

// look brings the Secrets, the certificate and those who have to know up to date.
func (k *Keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Interval)
	defer cancel()
	var service *corev1.Service
	var err error
	if k.Service != "" {
		if service, err = k.Client.CoreV1().Services(k.Namespace).Get(ctx, k.Service, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	found, err := k.keepOwn(ctx, namesOf(service))
	if err != nil {
		return err
	}
	bundle, err := found.authorities.bundle()
	if err != nil {
		return err
	}
	// A kube-scheduler in the same pod reads the file when muster is ready.
	if err := k.writeCA(bundle); err != nil {
		return err
	}
	k.current.Store(&kept{found.certificate, found.clients.pool()})
	return errors.Join(k.keepClient(ctx, &found), k.tellWebhook(ctx, bundle))
}

// keepOwn renews what is due in muster's own Secret, and returns what it holds.
func (k *Keeper) keepOwn(ctx context.Context, n names) (m material, err error) {
	err = k.keep(ctx, k.Config.SecretName, func(data map[string][]byte) (holding, []string, error) {
		m = parse(data)
		why, err := m.renew(k.Clock.Now(), n, k.Config.ClientSecretName != "")
		return &m, why, err
	})
	return m, err
}

// keepClient renews what is due in the Secret of kube-scheduler, if there is one.
func (k *Keeper) keepClient(ctx context.Context, own *material) error {
	if k.Config.ClientSecretName == "" {
		return nil
	}
	return k.keep(ctx, k.Config.ClientSecretName, func(data map[string][]byte) (holding, []string, error) {
		c := parseClient(data)
		why, err := c.renew(k.Clock.Now(), k.ClientName, own)
		return &c, why, err
	})
}

// holding is the content of a Secret.
type holding interface {
	encode() (map[string][]byte, error)
	expires() time.Time
}

// keep has renew look at the data of a Secret, and writes what it holds then, unless nothing was due. It is asked again when another
// replica was faster.
func (k *Keeper) keep(ctx context.Context, name string, renew func(data map[string][]byte) (next holding, why []string, err error)) error {
	secrets := k.Client.CoreV1().Secrets(k.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		next, why, err := renew(secret.Data)
		if err != nil || len(why) == 0 {
			return err
		}
		if secret.Data, err = next.encode(); err != nil {
			return err
		}
		if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
			return err
		}
		k.Logger.Info("certificate renewed", "secret", k.Namespace+"/"+name, "reason", strings.Join(why, "; "), "expires", next.expires())
		return nil
	})
}

// writeCA writes ca.crt where a kube-scheduler in the same pod reads it, whole or not at all.
func (k *Keeper) writeCA(bundle []byte) error {
	path := k.Config.CAFile
	if path == "" {
		return nil
	}
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, bundle) {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".ca-*")
	if err != nil {
		return fmt.Errorf("serving.tls.selfManaged.caFile: %w", err)
	}
	defer os.Remove(file.Name()) // it is not there when all went well
	_, err = file.Write(bundle)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("serving.tls.selfManaged.caFile: %w", err)
	}
	return nil
}

// tellWebhook has the API server trust the certificate when it asks for gates.
func (k *Keeper) tellWebhook(ctx context.Context, bundle []byte) error {
	if !k.Webhook || k.Service == "" {
		return nil
	}
	webhooks := k.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration, err := webhooks.Get(ctx, k.Service, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changed := false
	for i := range configuration.Webhooks {
		client := &configuration.Webhooks[i].ClientConfig
		if service := client.Service; service == nil || service.Name != k.Service || service.Namespace != k.Namespace ||
			bytes.Equal(client.CABundle, bundle) {
			continue // another's, or up to date
		}
		client.CABundle, changed = bundle, true
	}
	if !changed {
		return nil
	}
	_, err = webhooks.Update(ctx, configuration, metav1.UpdateOptions{})
	return err
}
