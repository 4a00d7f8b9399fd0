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
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority is one that signs.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey // nil when it is lost: it is trusted, and signs no more
}

// authorities are trusted for one purpose. They are sorted by the time at which they end.
type authorities []authority

// parseAuthorities takes what can be read, and leaves out the rest.
func parseAuthorities(certificates, keys []byte) (all authorities) {
	private := parseKeys(keys)
	trusted, _ := cert.ParseCertsPEM(certificates) // nothing there is an error too
	for _, certificate := range trusted {
		at := slices.IndexFunc(private, func(key *ecdsa.PrivateKey) bool { return key.PublicKey.Equal(certificate.PublicKey) })
		a := authority{certificate: certificate}
		if at >= 0 {
			a.key = private[at]
		}
		all = append(all, a)
	}
	all.sort()
	return all
}

func parseKeys(text []byte) (keys []*ecdsa.PrivateKey) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (all authorities) sort() {
	slices.SortStableFunc(all, func(a, b authority) int { return a.certificate.NotAfter.Compare(b.certificate.NotAfter) })
}

// renew forgets ended authorities and adds the one that is due, and says why. what names the
// clients or servers that the authorities sign for.
func (all *authorities) renew(now time.Time, what string) (why []string, err error) {
	ended := func(a authority) bool { return !now.Before(a.certificate.NotAfter) }
	if slices.ContainsFunc(*all, ended) {
		*all, why = slices.DeleteFunc(*all, ended), append(why, whyEnded)
	}
	due := all.due(now)
	if due == "" {
		return why, nil
	}
	a, err := newAuthority(now, what)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	*all = append(*all, a)
	all.sort()
	return append(why, due), nil
}

// due is why there has to be one more, "" when there need not.
func (all authorities) due(now time.Time) string {
	able := slices.DeleteFunc(slices.Clone(all), func(a authority) bool { return a.key == nil })
	switch {
	case len(able) == 0:
		return whyNoAuthority
	case able[len(able)-1].certificate.NotAfter.Sub(now) < successorLead:
		return whySuccessor
	}
	return ""
}

// signed says whether one of them has signed a certificate.
func (all authorities) signed(leaf *x509.Certificate) bool {
	return slices.ContainsFunc(all, func(a authority) bool { return leaf.CheckSignatureFrom(a.certificate) == nil })
}

// signer is the first that outlives what it signs now, for at most successorLead. There is one after
// renew.
func (all authorities) signer(now time.Time, life time.Duration) authority {
	at := slices.IndexFunc(all, func(a authority) bool { return a.key != nil && a.certificate.NotAfter.Sub(now) >= life })
	return all[at]
}

// pool is who is trusted: nobody when there is no authority.
func (all authorities) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, a := range all {
		pool.AddCert(a.certificate)
	}
	return pool
}

// bundle is their certificates, in PEM.
func (all authorities) bundle() ([]byte, error) {
	trusted := make([]*x509.Certificate, len(all))
	for i, a := range all {
		trusted[i] = a.certificate
	}
	return cert.EncodeCertificates(trusted...)
}

// keys returns the keys that are not lost, in PEM.
func (all authorities) keys() (keys []byte, err error) {
	for _, a := range all {
		if a.key == nil {
			continue
		}
		key, err := keyutil.MarshalPrivateKeyToPEM(a.key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key...)
	}
	return keys, nil
}

func newAuthority(now time.Time, what string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: what + " authority of " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	certificate, err := certify(template, template, key, key)
	return authority{certificate, key}, err
}

// subject is whom a certificate is for.
type subject struct {
	name  string
	dns   []string
	ips   []net.IP
	usage x509.ExtKeyUsage
	life  time.Duration
}

// sign makes a certificate and its key.
func (a authority) sign(now time.Time, s subject) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := certify(&x509.Certificate{
		Subject:   pkix.Name{CommonName: s.name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(s.life),
		DNSNames: s.dns, IPAddresses: s.ips,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{s.usage},
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
