package certs

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
)

const clientSecret = "muster-kube-scheduler-tls"

// installedForClients are what is installed, and the Secret of kube-scheduler.
func installedForClients() []runtime.Object {
	return append(
		installed(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: clientSecret, ResourceVersion: "1"}},
	)
}

func newReplicaForClients(t *testing.T, a api) *replica {
	t.Helper()
	r := newReplica(t, a, func(o *Options) { o.Config.ClientSecretName = clientSecret })
	r.ClientName = config.KubeScheduler
	return r
}

// data returns the content of a Secret.
func (r *replica) data(name string) map[string][]byte {
	r.Helper()
	secret, err := r.client.CoreV1().Secrets("kube-system").Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return secret.Data
}

// letsIn says why a caller with what a Secret held is refused, or refuses.
func (r *replica) letsIn(shows map[string][]byte) error {
	r.Helper()
	pair, err := tls.X509KeyPair(shows[corev1.TLSCertKey], shows[corev1.TLSPrivateKeyKey])
	if err != nil {
		r.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{
		Roots: r.Clients(), CurrentTime: r.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(shows[caCertKey])
	serves, err := r.Certificate(nil)
	if err == nil {
		_, err = serves.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "10.0.0.88", CurrentTime: r.clock.Now()})
	}
	return err
}

func TestASecretHoldsWhatKubeSchedulerCallsWithAndNothingElse(t *testing.T) {
	r := newReplicaForClients(t, newAPI(installedForClients()...))
	r.mustLook()
	holds := r.data(clientSecret)
	if err := r.letsIn(holds); err != nil {
		t.Error(err)
	}
	var keys []string
	for _, key := range []string{caCertKey, caPrivateKeyKey, clientCACertKey, clientCAPrivateKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if holds[key] != nil {
			keys = append(keys, key)
		}
	}
	if diff := cmp.Diff([]string{caCertKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, keys); diff != "" || len(holds) != 3 {
		t.Errorf("it holds %d keys (-want +got):\n%s", len(holds), diff)
	}
	leaf := parsePair(holds).Leaf
	if leaf.Subject.CommonName != config.KubeScheduler || leaf.IsCA ||
		!cmp.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		t.Errorf("the certificate is for %q, an authority (%t), or for %v", leaf.Subject.CommonName, leaf.IsCA, leaf.ExtKeyUsage)
	}
	// Nobody who is trusted as muster is trusted as its client, and the other way round.
	own := parse(r.data("muster-tls"))
	if own.clients.signed(own.certificate.Leaf) || own.authorities.signed(leaf) {
		t.Error("one authority signs for both")
	}
	written := r.updates()
	r.mustLook()
	if got := r.updates(); got != written {
		t.Errorf("%d Secrets are written that were up to date", got-written)
	}
}

func TestBeforeTheFirstLookNoClientIsTrusted(t *testing.T) {
	r := newReplicaForClients(t, newAPI(installedForClients()...))
	if pool := r.Clients(); pool == nil || !pool.Equal(x509.NewCertPool()) {
		t.Errorf("the pool is %v, want an empty one: without any, the machine's authorities would do", pool)
	}
	if _, err := r.Certificate(nil); err == nil {
		t.Error("a certificate is served that there is not")
	}
}

func TestACertificateOfAClientIsRenewedWithFourMonthsLeftAndTheOldOneGoesOn(t *testing.T) {
	r := newReplicaForClients(t, newAPI(installedForClients()...))
	r.mustLook()
	first := r.data(clientSecret)
	r.clock.Step(240 * day)
	r.mustLook()
	if !cmp.Equal(first[corev1.TLSCertKey], r.data(clientSecret)[corev1.TLSCertKey]) {
		t.Error("it is renewed after 240 days")
	}
	r.clock.Step(4 * day)
	r.mustLook()
	second := r.data(clientSecret)
	if cmp.Equal(first[corev1.TLSCertKey], second[corev1.TLSCertKey]) {
		t.Error("it is not renewed after 244 days")
	}
	r.clock.Step(110 * day)
	r.mustLook()
	for name, shown := range map[string]map[string][]byte{"first": first, "second": second} {
		if err := r.letsIn(shown); err != nil {
			t.Errorf("after 354 days the %s is refused: %v", name, err)
		}
	}
	r.clock.Step(20 * day)
	r.mustLook()
	if err := r.letsIn(first); err == nil {
		t.Error("after 374 days the first is let in")
	}
}

