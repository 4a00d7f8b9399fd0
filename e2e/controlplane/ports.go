package controlplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// ports on 127.0.0.1. They stay the same when a component is started again.
type ports struct {
	etcdClient, etcdPeer, apiServer, controllerManager, scheduler, kwok int
}

func freePorts() (p ports, err error) {
	for _, port := range []*int{&p.etcdClient, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.scheduler, &p.kwok} {
		if *port, err = freePort(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// freePort stays below the range from which systems number outgoing connections: a
// port of that range could be taken while a component restarts, even by a client that
// connects to itself.
func freePort() (int, error) {
	const lowest, highest, attempts = 10_000, 32_000, 100
	var errs error
	for range attempts {
		port := lowest + rand.IntN(highest-lowest)
		l, err := net.Listen("tcp", local(port))
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("find a free port: %w", errs)
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
