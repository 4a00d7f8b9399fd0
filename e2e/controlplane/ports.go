package controlplane

import (
	"net"
	"strconv"

	"muster.dev/muster/e2e/process"
)

// ports on 127.0.0.1. They stay the same when a component is started again.
type ports struct {
	etcdClient, etcdPeer, apiServer, controllerManager, scheduler, kwok, metricsServer, prometheus int
}

func freePorts() (p ports, err error) {
	for _, port := range []*int{
		&p.etcdClient, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.scheduler, &p.kwok, &p.metricsServer, &p.prometheus,
	} {
		if *port, err = process.FreePort(); err != nil {
			return p, err
		}
	}
	return p, nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
