//go:build unix

package leadership

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestWhatALeaderWroteDoesNotArriveLater has more be written than the other side takes, and closes the fence
// before it reads.
func TestWhatALeaderWroteDoesNotArriveLater(t *testing.T) {
	const written = 64 << 10
	for name, test := range map[string]struct {
		end   func(f *Fence, c, below net.Conn)
		whole bool
	}{
		"when the fence closes":                       {end: func(f *Fence, _, _ net.Conn) { f.shut(ErrLost) }},
		"when the connection is closed by who has it": {end: func(f *Fence, c, _ net.Conn) { f.shut(ErrLost); c.Close() }},
		"but arrives while it leads":                  {end: func(_ *Fence, c, _ net.Conn) { c.Close() }, whole: true},
		"when the process is killed":                  {end: func(_ *Fence, _, below net.Conn) { below.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
				return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
			}}
			listener, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			m := newMachine()
			var below net.Conn
			dial := m.fence.dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
				opened, err := new(net.Dialer).DialContext(ctx, network, address)
				below = opened
				if err == nil {
					err = opened.(*net.TCPConn).SetWriteBuffer(4 * written)
				}
				return opened, err
			})
			conn, err := dial(t.Context(), "tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			far, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			if n, err := conn.Write(make([]byte, written)); n != written || err != nil {
				t.Fatalf("%d bytes were written, with error %v", n, err)
			}
			test.end(m.fence, conn, below)
			for conn.SetDeadline(time.Time{}) == nil { // it is not closed yet
				runtime.Gosched()
			}
			arrived, err := io.Copy(io.Discard, far)
			if test.whole != (arrived == written && err == nil) || !test.whole && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%d bytes of %d arrived, with error %v", arrived, written, err)
			}
		})
	}
}
