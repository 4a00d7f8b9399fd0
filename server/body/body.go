// Package body reads the bodies of requests, within bounds of size, time and memory.
//
// Memory grows with what has arrived, and not with what a Content-Length promises. All bodies that
// are held at one time share a [Budget]: however many requests there are, they take no more.
package body

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Budget is how many bytes requests may hold at one time, all together. It is safe for concurrent
// use.
type Budget struct {
	most int64
	held atomic.Int64
}

// NewBudget returns a Budget of a number of bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// Held is how many bytes are held.
func (b *Budget) Held() int64 { return b.held.Load() }

// Share is the part of a Budget that one request holds. One goroutine uses a Share.
type Share struct {
	of    *Budget
	bytes int64
}

// Share returns a share of nothing, which must be given back.
func (b *Budget) Share() Share { return Share{of: b} }

// Take takes more. The error is a [RefusalError] when there is not as much. Of the zero Share
// everybody may take as much as they like.
func (s *Share) Take(bytes int64) error {
	if s.of == nil {
		return nil
	}
	if s.of.held.Add(bytes) > s.of.most {
		s.of.held.Add(-bytes)
		return &RefusalError{
			http.StatusServiceUnavailable,
			fmt.Errorf("%w: they may hold %d bytes", ErrBusy, s.of.most),
		}
	}
	s.bytes += bytes
	return nil
}

// GiveBack gives all of it back.
func (s *Share) GiveBack() {
	if s.of == nil {
		return
	}
	s.of.held.Add(-s.bytes)
	s.bytes = 0
}

// ErrBusy says that other requests hold too much.
var ErrBusy = errors.New("too much is held by other requests")

// RefusalError is why a body was not read.
type RefusalError struct {
	// Status is the HTTP status to answer with.
	Status int
	Err    error
}

func (r *RefusalError) Error() string { return r.Err.Error() }

func (r *RefusalError) Unwrap() error { return r.Err }

// Reader reads bodies.
type Reader struct {
	// Most is how long a body may be, in bytes, and Why a reason. One that does not say
	// beforehand how long it is may have Unsized, if that is less and not 0.
	Most, Unsized int64
	Why           string
	// Timeout is how long a body may take to arrive.
	Timeout time.Duration
	Budget  *Budget
}

const (
	// first is how much of a body is held at once, in bytes.
	first = 1 << 10
	// second is how much is held at most once that has arrived. It doubles from there.
	second = 64 << 10
)

// Read reads a body into the memory of a buffer, or more, and holds that much of a share of the
// Budget. The deadline ends with the body, as what follows may take longer. The error is a
// [RefusalError].
func (r *Reader) Read(w http.ResponseWriter, request *http.Request, buffer []byte, share *Share) ([]byte, error) {
	length, most := request.ContentLength, r.Most // -1 when it is not known
	if length < 0 && r.Unsized > 0 {
		most = min(most, r.Unsized)
	}
	if length > most {
		return nil, r.tooLarge(length, most)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.Timeout)) // not supported by test recorders
	buffer = buffer[:0]
	for held := int64(0); ; {
		have := int64(len(buffer))
		if have == held {
			more := have
			switch {
			case have == 0:
				more = first
			case have < second && length >= 0:
				more = second
			}
			if length >= 0 {
				more = min(more, length-have)
			}
			if err := share.Take(more); err != nil {
				return nil, err
			}
			held += more
			buffer = slices.Grow(buffer, int(held-have))
		}
		n, err := request.Body.Read(buffer[have:held])
		buffer = buffer[:have+int64(n)]
		switch have += int64(n); {
		case have > most:
			return nil, r.tooLarge(length, most)
		case errors.Is(err, io.EOF), err == nil && have == length:
			_ = control.SetReadDeadline(time.Time{})
			return buffer, nil
		case err != nil:
			return nil, &RefusalError{http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)}
		}
	}
}

func (r *Reader) tooLarge(length, most int64) error {
	err := fmt.Errorf("the body is larger than %d bytes (%s)", most, r.Why)
	if length < 0 {
		err = fmt.Errorf("the body is larger than %d bytes, which needs a Content-Length", most)
	}
	return &RefusalError{http.StatusRequestEntityTooLarge, err}
}
