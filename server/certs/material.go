package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The keys of the Secret's data, besides tls.crt and tls.key. All are PEM.
const (
	caCertKey       = "ca.crt" // every authority that is trusted, the one that ends first before the others
	caPrivateKeyKey = "ca.key" // their keys
)

// How long things are good.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	successorLead   = 365 * 24 * time.Hour // an authority with less left gets a successor
	certificateLife = 90 * 24 * time.Hour
	clockSkew       = 5 * time.Minute // between the clocks of muster and of its callers
)

// Why something is renewed.
const (
	whyNoAuthority     = "there is no authority"
	whySuccessor       = "the authority ends within a year"
	whyEnded           = "an authority has ended"
	whyNoCertificate   = "there is no certificate"
	whyOtherNames      = "the certificate is for other names"
	whyOtherAuthority  = "no authority has signed the certificate"
	whyCertificateEnds = "two thirds of the certificate's life are over"
)

// authority is one that signs.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey // nil when it is lost: it is trusted, and signs no more
}

// material is what a Secret holds.
type material struct {
	authorities []authority      // the one that ends first before the others
	certificate *tls.Certificate // nil when there is none
}

// parse takes what can be read, and leaves out the rest.
func parse(data map[string][]byte) (m material) {
	keys := parseKeys(data[caPrivateKeyKey])
	trusted, _ := cert.ParseCertsPEM(data[caCertKey]) // nothing there is an error too
	for _, certificate := range trusted {
		at := slices.IndexFunc(keys, func(key *ecdsa.PrivateKey) bool { return key.PublicKey.Equal(certificate.PublicKey) })
		a := authority{certificate: certificate}
		if at >= 0 {
			a.key = keys[at]
		}
		m.authorities = append(m.authorities, a)
	}
	m.sort()
	if pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err == nil {
		m.certificate = &pair
	}
	return m
}

func parseKeys(text []byte) (keys []*ecdsa.PrivateKey) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *material) sort() {
	slices.SortStableFunc(m.authorities, func(a, b authority) int { return a.certificate.NotAfter.Compare(b.certificate.NotAfter) })
}

// renew makes what is due, and says why: nothing when all is good.
func (m *material) renew(now time.Time, n names) (why []string, err error) {
	ended := func(a authority) bool { return !now.Before(a.certificate.NotAfter) }
	if slices.ContainsFunc(m.authorities, ended) {
		m.authorities, why = slices.DeleteFunc(m.authorities, ended), append(why, whyEnded)
	}
	if due := m.authorityDue(now); due != "" {
		a, err := newAuthority(now)
		if err != nil {
			return nil, fmt.Errorf("make an authority: %w", err)
		}
		m.authorities, why = append(m.authorities, a), append(why, due)
		m.sort()
	}
	if due := m.certificateDue(now, n); due != "" {
		if m.certificate, err = m.signer(now).sign(now, n); err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		why = append(why, due)
	}
	return why, nil
}

// authorityDue is why there has to be one more.
func (m *material) authorityDue(now time.Time) string {
	able := slices.DeleteFunc(slices.Clone(m.authorities), func(a authority) bool { return a.key == nil })
	switch {
	case len(able) == 0:
		return whyNoAuthority
	case able[len(able)-1].certificate.NotAfter.Sub(now) < successorLead:
		return whySuccessor
	}
	return ""
}

// certificateDue is why there has to be another one.
func (m *material) certificateDue(now time.Time, n names) string {
	if m.certificate == nil {
		return whyNoCertificate
	}
	leaf := m.certificate.Leaf
	signed := func(a authority) bool { return leaf.CheckSignatureFrom(a.certificate) == nil }
	switch {
	case !slices.ContainsFunc(m.authorities, signed):
		return whyOtherAuthority
	case !n.equal(leaf):
		return whyOtherNames
	case now.After(leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)):
		return whyCertificateEnds
	}
	return ""
}

// signer is the first that outlives what it signs now. There is one: the last has at least a year.
func (m *material) signer(now time.Time) authority {
	at := slices.IndexFunc(m.authorities, func(a authority) bool {
		return a.key != nil && a.certificate.NotAfter.Sub(now) >= certificateLife
	})
	return m.authorities[at]
}

func newAuthority(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "muster authority of " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	certificate, err := certify(template, template, key, key)
	return authority{certificate, key}, err
}

// sign makes a certificate for a server of these names.
func (a authority) sign(now time.Time, n names) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := certify(&x509.Certificate{
		Subject:   pkix.Name{CommonName: "muster"},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		DNSNames: n.dns, IPAddresses: n.ips,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key, a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// certify makes the certificate of a key, signed by another one. It has a random serial number.
func certify(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// bundle is ca.crt.
func (m *material) bundle() ([]byte, error) {
	trusted := make([]*x509.Certificate, len(m.authorities))
	for i, a := range m.authorities {
		trusted[i] = a.certificate
	}
	return cert.EncodeCertificates(trusted...)
}

// encode is the data of a Secret.
func (m *material) encode() (map[string][]byte, error) {
	bundle, err := m.bundle()
	if err != nil {
		return nil, err
	}
	var keys []byte
	for _, a := range m.authorities {
		if a.key == nil {
			continue
		}
		key, err := keyutil.MarshalPrivateKeyToPEM(a.key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key...)
	}
	certificate, err := cert.EncodeCertificates(m.certificate.Leaf)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(m.certificate.PrivateKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{caCertKey: bundle, caPrivateKeyKey: keys, corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}, nil
}
