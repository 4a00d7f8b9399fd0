// Package remote asks a muster that runs, over HTTP, what people want to know of it.
//
// What its endpoints answer with is declared here as far as it is read here, so that who writes
// and who reads it cannot mean different things. Everything is asked for as JSON.
package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote/forward"
)

const (
	// timeout bounds one question.
	timeout = 30 * time.Second
	// maxMessage is how much is read of what is answered in the place of what was asked for.
	maxMessage = 4096
)

// Options say where to ask. One of Server and Through is required.
type Options struct {
	// Server is a URL, as http://127.0.0.1:8887.
	Server string
	// Through is the way to a process in a cluster, in the place of Server. It is asked over https where there is a
	// CertificateAuthority or a ClientCertificate.
	Through *forward.Forward
	// CertificateAuthority is the file of the authority that signed the server's certificate, ""
	// for the system's authorities. ClientCertificate and ClientKey are the client's files, both or
	// none.
	CertificateAuthority, ClientCertificate, ClientKey string
}

// Client asks one server. Its methods are safe for concurrent use.
type Client struct {
	server  string           // without a slash at its end
	through *forward.Forward // nil when the server is dialed itself
	http    *http.Client
}

// forwardedServer is whom a request through a forwarded port is for. A muster answers to its loopback address alone.
const forwardedServer = "127.0.0.1"

// New returns a Client. An error is about the options: nothing is asked yet.
func New(o Options) (*Client, error) {
	if o.Through != nil {
		o.Server = "http://" + forwardedServer
		if o.CertificateAuthority != "" || o.ClientCertificate != "" {
			o.Server = "https://" + forwardedServer
		}
	}
	server, err := url.Parse(o.Server)
	if err != nil || (server.Scheme != "http" && server.Scheme != "https") || server.Host == "" {
		return nil, &URLError{o.Server}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CertificateAuthority != "" {
		content, err := os.ReadFile(o.CertificateAuthority)
		if err != nil {
			return nil, fmt.Errorf("--certificate-authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("--certificate-authority: %s holds no certificate in PEM", o.CertificateAuthority)
		}
	}
	if (o.ClientCertificate == "") != (o.ClientKey == "") {
		return nil, errors.New("--client-certificate and --client-key belong together: name both or none")
	}
	if o.ClientCertificate != "" {
		pair, err := tls.LoadX509KeyPair(o.ClientCertificate, o.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("--client-certificate, --client-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if o.Through != nil {
		transport.DialContext = o.Through.Dial
	}
	return &Client{
		server:  strings.TrimSuffix(o.Server, "/"),
		through: o.Through,
		http:    &http.Client{Transport: transport, Timeout: timeout},
	}, nil
}

// String says whom it asks.
func (c *Client) String() string {
	if c.through != nil {
		return c.through.String()
	}
	return c.server
}

// Leads tells whether it leads whom a function dials.
func Leads(ctx context.Context, dial forward.DialFunc) bool {
	asking := &Client{server: "http://" + forwardedServer, http: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: timeout,
	}}
	told, err := asking.Overview(ctx)
	return err == nil && told.Leads && told.Unready == ""
}

// URLError says that something is no URL of a server.
type URLError struct{ url string }

func (e *URLError) Error() string {
	return fmt.Sprintf("%q is no URL of a server, such as http://127.0.0.1:8887", e.url)
}

// AnswerError is an answer with another status than 200.
type AnswerError struct {
	Server  string
	Status  int
	Message string // what the server says of it
}

func (e *AnswerError) Error() string {
	if e.Status == http.StatusServiceUnavailable {
		return fmt.Sprintf("%s is not ready: %s", e.Server, e.Message)
	}
	return e.Message
}

// get asks for a path with a query, and decodes the JSON of the answer.
func (c *Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return err
	}
	return c.do(request, path, into)
}

// post sends YAML, and decodes the JSON of the answer.
func (c *Client) post(ctx context.Context, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/yaml")
	return c.do(request, path, into)
}

func (c *Client) do(request *http.Request, path string, into any) error {
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return c.explain(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return c.refused(response)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("%s%s does not answer as muster does: %w", c, path, err)
	}
	return nil
}

// refused reads an answer that is a refusal.
func (c *Client) refused(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	if err != nil {
		return fmt.Errorf("%s answers %s: %w", c, response.Status, err)
	}
	var told struct{ Error string }
	message := strings.TrimSpace(string(body))
	if err := json.Unmarshal(body, &told); err == nil && told.Error != "" {
		message = told.Error
	}
	if response.StatusCode == http.StatusBadRequest && strings.Contains(message, "HTTP request to an HTTPS server") {
		return fmt.Errorf("%s serves TLS: ask https://, with --certificate-authority", c)
	}
	message = inspect.Printable(message)
	if message == "" {
		message = fmt.Sprintf("%s answers %s", c, response.Status)
	}
	return &AnswerError{Server: c.String(), Status: response.StatusCode, Message: message}
}

// explain says of an error without an answer what may help.
func (c *Client) explain(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // without the method and the whole URL
	}
	refused, isRefused := errors.AsType[*forward.RefusedError](err)
	operation, isNet := errors.AsType[*net.OpError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	switch {
	case isRefused:
		return refused // without what the transport was at
	case errors.Is(err, http.ErrSchemeMismatch) && c.through != nil:
		return fmt.Errorf("%s serves without TLS: leave certificates out", c)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s serves without TLS: ask http://", c)
	case unknown:
		return fmt.Errorf("%s: %w: name what signed its certificate with --certificate-authority", c, err)
	case otherName:
		return fmt.Errorf("%s: %w: ask for it by a name of its certificate", c, err)
	case isNet && operation.Op == "remote error":
		return fmt.Errorf("%s refuses the client: %w: it may want --client-certificate and --client-key", c, err)
	case c.through != nil:
		return err
	case isNet && operation.Op == "dial":
		return &silenceError{c.server, fmt.Errorf(
			"nothing answers at %s: %w; leave --server out, and name a cluster with --context or --kubeconfig", c.server, err,
		)}
	default:
		return fmt.Errorf("%s: %w", c, err)
	}
}

// silenceError says that nothing listens at an address.
type silenceError struct {
	server string
	err    error
}

// Error implements [error].
func (e *silenceError) Error() string { return e.err.Error() }

// Unwrap is for [errors.Is].
func (e *silenceError) Unwrap() error { return e.err }
