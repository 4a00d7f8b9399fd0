package certs

import (
	"crypto/x509"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// names are what callers may call a server.
type names struct {
	dns []string
	ips []net.IP
}

// namesOf returns the names of this pod and, unless it is nil, of a Service. The addresses of the Service are
// among them: kube-scheduler calls those where it does not know the names of Services.
func namesOf(service *corev1.Service) names {
	n := names{dns: []string{"localhost"}, ips: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	if service == nil {
		return n
	}
	name := service.Name + "." + service.Namespace + ".svc"
	n.dns = append([]string{name, name + ".cluster.local"}, n.dns...)
	for _, address := range service.Spec.ClusterIPs {
		if ip := net.ParseIP(address); ip != nil { // "None" is not
			n.ips = append(n.ips, ip)
		}
	}
	return n
}

// equal says whether a certificate is for these names.
func (n names) equal(certificate *x509.Certificate) bool {
	return slices.Equal(n.dns, certificate.DNSNames) && slices.EqualFunc(n.ips, certificate.IPAddresses, net.IP.Equal)
}
