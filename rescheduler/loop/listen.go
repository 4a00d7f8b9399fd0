package loop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// server answers at one address.
type server struct {
	field    string // that names it
	listener net.Listener
	http     *http.Server
}

// listen opens the ports: that of what there is to see, and that of requests. After an error none is open.
func (p *process) listen(registry prometheus.Gatherer) error {
	settings := &p.config.Rescheduler
	if err := p.serve("rescheduler.listen", settings.Listen, p.router(registry)); err != nil {
		return err
	}
	if settings.Separate.Listen == "" {
		return nil
	}
	err := p.serve("rescheduler.separate.listen", settings.Separate.Listen, p.separation())
	if err != nil {
		_ = p.servers[0].listener.Close() // what matters is why
	}
	return err
}

func (p *process) serve(field, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	p.servers = append(p.servers, &server{field, listener, &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}})
	p.log.Info("serving", "address", listener.Addr().String())
	return nil
}

// run serves until the context ends.
func (s *server) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })() // nothing there needs an end
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", s.field, err)
	}
	return nil
}
