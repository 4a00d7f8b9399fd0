package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

// health is the second listener: what a kubelet and a Prometheus ask for, and no verb.
type health struct {
	listener net.Listener
	http     *http.Server
}

// healthRoutes are those of the routes that it serves.
func (s *Server) healthRoutes() http.Handler {
	router := chi.NewRouter()
	for _, route := range s.routes() {
		switch route.pattern {
		case "/livez", "/readyz", "/metrics":
			router.Method(route.method, route.pattern, route.handler)
		}
	}
	return router
}

// newHealth opens the port, and returns nil when there is to be none.
func (s *Server) newHealth(address string) (*health, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // there is none, and no error
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving.healthListen: %w", err)
	}
	return &health{listener: listener, http: &http.Server{Handler: s.healthRoutes(), ReadHeaderTimeout: 10 * time.Second}}, nil
}

func (h *health) serve() error {
	if err := h.http.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health: %w", err)
	}
	return nil
}
