package forward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

// sayingTime bounds how long a kubelet is waited for that has ended a stream, to say why.
const sayingTime = 2 * time.Second

// RefusedError holds a kubelet's message about a port that it does not reach.
type RefusedError struct {
	at      candidate
	message string
}

func (e *RefusedError) Error() string {
	if strings.Contains(e.message, "connection refused") {
		return fmt.Sprintf(
			"%s: nothing listens there: debug.listen is empty in muster's configuration, or its address (debug.listen, rescheduler.listen) is "+
				"another one; then use 'kubectl port-forward' and --server", e.at,
		)
	}
	return fmt.Sprintf("%s: %s", e.at, e.message)
}

// stream is a connection to a port of a pod.
type stream struct {
	data    httpstream.Stream
	release func()
	at      candidate
	// said is the kubelet's objection, "" for none.
	said   <-chan string
	begun  atomic.Bool // something has come
	closed atomic.Bool
}

// newStream opens streams for the port of a candidate on an upgraded connection to its pod.
func newStream(connection httpstream.Connection, at candidate, number int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(at.port)))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(number))
	failure, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = failure.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		connection.RemoveStreams(failure)
		return nil, err
	}
	said := make(chan string, 1)
	go func() {
		message, _ := io.ReadAll(failure) // an end of the connection says nothing
		said <- strings.TrimSpace(string(message))
	}()
	return &stream{data: data, at: at, said: said, release: func() {
		_ = failure.Reset()
		connection.RemoveStreams(failure, data)
	}}, nil
}

// Read implements [net.Conn]. Where nothing comes it fails with what the kubelet says.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.data.Read(into)
	if n > 0 {
		s.begun.Store(true)
	}
	if err == nil || s.begun.Load() || s.closed.Load() {
		return n, err
	}
	_ = s.data.Reset() // what was not sent would be in the way of what is said
	select {
	case message := <-s.said:
		if message != "" {
			return n, &RefusedError{s.at, message}
		}
	case <-time.After(sayingTime):
	}
	return n, err
}

// Write implements [net.Conn].
func (s *stream) Write(content []byte) (int, error) { return s.data.Write(content) }

// Close implements [net.Conn].
func (s *stream) Close() error {
	if s.closed.Swap(true) {
		return net.ErrClosed
	}
	err := s.data.Reset() // a reader is to return
	s.release()
	return err
}

// LocalAddr implements [net.Conn].
func (s *stream) LocalAddr() net.Addr { return address(s.at.String()) }

// RemoteAddr implements [net.Conn].
func (s *stream) RemoteAddr() net.Addr { return address(s.at.String()) }

// errNoDeadline says that a stream has no deadlines. Who asks closes it instead.
var errNoDeadline = errors.New("streams of a forwarded port have no deadlines")

// SetDeadline implements [net.Conn].
func (s *stream) SetDeadline(time.Time) error { return errNoDeadline }

// SetReadDeadline implements [net.Conn].
func (s *stream) SetReadDeadline(time.Time) error { return errNoDeadline }

// SetWriteDeadline implements [net.Conn].
func (s *stream) SetWriteDeadline(time.Time) error { return errNoDeadline }

// address is the place of a port in words.
type address string

// Network implements [net.Addr].
func (a address) Network() string { return "portforward" }

// String implements [net.Addr].
func (a address) String() string { return string(a) }
