package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
)

// Interval is the time between two looks at the Secret, and how long one may take.
const Interval = 10 * time.Second

var errNoCertificate = errors.New("there is no certificate yet")

// Options of a Keeper. All are required.
type Options struct {
	Logger *slog.Logger
	Clock  clock.Clock
	Client kubernetes.Interface
	Config v1alpha2.SelfManaged
}

// Keeper keeps a certificate. Its methods may be called from several goroutines, Run once.
type Keeper struct {
	Options
	current atomic.Pointer[tls.Certificate]
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

// Certificate is what [tls.Config.GetCertificate] wants.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return k.current.Load(), k.Ready()
}

// Run keeps the certificate until the context ends. What fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.Logger.Error("certificate not kept", "secret", k.Config.Namespace+"/"+k.Config.SecretName, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.Clock.After(Interval):
		}
	}
}

// look brings the Secret, the certificate and those who have to know up to date.
func (k *Keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Interval)
	defer cancel()
	service, err := k.Client.CoreV1().Services(k.Config.Namespace).Get(ctx, k.Config.ServiceName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var found material
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err = k.read(ctx, namesOf(service))
		return err
	})
	if err != nil {
		return err
	}
	bundle, err := found.bundle()
	if err != nil {
		return err
	}
	// A kube-scheduler in the same pod reads the file when muster is ready.
	if err := k.writeCA(bundle); err != nil {
		return err
	}
	k.current.Store(found.certificate)
	return k.tellWebhook(ctx, bundle)
}

// read returns what the Secret holds, after it has renewed what is due. When another replica was faster the error is a conflict.
func (k *Keeper) read(ctx context.Context, n names) (material, error) {
	secrets := k.Client.CoreV1().Secrets(k.Config.Namespace)
	secret, err := secrets.Get(ctx, k.Config.SecretName, metav1.GetOptions{})
	if err != nil {
		return material{}, err
	}
	m := parse(secret.Data)
	why, err := m.renew(k.Clock.Now(), n)
	if err != nil || len(why) == 0 {
		return m, err
	}
	if secret.Data, err = m.encode(); err != nil {
		return m, err
	}
	if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return m, err
	}
	k.Logger.Info("certificate renewed", "secret", k.Config.Namespace+"/"+k.Config.SecretName, "reason", strings.Join(why, "; "), "authorities", len(m.authorities), "expires", m.certificate.Leaf.NotAfter)
	return m, nil
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
	if k.Config.WebhookName == "" {
		return nil
	}
	webhooks := k.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration, err := webhooks.Get(ctx, k.Config.WebhookName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changed := false
	for i := range configuration.Webhooks {
		client := &configuration.Webhooks[i].ClientConfig
		if service := client.Service; service == nil || service.Name != k.Config.ServiceName || service.Namespace != k.Config.Namespace || bytes.Equal(client.CABundle, bundle) {
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
