// Package relay stands between a client and a server, and does to requests and answers what
// networks and servers in trouble do.
package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Decide says what becomes of a request: it is passed on by pass, or not.
type Decide func(w http.ResponseWriter, r *http.Request, pass http.Handler)

// Relay is a server on 127.0.0.1 that decides about each request.
type Relay struct {
	server   *http.Server
	listener net.Listener
}

// New starts a relay to the server that to names for each request. A request that cannot be
// passed on ends without an answer. The caller must call Close.
func New(transport http.RoundTripper, to func() *url.URL, decide Decide) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // for clients and servers going away is the point here
	pass := &httputil.ReverseProxy{
		Transport:    transport,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to()) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { Cut() },
		ErrorLog:     quiet,
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { decide(w, r, pass) }),
		ReadHeaderTimeout: time.Minute, ErrorLog: quiet,
	}
	go func() { _ = server.Serve(listener) }() // until Close
	return &Relay{server, listener}, nil
}

// URL that clients are to use.
func (r *Relay) URL() string { return "http://" + r.listener.Addr().String() }

// Close ends the relay and all its connections.
func (r *Relay) Close() { _ = r.server.Close() }

// WriteKubeconfig writes the kubeconfig of a client that takes the relay for the API server.
// Who it is there is up to the relay's transport.
func (r *Relay) WriteKubeconfig(path string) error {
	const name = "relay"
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: r.URL()}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name}},
		CurrentContext: name,
	}, path)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of a relay: %w", err)
	}
	return nil
}

// Cut ends the connection of the request that is being served without an answer.
func Cut() { panic(http.ErrAbortHandler) }

// Body reads the body of a request, which can be passed on all the same.
func Body(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	return body, nil
}
