package extender

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/servertest"
)

// lines reads the lines of an answer.
func lines(t *testing.T, response *http.Response) []string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

const bodyTimeout = 5 * time.Second

// serveVerb serves a verb that is answered as its body is read.
func serveVerb(
	t *testing.T, log io.Writer, maxBody int64, serve func(ctx context.Context, body []byte, m *memory) error,
) (*http.Client, *prometheus.Registry) {
	t.Helper()
	return serveAt(t, log, maxBody, served("verb", serve))
}

// serveAt serves a verb at every URL of the client that it returns.
func serveAt(t *testing.T, log io.Writer, maxBody int64, verb verb) (*http.Client, *prometheus.Registry) {
	t.Helper()
	registry, listener := prometheus.NewRegistry(), servertest.NewPipes()
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	bodies := body.NewReaders(registry, body.Limits{Body: maxBody, InFlight: 1 << 30, Timeout: bodyTimeout})
	v := newCalls(logger, registry, nil, bodies, func() error { return nil })
	server := &http.Server{Handler: v.handler(verb)}
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		<-done
		<-time.After(time.Second) // net/http stays half a second with connections whose body it did not read
	})
	return listener.Client(t), registry
}

// served is a verb that is answered as its body is read.
func served(name string, serve func(ctx context.Context, body []byte, m *memory) error) verb {
	return verb{
		name:   name,
		read:   func(body []byte, q *request, m *memory) error { return serve(q.ctx, body, m) },
		answer: func(q *request, _ *memory) (report, error) { return q.report(outcomeOK), nil },
	}
}

func echo(_ context.Context, body []byte, m *memory) error {
	m.reply.Raw(body)
	return nil
}

// untouched is a body that must not be read.
type untouched struct{ *testing.T }

// Read implements [io.Reader].
func (u untouched) Read([]byte) (int, error) {
	u.Error("the body was read")
	return 0, io.EOF
}

func TestABodyThatIsTooLargeIsRefusedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, registry := serveVerb(t, io.Discard, 1000, echo)
		client.Transport.(*http.Transport).ExpectContinueTimeout = time.Hour
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://muster/verb", untouched{t})
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = 1001
		request.Header.Set("Expect", "100-continue")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(t, response); response.StatusCode != http.StatusRequestEntityTooLarge ||
			got[0] != "the body is larger than 1000 bytes (which is enough for any call)" {
			t.Errorf("answered %s %q", response.Status, got)
		}
		if got := counted(t, registry, "verb", outcomeTooLarge); got != 1 {
			t.Errorf("%d calls counted as too large, want 1", got)
		}
	})
}

func TestABodyOfUnknownLengthIsReadUpToTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := serveVerb(t, io.Discard, 1000, echo)
		for length, want := range map[int]int{1000: http.StatusOK, 1001: http.StatusRequestEntityTooLarge} {
			if status, _ := postUnsized(t, client, length); status != want {
				t.Errorf("%d bytes: answered %d, want %d", length, status, want)
			}
		}
	})
}

func TestABodyOfUnknownLengthMayNotBeLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := serveVerb(t, io.Discard, 2*body.MaxUnsized, echo)
		if status, _ := postUnsized(t, client, body.MaxUnsized); status != http.StatusOK {
			t.Errorf("a small one is answered %d, want 200", status)
		}
		status, text := postUnsized(t, client, body.MaxUnsized+1)
		want := "the body is larger than 4194304 bytes, which needs a Content-Length\n"
		if status != http.StatusRequestEntityTooLarge || text != want {
			t.Errorf("answered %d %q, want 413 %q", status, text, want)
		}
	})
}

