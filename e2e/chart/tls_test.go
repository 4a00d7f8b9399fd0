package chart

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/lab"
)

// tlsSecret holds what muster makes itself.
const tlsSecret = "muster-tls"

func TestMusterKeepsItsOwnCertificateWithTheChartsOwnRightsAndNeedsEachOfThem(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	values := append(
		installedValues("external"),
		"--set=tls.selfManaged.enabled=true,tls.clientAuth=true,webhook.enabled=true,service.clusterIP=10.0.0.88",
	)
	c.install(values...)
	k := newKubelet(c)
	k.runs("muster")

	first := c.authority()
	for _, name := range []string{"muster.kube-system.svc", "10.0.0.88", "127.0.0.1"} {
		c.Eventually("it is called by "+name, func() error { return k.calls(first, name) })
	}
	if err := k.calls(first, "kubernetes.default.svc"); err == nil {
		t.Error("the certificate is for other Services as well")
	}
	c.webhookTrusts(first)

	c.helm(append([]string{"upgrade", release, chartDir, "--set=webhook.timeoutSeconds=3"}, values...)...)
	if c.authority() != first {
		t.Error("an upgrade changes the authority")
	}
	c.webhookTrusts(first)

	// Emptying the Secret rotates everything.
	secrets := c.Client.CoreV1().Secrets(namespace)
	_, err := secrets.Patch(t.Context(), tlsSecret, types.MergePatchType, []byte(`{"data": null}`), metav1.PatchOptions{})
	c.Must(err)
	c.Eventually("there is another authority, whose certificate is served", func() error {
		now := c.authority()
		if now == first || now == "" {
			return errors.New("there is not")
		}
		return k.calls(now, "muster.kube-system.svc")
	})
	if err := k.calls(first, "muster.kube-system.svc"); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("to a caller that trusts the old authority: error %v", err)
	}
	c.webhookTrusts(c.authority())

	c.judge("muster", rightsOf(t, render(t, values...), tlsSecret))
	c.helm("uninstall", release, "--no-hooks") // no kubelet runs the Job of the hook
	if _, err := secrets.Get(t.Context(), tlsSecret, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret outlives muster, error %v", err)
	}
}

func TestAKubeSchedulerBesideMusterTrustsTheCertificateThatMusterMakes(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install(append(installedValues("sidecar"), "--set=tls.selfManaged.enabled=true")...)
	k := newKubelet(c)
	k.runs("muster")
	c.createNode("tls", "tls", "8")
	c.Create(newPod("over-tls", "tls", "1"))
	c.awaitBound("over-tls")
	if _, err := get(k.url("http", portVerbs, "/version")); err == nil {
		t.Error("muster is called over plain http")
	}
}

// authority returns the PEM that callers of muster have to trust.
func (c *cluster) authority() string {
	c.Helper()
	secret, err := c.Client.CoreV1().Secrets(namespace).Get(c.Context(), tlsSecret, metav1.GetOptions{})
	c.Must(err)
	return string(secret.Data["ca.crt"])
}

// calls asks muster by a name, as a kube-scheduler does that trusts an authority and has the certificate of now.
func (k *kubelet) calls(authority, name string) error {
	k.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		return fmt.Errorf("ca.crt is no PEM: %q", authority)
	}
	secret, err := k.Client.CoreV1().Secrets(namespace).Get(k.Context(), "muster-kube-scheduler-tls", metav1.GetOptions{})
	k.Must(err)
	shown, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err // it is still to come
	}
	config := &tls.Config{RootCAs: roots, ServerName: name, Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
	_, err = read(client(config), k.url("https", portVerbs, "/version"))
	return err
}

// webhookTrusts waits until the API server would trust an authority when it asks for gates.
func (c *cluster) webhookTrusts(authority string) {
	c.Helper()
	c.Eventually("the webhook has the authority", func() error {
		configuration, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(c.Context(), release, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range configuration.Webhooks {
			if got := string(configuration.Webhooks[i].ClientConfig.CABundle); got != authority {
				return fmt.Errorf("%s has %q", configuration.Webhooks[i].Name, got)
			}
		}
		return nil
	})
}
