package forward

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// upgrade makes a connection through which ports of a pod are reached: over a websocket, or over SPDY where the API server, or
// a proxy before it, takes no websocket.
func upgrade(ctx context.Context, config *rest.Config, at candidate) (httpstream.Connection, error) {
	dialer, err := newDialer(config, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	connection, err := until(ctx, func() (httpstream.Connection, error) {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		return connection, err
	}, func(late httpstream.Connection) { _ = late.Close() })
	if err != nil {
		return nil, refusal(at, err)
	}
	return connection, nil
}

// until returns the result of create, unless a context ends before. A late result is closed.
func until[T any](ctx context.Context, create func() (T, error), closeLate func(T)) (T, error) {
	type result struct {
		made T
		err  error
	}
	done := make(chan result)
	go func() {
		made, err := create()
		select {
		case done <- result{made, err}:
		case <-ctx.Done():
			if err == nil {
				closeLate(made)
			}
		}
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func newDialer(config *rest.Config, at candidate) (httpstream.Dialer, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	to := server.JoinPath("api", "v1", "namespaces", at.namespace, "pods", at.name, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	byWebsocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(byWebsocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// refusal says what may help against an error of the API server.
func refusal(at candidate, err error) error {
	message := strings.TrimPrefix(err.Error(), "unable to upgrade connection: ")
	if strings.Contains(message, "is forbidden: ") {
		return &DeniedError{fmt.Errorf(
			"%s: you may not forward ports to it: %s; it takes the verb create on pods/portforward: 'kubectl auth can-i create "+
				"pods/portforward -n %s'", at, message, at.namespace,
		)}
	}
	return fmt.Errorf("%s: the API server does not forward its port: %w", at, err)
}
