package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"muster.dev/muster/e2e/demo"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

func TestTheDemoBindsEveryPodThatFits(t *testing.T) {
	for _, selection := range []muster.Selection{muster.Scheduler, muster.Muster} {
		t.Run(string(selection), func(t *testing.T) {
			var out bytes.Buffer
			unbound, err := demo.Run(t.Context(), demo.Options{Nodes: 30, Pods: 150, Selection: selection}, io.MultiWriter(&out, t.Output()))
			if err != nil {
				t.Fatal(err)
			}
			if unbound != 0 {
				t.Errorf("%d pods fit and were not bound", unbound)
			}
			for _, want := range []string{"150 of 150 pods", "filter", "bind", "figure demo_unbound=0"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the report lacks %q", want)
				}
			}
		})
	}
}

func TestAnInterruptedDemoStopsEverything(t *testing.T) {
	lab.Long(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	out := &trigger{word: "created", fire: func() { cancel(interrupted) }, Writer: t.Output()}
	_, err := demo.Run(ctx, demo.Options{Nodes: 10, Pods: 100, Selection: muster.Muster}, out)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the interruption", err)
	}
}

// trigger fires when a word is written.
type trigger struct {
	io.Writer
	word string
	fire func()
}

func (w *trigger) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(w.word)) {
		w.fire()
	}
	return w.Writer.Write(text)
}
