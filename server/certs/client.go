package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// client is the content of kube-scheduler's Secret: the certificate that it shows, and the authorities that it trusts.
type client struct {
	certificate *tls.Certificate // nil when there is none
	bundle      []byte
}

func parseClient(data map[string][]byte) client {
	return client{certificate: parsePair(data), bundle: data[caCertKey]}
}

// renew makes what is due, and says why: nothing when all is good.
func (c *client) renew(now time.Time, name string, m *material) (why []string, err error) {
	named := func(leaf *x509.Certificate) bool { return leaf.Subject.CommonName == name }
	if due := certificateDue(now, c.certificate, m.clients, named); due != "" {
		s := subject{name: name, usage: x509.ExtKeyUsageClientAuth, life: clientLife}
		if c.certificate, err = m.clients.signer(now, s.life).sign(now, s); err != nil {
			return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
		}
		why = append(why, due)
	}
	bundle, err := m.authorities.bundle()
	if err == nil && !bytes.Equal(bundle, c.bundle) {
		c.bundle, why = bundle, append(why, whyOtherBundle)
	}
	return why, err
}

// encode is the data of a Secret.
func (c *client) encode() (map[string][]byte, error) {
	data, err := encodePair(c.certificate)
	if err != nil {
		return nil, err
	}
	data[caCertKey] = c.bundle
	return data, nil
}

func (c *client) expires() time.Time { return c.certificate.Leaf.NotAfter }