func TestToTakeTheAuthorityOfClientsAwayIsToRevokeItsCertificates(t *testing.T) {
	r := newReplicaForClients(t, newAPI(installedForClients()...))
	r.mustLook()
	first, serves := r.data(clientSecret), r.serves()
	secret, err := r.client.CoreV1().Secrets("kube-system").Get(t.Context(), "muster-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(secret.Data, clientCACertKey)
	delete(secret.Data, clientCAPrivateKey)
	if _, err := r.client.CoreV1().Secrets("kube-system").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.mustLook()
	if err := r.letsIn(first); err == nil {
		t.Error("the certificate is let in that was there before")
	}
	if err := r.letsIn(r.data(clientSecret)); err != nil {
		t.Errorf("the new one is refused: %v", err)
	}
	if !cmp.Equal(serves, r.serves()) {
		t.Error("muster's own certificate is another one")
	}
}

func TestASecretOfAClientThatDoesNotFitIsMadeAnew(t *testing.T) {
	r := newReplicaForClients(t, newAPI(installedForClients()...))
	r.mustLook()
	own := parse(r.data("muster-tls"))
	for name, test := range map[string]struct {
		spoil func(*client)
		name  string
		want  []string
	}{
		"nothing is wrong":            {func(*client) {}, config.KubeScheduler, nil},
		"it is empty":                 {func(c *client) { *c = client{} }, config.KubeScheduler, []string{whyNoCertificate, whyOtherBundle}},
		"it is for another name":      {func(*client) {}, "scheduler.example.com", []string{whyOtherNames}},
		"another authority signed it": {func(c *client) { c.certificate = own.certificate }, config.KubeScheduler, []string{whyOtherAuthority}},
		"it trusts somebody else":     {func(c *client) { c.bundle = []byte("x") }, config.KubeScheduler, []string{whyOtherBundle}},
	} {
		t.Run(name, func(t *testing.T) {
			c := parseClient(r.data(clientSecret))
			test.spoil(&c)
			why, err := c.renew(start.Add(time.Hour), test.name, &own)
			if diff := cmp.Diff(test.want, why); diff != "" || err != nil {
				t.Errorf("error %v, renewed (-want +got):\n%s", err, diff)
			}
			if again, err := c.renew(start.Add(time.Hour), test.name, &own); len(again) > 0 || err != nil {
				t.Errorf("renewed again: %v, error %v", again, err)
			}
		})
	}
}

func TestAClientThatTakesItsCertificateEveryThreeMonthsIsAlwaysLetIn(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		own, theirs := material{}, client{}
		now := start
		look := func() {
			if _, err := own.renew(now, ourNames, true); err != nil {
				t.Fatal(err)
			}
			if _, err := theirs.renew(now, config.KubeScheduler, &own); err != nil {
				t.Fatal(err)
			}
		}
		look()
		now = start.AddDate(8, 9, 0) // before the first authority gets a successor
		look()
		shows, taken := theirs.certificate.Leaf, now
		for end := start.AddDate(10, 9, 0); now.Before(end); look() {
			// A certificate that has two thirds of its time and 30 days behind it is good for 91 more.
			now = now.Add(time.Duration(rapid.IntRange(10, 30).Draw(t, "days")) * day)
			if now.Sub(taken) > 90*day {
				shows, taken = theirs.certificate.Leaf, now
			}
			if _, err := shows.Verify(
				x509.VerifyOptions{Roots: own.clients.pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
			); err != nil {
				t.Fatalf("at %v it is refused, taken at %v: %v", now, taken, err)
			}
		}
	})
}
