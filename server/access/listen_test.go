package access_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"muster.dev/muster/server/access"
)

func TestConnectionsBeyondTheBoundWaitForOthersToClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	listener, err := access.Listen("a.listen", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	const callers = 4
	var open atomic.Int32
	asked, entered, leave := make(chan struct{}, callers), make(chan struct{}), make(chan struct{})
	server := access.NewServer("a.listen", listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if now := open.Add(1); now > 1 {
			t.Errorf("%d connections are served at a time, want 1", now)
		}
		entered <- struct{}{}
		<-leave
		open.Add(-1)
	}), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	answered := make(chan error, callers)
	for range callers {
		go func() {
			trace := httptrace.WithClientTrace(
				t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { asked <- struct{}{} }},
			)
			request, err := http.NewRequestWithContext(trace, http.MethodGet, "http://"+listener.Addr().String(), nil)
			if err == nil {
				var response *http.Response
				if response, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request); err == nil {
					response.Body.Close()
				}
			}
			answered <- err
		}()
	}
	for range callers {
		<-asked // all have a connection, and one of them is accepted
	}
	for range callers {
		<-entered
		leave <- struct{}{}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestAnAddressThatIsTakenNamesTheField(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := access.Listen("a.listen", taken.Addr().String(), 1); err == nil || !strings.HasPrefix(err.Error(), "a.listen: listen tcp ") {
		t.Errorf("error %v", err)
	}
}

func TestAListenerThatFailsEndsRun(t *testing.T) {
	listener, err := access.Listen("a.listen", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server := access.NewServer("a.listen", listener, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err := server.Run(t.Context()); !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "serving at a.listen: ") {
		t.Errorf("Run returned %v", err)
	}
}

// one is a listener with one connection.
type one struct {
	connection chan net.Conn
	closed     chan struct{}
}

func (l one) Accept() (net.Conn, error) {
	select {
	case c := <-l.connection:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l one) Close() error   { close(l.closed); return nil }
func (l one) Addr() net.Addr { return &net.TCPAddr{} }

func TestRequestsThatDoNotComeToAnEndAreGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		sent   string
		within time.Duration
	}{
		"without a header": {"", 10 * time.Second},
		"half a header":    {"POST / HTTP/1.1\r\nHost: muster\r\n", 10 * time.Second},
		"half a body":      {"POST / HTTP/1.1\r\nHost: muster\r\nContent-Length: 67000000\r\n\r\n{", 30 * time.Second},
		"a body in chunks": {"POST / HTTP/1.1\r\nHost: muster\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 30 * time.Second},
		"no second call":   {"GET / HTTP/1.1\r\nHost: muster\r\n\r\n", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := one{make(chan net.Conn), make(chan struct{})}
				server := access.NewServer("a.listen", listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
				}), slog.New(slog.DiscardHandler))
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- server.Run(ctx) }()
				near, far := net.Pipe()
				listener.connection <- far
				began := time.Now()
				go func() { _, _ = io.WriteString(near, test.sent) }()
				_, _ = io.ReadAll(near) // to the end of the connection
				if took := time.Since(began); took < test.within || took > test.within+time.Second {
					t.Errorf("the connection is closed after %v, want %v", took, test.within)
				}
				stop()
				if err := <-ended; err != nil {
					t.Errorf("Run returned %v", err)
				}
			})
		})
	}
}

func TestAHeaderThatIsTooLargeIsRefused(t *testing.T) {
	listener := one{make(chan net.Conn), make(chan struct{})}
	server := access.NewServer("a.listen", listener, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	near, far := net.Pipe()
	listener.connection <- far
	go func() {
		_, _ = io.WriteString(near, "GET / HTTP/1.1\r\nHost: muster\r\nCookie: "+strings.Repeat("x", 2*access.MaxHeaderBytes)+"\r\n\r\n")
	}()
	answer, _ := io.ReadAll(near)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 431 ") {
		t.Errorf("answered %.100s", answer)
	}
	stop()
	<-ended
}
