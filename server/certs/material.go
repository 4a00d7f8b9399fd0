package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The keys of the Secret's data, besides tls.crt and tls.key. All are PEM.
const (
	caCertKey           = "ca.crt" // every authority that callers trust, the one that ends first before the others
	caPrivateKeyKey     = "ca.key" // their keys
	clientCACertKey     = "client-ca.crt"
	clientCAPrivateKey  = "client-ca.key"
	serverName          = "muster"
	clientAuthorityName = "muster client"
)

// How long things are good.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	successorLead   = 365 * 24 * time.Hour // an authority with less left gets a successor
	certificateLife = 90 * 24 * time.Hour
	// clientLife is longer: people take the certificate to where kube-scheduler reads it. It is no
	// longer than successorLead.
	clientLife = 365 * 24 * time.Hour
	clockSkew  = 5 * time.Minute // between the clocks of muster and of its callers
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
	whyOtherBundle     = "the authorities to trust are others"
)

// material is the content of muster's own Secret.
type material struct {
	authorities authorities      // of muster's certificate
	certificate *tls.Certificate // nil when there is none
	clients     authorities      // of the certificates of its clients
}

// parse takes what can be read, and leaves out the rest.
func parse(data map[string][]byte) material {
	return material{
		authorities: parseAuthorities(data[caCertKey], data[caPrivateKeyKey]),
		certificate: parsePair(data),
		clients:     parseAuthorities(data[clientCACertKey], data[clientCAPrivateKey]),
	}
}

// parsePair is the certificate of a Secret, nil when there is none with its key.
func parsePair(data map[string][]byte) *tls.Certificate {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil
	}
	return &pair
}

// renew makes what is due, and says why: nothing when all is good. There are authorities of clients
// if they are wanted.
func (m *material) renew(now time.Time, n names, clients bool) (why []string, err error) {
	if why, err = m.authorities.renew(now, serverName); err != nil {
		return nil, err
	}
	if due := certificateDue(now, m.certificate, m.authorities, n.equal); due != "" {
		s := subject{name: serverName, dns: n.dns, ips: n.ips, usage: x509.ExtKeyUsageServerAuth, life: certificateLife}
		if m.certificate, err = m.authorities.signer(now, s.life).sign(now, s); err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		why = append(why, due)
	}
	if !clients {
		return why, nil
	}
	ofClients, err := m.clients.renew(now, clientAuthorityName)
	for _, due := range ofClients {
		why = append(why, "of clients: "+due)
	}
	return why, err
}

// certificateDue is why there has to be another one, "" when there need not.
func certificateDue(now time.Time, certificate *tls.Certificate, trusted authorities, fits func(*x509.Certificate) bool) string {
	if certificate == nil {
		return whyNoCertificate
	}
	leaf := certificate.Leaf
	switch {
	case !trusted.signed(leaf):
		return whyOtherAuthority
	case !fits(leaf):
		return whyOtherNames
	case now.After(leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)):
		return whyCertificateEnds
	}
	return ""
}

// encode is the data of a Secret.
func (m *material) encode() (map[string][]byte, error) {
	data, err := encodePair(m.certificate)
	if err != nil {
		return nil, err
	}
	if data[caCertKey], err = m.authorities.bundle(); err != nil {
		return nil, err
	}
	if data[caPrivateKeyKey], err = m.authorities.keys(); err != nil {
		return nil, err
	}
	if len(m.clients) == 0 {
		return data, nil
	}
	if data[clientCACertKey], err = m.clients.bundle(); err != nil {
		return nil, err
	}
	data[clientCAPrivateKey], err = m.clients.keys()
	return data, err
}

func (m *material) expires() time.Time { return m.certificate.Leaf.NotAfter }

// encodePair is a certificate and its key as a Secret holds them.
func encodePair(certificate *tls.Certificate) (map[string][]byte, error) {
	text, err := cert.EncodeCertificates(certificate.Leaf)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(certificate.PrivateKey)
	return map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: key}, err
}
