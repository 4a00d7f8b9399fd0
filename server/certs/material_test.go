package certs

import (
	"bytes"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

const day = 24 * time.Hour

var (
	start    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ourNames = names{dns: []string{"muster.kube-system.svc"}, ips: []net.IP{net.IPv4(10, 0, 0, 88)}}
)

// trouble has the methods that [testing.T] and [rapid.T] share.
type trouble interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// secret is a Secret with its content and the time.
type secret struct {
	trouble
	now  time.Time
	data map[string][]byte
}

func newSecret(t trouble) *secret { return &secret{trouble: t, now: start} }

// renewed makes what is due, and writes it down if it is anything.
func (s *secret) renewed(n names) (why []string) {
	s.Helper()
	m := parse(s.data)
	why, err := m.renew(s.now, n, false)
	if err != nil {
		s.Fatal(err)
	}
	if len(why) > 0 {
		if s.data, err = m.encode(); err != nil {
			s.Fatal(err)
		}
	}
	return why
}

// verifies says whether a caller with this ca.crt trusts the certificate now.
func (s *secret) verifies(bundle []byte, name string) error {
	s.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		s.Fatalf("ca.crt is no PEM: %q", bundle)
	}
	m := parse(s.data)
	if m.certificate == nil {
		s.Fatal("there is no certificate")
	}
	_, err := m.certificate.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: s.now})
	return err
}

func TestThingsAreRenewedWhenTheyAreDueAndNotBefore(t *testing.T) {
	s := newSecret(t)
	for _, step := range []struct {
		when string
		at   time.Duration
		want []string
		// trusted is how many authorities there are then.
		trusted int
	}{
		{"when the Secret is empty", 0, []string{whyNoAuthority, whyNoCertificate}, 1},
		{"at once", 0, nil, 1},
		{"before two thirds of 90 days are over", 59 * day, nil, 1},
		{"after two thirds of 90 days", 61 * day, []string{whyCertificateEnds}, 1},
		{"when the certificate has ended long ago", 1000 * day, []string{whyCertificateEnds}, 1},
		{"more than a year before the authority's end", 3650*day - 366*day, []string{whyCertificateEnds}, 1},
		{"less than a year before the authority's end", 3650*day - 364*day, []string{whySuccessor}, 2},
		{"while the authority outlives what it signs", 3650*day - 100*day, []string{whyCertificateEnds}, 2},
		{"when the authority's last certificate ends", 3650*day - 30*day, []string{whyCertificateEnds}, 2},
		{"when the authority has ended", 3650 * day, []string{whyEnded}, 1},
	} {
		s.now = start.Add(step.at)
		before := s.data[caCertKey]
		if diff := cmp.Diff(step.want, s.renewed(ourNames)); diff != "" {
			t.Errorf("%s: renewed (-want +got):\n%s", step.when, diff)
		}
		if got := len(parse(s.data).authorities); got != step.trusted {
			t.Errorf("%s: %d authorities are trusted, want %d", step.when, got, step.trusted)
		}
		for _, bundle := range [][]byte{before, s.data[caCertKey]} {
			if len(bundle) == 0 {
				continue
			}
			for _, name := range []string{"muster.kube-system.svc", "10.0.0.88"} {
				if err := s.verifies(bundle, name); err != nil {
					t.Errorf("%s: %s is not trusted: %v", step.when, name, err)
				}
			}
		}
	}
}

