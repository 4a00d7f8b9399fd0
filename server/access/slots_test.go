package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// doors is a listener to which a test connects from addresses of its choice.
type doors struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (d *doors) Accept() (net.Conn, error) {
	select {
	case c := <-d.arriving:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *doors) Close() error   { d.once.Do(func() { close(d.closed) }); return nil }
func (d *doors) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn

	address string
}

func (f from) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 4711}
}

// house is a server with a few slots. A request for /stay is answered when the test ends.
type house struct {
	*testing.T

	doors *doors
	slots *slots
	stay  chan struct{}
}

func inHouse(t *testing.T, most int, test func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, doors: &doors{arriving: make(chan net.Conn), closed: make(chan struct{})}, stay: make(chan struct{})}
		h.slots = newSlots(h.doors, most)
		server := NewServer("a.listen", h.slots, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stay" {
				<-h.stay
			}
		}), slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Run(ctx) }()
		test(h)
		close(h.stay)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// connect opens a connection, says something there and stays. It returns what reads answers.
func (h *house) connect(address, says string) *bufio.Reader {
	near, far := net.Pipe()
	h.Cleanup(func() { near.Close() })
	if err := near.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		h.Fatal(err)
	}
	h.doors.arriving <- from{far, address}
	if says != "" {
		go func() { _, _ = io.WriteString(near, says) }()
	}
	synctest.Wait()
	return bufio.NewReader(near)
}

func (h *house) ask(address, path string) *bufio.Reader {
	return h.connect(address, "GET "+path+" HTTP/1.1\r\nHost: muster\r\n\r\n")
}

// answered fails unless there is an answer within a while.
func (h *house) answered(who string, answers *bufio.Reader, within time.Duration) {
	h.Helper()
	began := time.Now()
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		h.Fatalf("%s has no answer: %v", who, err)
	}
	_ = response.Body.Close()
	if took := time.Since(began); took > within {
		h.Errorf("%s has an answer after %v, want at most %v", who, took, within)
	}
}

const (
	hostile = "192.0.2.1"
	patient = "192.0.2.2"
	here    = "127.0.0.1"
)

func TestConnectionsWithoutRequestsKeepNobodyOut(t *testing.T) {
	for name, says := range map[string]string{
		"that send nothing":     "",
		"that send half a head": "POST /bind HTTP/1.1\r\nHost: mus",
		"that have asked once":  "GET /livez HTTP/1.1\r\nHost: muster\r\n\r\n",
	} {
		for _, newcomer := range []string{patient, hostile, here} {
			t.Run(name+", and "+newcomer, func(t *testing.T) {
				inHouse(t, 10, func(h *house) {
					for i := range 40 {
						address := hostile
						if i%2 > 0 {
							address = fmt.Sprint("198.51.100.", i)
						}
						answers := h.connect(address, says)
						go func() { _, _ = io.Copy(io.Discard, answers) }()
					}
					<-time.After(2 * leastIdle)
					h.answered(newcomer, h.ask(newcomer, "/"), 5*time.Second)
				})
			})
		}
	}
}

func TestAnAddressHoldsThreeQuartersOfTheSlots(t *testing.T) {
	inHouse(t, 10, func(h *house) {
		for range 20 {
			h.ask(hostile, "/stay")
		}
		if got := h.slots.taken; got != 7 {
			t.Errorf("one address holds %d of 10 slots, want 7", got)
		}
		h.answered("another one", h.ask(patient, "/"), 0)
	})
}

func TestATenthOfTheSlotsIsForCallersOnThisHost(t *testing.T) {
	inHouse(t, 10, func(h *house) {
		for i := range 20 {
			h.ask(fmt.Sprint("198.51.100.", i), "/stay")
		}
		if got := h.slots.taken; got != 9 {
			t.Errorf("others hold %d of 10 slots, want 9", got)
		}
		h.answered("a caller on this host", h.ask(here, "/"), 0)
	})
}

func TestTheAddressThatHoldsMostLosesASlotFirst(t *testing.T) {
	inHouse(t, 10, func(h *house) {
		scheduler := h.ask(patient, "/") // it has been idle for longest
		h.answered("kube-scheduler", scheduler, 0)
		<-time.After(time.Minute)
		for range 8 {
			h.answered("the attacker", h.ask(hostile, "/"), 5*time.Second)
		}
		for i := range 5 {
			h.answered("somebody else", h.ask(fmt.Sprint("198.51.100.", i), "/"), 5*time.Second)
		}
		if of := h.slots.callers[addressOf(from{address: patient})]; of == nil || of.taken != 1 {
			t.Error("kube-scheduler's connection was closed for others")
		}
	})
}

func TestACallerWithACertificateKeepsItsSlot(t *testing.T) {
	inHouse(t, 4, func(h *house) {
		h.answered("kube-scheduler", h.ask(patient, "/"), 0)
		for at := range h.slots.callers {
			c, _ := h.slots.callers[at].open.Front().Value.(*connection)
			c.begin(true)
			c.end()
		}
		for i := range 20 {
			h.answered("somebody", h.ask(fmt.Sprint("198.51.100.", i), "/"), 5*time.Second)
		}
		if of := h.slots.callers[addressOf(from{address: patient})]; of == nil || of.taken != 1 {
			t.Error("its connection was closed for others")
		}
	})
}

func TestConnectionsThatWaitAreBounded(t *testing.T) {
	inHouse(t, 10, func(h *house) {
		for i := range 100 {
			h.ask(fmt.Sprint("198.51.100.", i), "/stay")
		}
		if got := len(h.slots.waiting); got != fewestWaiting {
			t.Errorf("%d connections wait, want %d", got, fewestWaiting)
		}
		h.ask(here, "/stay") // has the tenth slot
		h.ask(here, "/")
		if last := h.slots.waiting[fewestWaiting-1]; len(h.slots.waiting) != fewestWaiting || !last.trusted {
			t.Errorf("%d connections wait, the last one from %s", len(h.slots.waiting), last.from)
		}
	})
}