// postUnsized sends a body without its length, which a plain reader hides.
func postUnsized(t *testing.T, client *http.Client, length int) (status int, answer string) {
	t.Helper()
	response, err := client.Post("http://muster/verb", "application/json", io.MultiReader(bytes.NewReader(make([]byte, length))))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestABodyMustArriveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, registry := serveVerb(t, io.Discard, 1000, echo)
		body, rest := io.Pipe() // nothing ever comes
		defer rest.Close()
		began := time.Now()
		response, err := client.Post("http://muster/verb", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(t, response); response.StatusCode != http.StatusBadRequest || !strings.HasPrefix(got[0], "reading the body: ") {
			t.Errorf("answered %s %q", response.Status, got)
		}
		if took := time.Since(began); took != bodyTimeout {
			t.Errorf("answered after %s, want %s", took, bodyTimeout)
		}
		if got := counted(t, registry, "verb", outcomeBadRequest); got != 1 {
			t.Errorf("%d calls counted as bad requests, want 1", got)
		}
	})
}

func TestACallMayTakeLongerThanItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := serveVerb(t, io.Discard, 1000, func(ctx context.Context, body []byte, m *memory) error {
			select {
			case <-time.After(10 * bodyTimeout):
				return echo(ctx, body, m)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		for range 2 { // the connection serves on
			response, err := client.Post("http://muster/verb", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(t, response); response.StatusCode != http.StatusOK || got[0] != "{}" {
				t.Errorf("answered %s %q", response.Status, got)
			}
		}
	})
}

func TestACallerThatGoesAwayEndsItsCallOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, registry := serveVerb(t, io.Discard, 1000, func(ctx context.Context, body []byte, m *memory) error {
			if string(body) == "wait" {
				<-ctx.Done()
				return ctx.Err()
			}
			return echo(ctx, body, m)
		})
		ctx, leave := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://muster/verb", strings.NewReader("wait"))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			response, err := client.Do(request)
			if err == nil {
				response.Body.Close()
			}
			ended <- err
		}()
		synctest.Wait()
		if got := callsInFlight(t, registry); got != 1 {
			t.Errorf("%v calls are in flight, want 1", got)
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller got %v", err)
		}
		synctest.Wait()
		if got := counted(t, registry, "verb", outcomeCanceled); got != 1 {
			t.Errorf("%d calls counted as canceled, want 1", got)
		}
		response, err := client.Post("http://muster/verb", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(t, response); response.StatusCode != http.StatusOK || got[0] != "{}" {
			t.Errorf("the next call was answered %s %q", response.Status, got)
		}
		if got := callsInFlight(t, registry); got != 0 {
			t.Errorf("%v calls are in flight, want none", got)
		}
	})
}

func callsInFlight(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "muster_verb_calls_in_flight" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("calls in flight are not counted")
	return 0
}

func TestTheAccessLogTellsOfThisCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log servertest.Log
		cfg := config.Default()
		cfg.Profiles[0].SchedulerName = "s"
		profiles := profilesOf(
			t,
			cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}),
			cfg,
		)
		v := served("verb", nil)
		v.read = func(body []byte, q *request, m *memory) error {
			if err := m.args.Read(&m.decoder, body, &m.reading); err != nil {
				return badRequest(err)
			}
			q.named, q.store = m.args.Pod, profiles.Of(m.args.Pod.SchedulerName)
			if q.named.Name == "fourth" {
				panic("a bug")
			}
			m.reply.RawStr("{}")
			return nil
		}
		client, _ := serveAt(t, &log, 1000, v)
		for _, body := range []string{
			`{"Pod": {"metadata": {"namespace": "n", "name": "first"}, "spec": {"schedulerName": "s"}}}`,
			strings.Repeat(" ", 1001),
			`{"Pod": {"metadata": {"namespace": "n", "name": "third"}}}`,
			`{"Pod": {"metadata": {"namespace": "n", "name": "fourth"}, "spec": {"schedulerName": "s"}}}`,
		} {
			response, err := client.Post("http://muster/verb", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			synctest.Wait()
		}
		want := []string{
			`pod=n/first profile=s class="" outcome=ok status=200 bytesIn=90 bytesOut=2`,
			`pod=/ profile="" class="" outcome=too_large status=413 bytesIn=0 bytesOut=0`,
			`pod=n/third profile="" class="" outcome=ok status=200 bytesIn=58 bytesOut=2`,
			`pod=n/fourth profile=s class="" outcome=panic status=500 bytesIn=91 bytesOut=0`,
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			if _, line, answered := strings.Cut(line, `msg="verb answered" verb=verb `); answered {
				line, _, _ = strings.Cut(line, " elapsed=")
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRequestsThatHoldMuchLeaveRoomForBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, listener := prometheus.NewRegistry(), servertest.NewPipes()
		const inFlight = 1 << 20
		bodies := body.NewReaders(registry, body.Limits{Body: inFlight / 2, InFlight: inFlight, Timeout: time.Minute})
		v := newCalls(slog.New(slog.DiscardHandler), registry, nil, bodies, func() error { return nil })
		held := make(chan struct{})
		mux := http.NewServeMux()
		mux.Handle("/filter", v.handler(served("filter", func(context.Context, []byte, *memory) error {
			<-held
			return nil
		})))
		small := served("bind", echo)
		small.small = true
		mux.Handle("/bind", v.handler(small))
		server := &http.Server{Handler: mux}
		done := make(chan error)
		go func() { done <- server.Serve(listener) }()
		client := listener.Client(t)
		post := func(verb string, length int) (int, string) {
			response, err := client.Post("http://muster/"+verb, "application/json", bytes.NewReader(make([]byte, length)))
			if err != nil {
				t.Fatal(err)
			}
			return response.StatusCode, lines(t, response)[0]
		}
		var answered sync.WaitGroup
		answered.Go(func() { post("filter", inFlight/2) })
		answered.Go(func() { post("filter", inFlight/4) })
		synctest.Wait()
		status, text := post("filter", inFlight/4)
		if want := "too much is held by other requests: they may hold 983040 bytes"; status != http.StatusServiceUnavailable ||
			text != want {
			t.Errorf("a third request is answered %d %q, want 503 %q", status, text, want)
		}
		if got := counted(t, registry, "filter", outcomeBusy); got != 1 {
			t.Errorf("%d calls are counted as busy, want 1", got)
		}
		if status, _ := post("bind", 300); status != http.StatusOK {
			t.Errorf("bind is answered %d", status)
		}
		if status, text := post("bind", body.MaxSmall+1); status != http.StatusRequestEntityTooLarge {
			t.Errorf("a large bind is answered %d %q", status, text)
		}
		close(held)
		answered.Wait()
		if status, _ := post("filter", inFlight/4); status != http.StatusOK {
			t.Errorf("the next request is answered %d", status)
		}
		synctest.Wait()
		if held := bodies.Held(); held != 0 {
			t.Errorf("%d bytes are held in the end", held)
		}
		server.Close()
		<-done
		<-time.After(time.Second) // as in serveVerb
	})
}

// A call that is held for long keeps nothing of its body.
func TestABindThatIsHeldHoldsNoMemoryOfBodies(t *testing.T) {
	budget := body.NewBudget(1 << 20)
	var c call
	c.begin(budget.Share())
	if err := c.memory.hold(1 << 10); err != nil {
		t.Fatal(err)
	}
	bind := *newExtenderBench(t, benchOptions{}).extender.verb("bind")
	bind.answer = func(*request, *memory) (report, error) {
		if budget.Held() != 0 || c.memory.body != nil {
			t.Errorf("%d bytes are held, and a body of %d", budget.Held(), len(c.memory.body))
		}
		return report{}, nil
	}
	if _, err := c.serve(t.Context(), &bind, []byte(`{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n"}`)); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerIsKeptBackWhenTheLeaseIsLostMeanwhile(t *testing.T) {
	var why error
	registry := prometheus.NewRegistry()
	bodies := body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 30, Timeout: time.Minute})
	v := newCalls(slog.New(slog.DiscardHandler), registry, nil, bodies, func() error { return why })
	answer := httptest.NewRecorder()
	v.handler(served("filter", func(_ context.Context, _ []byte, m *memory) error {
		m.reply.RawStr("{}")
		why = leadership.ErrLost
		return nil
	}))(answer, httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader("{}")))
	if answer.Code != http.StatusServiceUnavailable || answer.Body.String() != leadership.ErrLost.Error()+"\n" {
		t.Errorf("the answer is %d %q", answer.Code, answer.Body)
	}
}
