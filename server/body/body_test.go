package body

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func request(body io.Reader, length int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = length
	return r
}

func TestABodyIsReadWhateverArrivesWhen(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		text := bytes.Repeat([]byte("x"), rapid.IntRange(0, 10_000).Draw(t, "length"))
		arriving := io.Reader(bytes.NewReader(text))
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			arriving = iotest.OneByteReader(arriving)
		case 1:
			arriving = iotest.HalfReader(arriving)
		case 2:
			arriving = iotest.DataErrReader(arriving)
		}
		length := int64(len(text))
		if rapid.Bool().Draw(t, "of unknown length") {
			length = -1
		}
		budget := NewBudget(1 << 20)
		share := budget.Share()
		r := Reader{Most: 10_000, Timeout: time.Hour, Budget: budget}
		got, err := r.Read(
			httptest.NewRecorder(), request(arriving, length), make([]byte, 3, rapid.IntRange(3, 20_000).Draw(t, "buffer")), &share,
		)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("read %d bytes, %v, want %d", len(got), err, len(text))
		}
		if most := max(first, length, 2*int64(len(text))); budget.Held() > most {
			t.Errorf("%d bytes are held for %d", budget.Held(), len(text))
		}
		share.GiveBack()
		if budget.Held() != 0 {
			t.Errorf("%d bytes are held once all was given back", budget.Held())
		}
	})
}

// endless gives as much as there is room for.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestABodyIsRefused(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errors.New("cut")))
	for name, test := range map[string]struct {
		body   io.Reader
		length int64
		budget int64
		status int
		err    string
	}{
		"that says that it is too large": {
			iotest.ErrReader(errors.New("it was read")), 5001, 1 << 20, http.StatusRequestEntityTooLarge,
			"the body is larger than 5000 bytes (which is enough)",
		},
		"that turns out to be": {
			&endless{}, -1, 1 << 20, http.StatusRequestEntityTooLarge, "the body is larger than 3000 bytes, which needs a Content-Length",
		},
		"that breaks off": {broken, 1000, 1 << 20, http.StatusBadRequest, "reading the body: cut"},
		"others hold too much": {
			&endless{}, 4000, 2500, http.StatusServiceUnavailable,
			"too much is held by other requests: they may hold 2500 bytes",
		},
		"that is small while they hold all": {
			strings.NewReader("a"), 1, 0, http.StatusServiceUnavailable,
			"too much is held by other requests: they may hold 0 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			budget := NewBudget(test.budget)
			share := budget.Share()
			r := Reader{Most: 5000, Unsized: 3000, Why: "which is enough", Timeout: time.Hour, Budget: budget}
			_, err := r.Read(httptest.NewRecorder(), request(test.body, test.length), nil, &share)
			refusal, ok := errors.AsType[*RefusalError](err)
			if !ok || refusal.Status != test.status || err.Error() != test.err {
				t.Errorf("%v, want %d %q", err, test.status, test.err)
			}
			if budget.Held() > max(0, test.budget) {
				t.Errorf("%d bytes are held of %d", budget.Held(), test.budget)
			}
			share.GiveBack()
			if budget.Held() != 0 {
				t.Errorf("%d bytes are held in the end", budget.Held())
			}
		})
	}
}

// Who promises much and sends little takes little.
func TestMemoryGrowsWithWhatHasArrived(t *testing.T) {
	budget := NewBudget(1 << 30)
	r := Reader{Most: 64 << 20, Timeout: time.Hour, Budget: budget}
	var open sync.WaitGroup
	const requests = 100
	arrived, end := make(chan struct{}), make(chan struct{})
	for range requests {
		open.Go(func() {
			share := budget.Share()
			defer share.GiveBack()
			sent := io.MultiReader(strings.NewReader("{"), readerFunc(func([]byte) (int, error) {
				arrived <- struct{}{}
				<-end
				return 0, io.ErrUnexpectedEOF
			}))
			if _, err := r.Read(httptest.NewRecorder(), request(sent, 64<<20), nil, &share); err == nil {
				t.Error("half a body was taken for a body")
			}
		})
	}
	for range requests {
		<-arrived
	}
	if held := budget.Held(); held != requests*first {
		t.Errorf("%d requests that sent a byte each hold %d bytes, want %d", requests, held, requests*first)
	}
	close(end)
	open.Wait()
	if budget.Held() != 0 {
		t.Errorf("%d bytes are held in the end", budget.Held())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