func TestACertificateIsMadeAnewWhenItDoesNotFit(t *testing.T) {
	other := newSecret(t)
	other.renewed(ourNames)
	moved := names{dns: ourNames.dns, ips: []net.IP{net.IPv4(10, 0, 0, 99)}}
	for name, test := range map[string]struct {
		spoil   func(data map[string][]byte)
		names   names
		want    []string
		trusted int
	}{
		"the Service has another address": {func(map[string][]byte) {}, moved, []string{whyOtherNames}, 1},
		"the certificate is gone":         {func(d map[string][]byte) { delete(d, corev1.TLSCertKey) }, ourNames, []string{whyNoCertificate}, 1},
		"the key is that of another one": {
			func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = other.data[corev1.TLSPrivateKeyKey] }, ourNames,
			[]string{whyNoCertificate},
			1,
		},
		"the certificate is no PEM": {
			func(d map[string][]byte) { d[corev1.TLSCertKey] = []byte("x") }, ourNames, []string{whyNoCertificate}, 1,
		},
		"ca.crt is that of another one": {
			func(d map[string][]byte) { d[caCertKey] = other.data[caCertKey] }, ourNames, []string{whyNoAuthority, whyOtherAuthority}, 2,
		},
		"ca.crt is no PEM": {
			func(d map[string][]byte) { d[caCertKey] = []byte("x") }, ourNames, []string{whyNoAuthority, whyOtherAuthority}, 1,
		},
		"the authority's key is lost": {func(d map[string][]byte) { d[caPrivateKeyKey] = nil }, ourNames, []string{whyNoAuthority}, 2},
		"the authority's key is lost, and it ends": {
			func(d map[string][]byte) { delete(d, caPrivateKeyKey); delete(d, corev1.TLSCertKey) }, ourNames,
			[]string{whyNoAuthority, whyNoCertificate},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecret(t)
			s.renewed(ourNames)
			test.spoil(s.data)
			if diff := cmp.Diff(test.want, s.renewed(test.names)); diff != "" {
				t.Errorf("renewed (-want +got):\n%s", diff)
			}
			if got := len(parse(s.data).authorities); got != test.trusted {
				t.Errorf("%d authorities are trusted, want %d", got, test.trusted)
			}
			if err := s.verifies(s.data[caCertKey], test.names.ips[0].String()); err != nil {
				t.Error(err)
			}
			if again := s.renewed(test.names); again != nil {
				t.Errorf("renewed again: %v", again)
			}
		})
	}
}

func TestCertificatesAreForServersAndAuthoritiesSignNoOthers(t *testing.T) {
	s := newSecret(t)
	s.renewed(ourNames)
	m := parse(s.data)
	leaf, authority := m.certificate.Leaf, m.authorities[0].certificate
	if leaf.IsCA || !cmp.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("the certificate is an authority (%t) or for %v", leaf.IsCA, leaf.ExtKeyUsage)
	}
	if !authority.IsCA || !authority.MaxPathLenZero || authority.KeyUsage&x509.KeyUsageDigitalSignature != 0 {
		t.Errorf("the authority is none (%t), may sign others, or serves itself", authority.IsCA)
	}
}

func TestACallerThatTakesTheAuthoritiesEveryNineMonthsAlwaysTrustsTheCertificate(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := newSecret(t)
		s.renewed(ourNames)
		// The first authority's last two years, and what comes after them.
		s.now = start.AddDate(8, 0, 0)
		s.renewed(ourNames)
		callers, taken := s.data[caCertKey], s.now
		for end := start.AddDate(10, 3, 0); s.now.Before(end); {
			// Looked at after more than a third of its life, a certificate has ended.
			s.now = s.now.Add(time.Duration(rapid.IntRange(5*24, 29*24).Draw(t, "hours")) * time.Hour)
			if s.now.Sub(taken) > 9*30*day {
				callers, taken = s.data[caCertKey], s.now
			}
			if err := s.verifies(callers, "muster.kube-system.svc"); err != nil {
				t.Fatalf("before it is renewed at %v: %v", s.now, err)
			}
			before := bytes.Clone(s.data[caCertKey])
			s.renewed(ourNames)
			if err := s.verifies(callers, "muster.kube-system.svc"); err != nil {
				t.Fatalf(
					"after it is renewed at %v, ca.crt taken at %v (changed now: %t): %v", s.now, taken, !bytes.Equal(before, s.data[caCertKey]), err,
				)
			}
		}
	})
}
