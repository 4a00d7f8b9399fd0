package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of a server that is no bottleneck: people, kubelets, Prometheus and API servers call it,
// each with a few connections.
const (
	// Connections are how many may be open at a time. Others take the place of idle ones, or wait.
	Connections = 1024

	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second // of the body as well
	writeTimeout  = 5 * time.Minute  // a profile of the process takes as long as it is asked to
	idleTimeout   = 2 * time.Minute
	// MaxHeaderBytes is how large the header of a request may be. Browsers send the cookies of
	// everything that has ever been at localhost.
	MaxHeaderBytes = 32 << 10
)

// Listen opens an address, for a number of connections at a time; see [Track]. An error names the field that asked
// for it.
func Listen(field, address string, connections int) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return newSlots(listener, connections), nil
}

// Server answers at one address.
type Server struct {
	Field    string // that asked for it
	Listener net.Listener
	HTTP     *http.Server
}

// NewServer is one whose requests are bounded in size and in time. Run must follow, as it closes
// the listener.
func NewServer(field string, listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	s := &Server{Field: field, Listener: listener, HTTP: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: MaxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	Track(s.HTTP)
	return s
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.HTTP.Close() })() // nothing there needs an end
	if err := s.HTTP.Serve(s.Listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", s.Field, err)
	}
	return nil
}
