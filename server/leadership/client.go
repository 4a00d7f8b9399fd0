package leadership

import (
	"net"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"muster.dev/muster/api/config"
)

// attempts is how many requests about the lease may fail for want of an answer before a renewal is good
// no more.
const attempts = 3

// NewLeaseClient is a client for the lease and nothing else. It shares no connection and no rate limit
// with other clients, so that nothing they do keeps a renewal waiting. A request without an answer ends
// in time for others to be tried, and so does its connection, as it is HTTP/1.1.
func NewLeaseClient(cfg *rest.Config, election config.LeaderElection) (coordinationv1client.LeasesGetter, error) {
	own := rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	own.Timeout = election.RenewDeadline() / attempts
	own.QPS = -1 // the elector counts for itself, by its retry period
	own.NextProtos = []string{"http/1.1"}
	own.Dial = (&net.Dialer{Timeout: own.Timeout, KeepAlive: 30 * time.Second}).DialContext // transports are shared by equal configurations
	return coordinationv1client.NewForConfig(own)
}
