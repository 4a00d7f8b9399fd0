package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	aBinding = "/api/v1/namespaces/default/pods/pod-1/binding"
	aWatch   = "/api/v1/pods"
)

// call goes a way to an API server that takes so long by itself.
func call(ctx context.Context, w *way, path string, takes time.Duration) (passed bool) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	w.pass(httptest.NewRecorder(), r, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-time.After(takes)
		passed = true
	}))
	return passed
}

func TestEachCallTakesLonger(t *testing.T) {
	for _, path := range []string{aBinding, aWatch} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if !call(t.Context(), &way{delay: 200 * time.Millisecond}, path, time.Second) {
				t.Errorf("%s is not passed on", path)
			}
			if took := time.Since(began); took != 1200*time.Millisecond {
				t.Errorf("%s takes %s", path, took)
			}
		})
	}
}

func TestACallThatIsGivenUpIsNotPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := &way{delay: time.Minute}
		if call(ctx, w, aBinding, 0) {
			t.Error("it is passed on")
		}
		if b := w.bound(); b.last.Sub(b.first) != time.Second || b.idle != 0 {
			t.Errorf("a binding was under way as %+v", b)
		}
	})
}

func TestTimeIsIdleInWhichNoBindingIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &way{delay: time.Second}
		began := time.Now()
		var calls sync.WaitGroup
		for _, at := range []time.Duration{0, time.Second, time.Minute} {
			calls.Go(func() {
				<-time.After(at)
				call(t.Context(), w, aBinding, time.Second)
			})
		}
		calls.Go(func() { call(t.Context(), w, aWatch, time.Hour) })
		calls.Wait()
		want := spell{began, began.Add(62 * time.Second), 57 * time.Second} // they take two seconds each
		if got := w.bound(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
