// Package certs makes muster's own certificate where nobody else does, and keeps it good.
//
// A Secret holds all there is: the authorities that callers trust, their keys, and one certificate for the names and addresses of
// muster's Service. Each replica reads it every [Interval]; the first that finds something due renews it, against the resourceVersion
// that it has read, and the others take what it has written.
//
//   - A certificate is good for 90 days, and renewed after two thirds of them, or when the Service gets another address.
//   - An authority is good for ten years. A year before its end a successor is added to ca.crt, and trusted from then on; it signs
//     only when a certificate of the old one would outlive that. So callers have three quarters of a year to take the new ca.crt,
//     and the old one stays in it to its end.
//   - Unreadable material is replaced. To empty the Secret is therefore to rotate everything at once.
//
// If that is configured, the Secret also holds a second line of authorities, for muster's clients, and a second Secret holds what a
// kube-scheduler calls with: a certificate of that line, its key, and the authorities of muster to trust. So anybody who may read the
// second Secret may call muster, and cannot pass for it, nor make certificates.
//
//   - That certificate is good for a year, since people take it to where kube-scheduler reads it, and renewed after two thirds: the
//     two overlap for four months. muster alone verifies it, so a new authority is trusted at once.
//   - Nothing can revoke one certificate. To take client-ca.crt and client-ca.key out of muster's Secret is to revoke all.
//
// A certificate is served from memory: it is there as soon as the Secret is written, where a mounted one would wait for the kubelet.
//
// Libraries would do less for more. cert-controller runs on a manager of controller-runtime with a cache of its own, signs with one
// authority and replaces that at once, so callers that have not read the new ca.crt fail; it reads the mounted file, writes no
// ca.crt for a kube-scheduler in the same pod and makes no certificates for clients. client-go's util/cert, whose parts are used
// here, makes authorities by the machine's clock alone.
package certs
