package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"muster.dev/muster/inspect"
)

// side is a listener beside that of the verbs. It goes on while calls in flight finish, so that
// it can be seen what keeps them.
type side struct {
	field    string // that asked for it
	listener net.Listener
	http     *http.Server
}

// listenAside opens the ports beside that of the verbs: of serving.healthListen, over plain
// http, and of debug.listen. After an error none is open.
func (s *Server) listenAside(debug http.Handler) error {
	if address := s.config.Serving.HealthListen; address != "" {
		health := inspect.RouterWithoutIndex("this is serving.healthListen", s.health()...)
		if err := s.addSide("serving.healthListen", address, health); err != nil {
			return err
		}
	}
	if debug == nil {
		return nil
	}
	if err := s.addSide("debug.listen", s.config.Debug.Listen, debug); err != nil {
		for _, open := range s.sides {
			_ = open.listener.Close() // what matters is why
		}
		return err
	}
	added := s.sides[len(s.sides)-1]
	// On a loopback address it is where kubectl port-forward ends, which has seen to it who comes.
	if s.http.TLSConfig != nil && !isLoopback(added.listener.Addr()) {
		added.listener = tls.NewListener(added.listener, s.http.TLSConfig)
	}
	return nil
}

func (s *Server) addSide(field, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: s.http.ErrorLog}
	s.sides = append(s.sides, &side{field, listener, server})
	return nil
}

func isLoopback(address net.Addr) bool {
	parsed, err := netip.ParseAddrPort(address.String())
	return err == nil && parsed.Addr().IsLoopback()
}

// run serves until the context ends.
func (s *side) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })() // nothing there needs an end
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", s.field, err)
	}
	return nil
}
