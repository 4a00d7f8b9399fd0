package gangfaults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"time"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/relay"
)

// silence is how long a call to the API server has no answer at most.
const silence = 2 * time.Second

// call is a bind call about a member of a gang.
type call struct {
	pod, gang string
	arrived   time.Time // at muster
	let       time.Time // go: when muster had the API server bind the pod first, zero for never
	ended     time.Time // zero while it lasts
}

// traffic is what is said between the scheduler, muster and the API server during a run. It
// makes the trouble of a script until that is over. Its methods are safe for concurrent use.
type traffic struct {
	trouble trouble
	nodes   []string
	calm    context.Context //nolint:containedctx // ends with the trouble

	mu        sync.Mutex
	seen      map[string]int // calls by verb and what they are about
	made      map[fault]int  // trouble
	calls     []*call
	held      map[string]int // bind calls that have reached muster, by gang
	committed map[string]bool
	changed   chan struct{} // closed when held or committed change
}

func newTraffic(calm context.Context, s *script) *traffic {
	t := &traffic{
		trouble: s.trouble, calm: calm,
		seen: map[string]int{}, made: map[fault]int{}, held: map[string]int{}, committed: map[string]bool{}, changed: make(chan struct{}),
	}
	for _, n := range s.nodes {
		t.nodes = append(t.nodes, n.Name)
	}
	return t
}

// await returns when a moment has come, or with the context.
func (t *traffic) await(ctx context.Context, m moment) {
	for {
		t.mu.Lock()
		come, changed := t.held[m.gang] >= m.held && (t.committed[m.gang] || !m.committed), t.changed
		t.mu.Unlock()
		if come {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func (t *traffic) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// next draws what happens to a call.
func (t *traffic) next(v verb, about string) (fault, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := string(v) + " " + about
	before := t.seen[id]
	t.seen[id]++
	if t.calm.Err() != nil {
		return "", 0
	}
	f, d := t.trouble.of(v, about, before)
	if f != "" {
		t.made[fault(v)+": "+f]++
	}
	return f, d
}

// faults are how often each kind of trouble was made.
func (t *traffic) faults() map[fault]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.made)
}

// history are all bind calls about members so far.
func (t *traffic) history() (calls []call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.calls {
		calls = append(calls, *c)
	}
	return calls
}

// toMuster decides about a call of the scheduler.
func (t *traffic) toMuster(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	v := verb(path.Base(r.URL.Path))
	if v != filterCall && v != bindCall {
		pass.ServeHTTP(w, r)
		return
	}
	body, err := relay.Body(r)
	if err != nil {
		relay.Cut()
	}
	var about struct {
		extenderv1.ExtenderBindingArgs
		Pod struct{ Metadata struct{ Name string } }
	}
	if json.Unmarshal(body, &about) != nil {
		pass.ServeHTTP(w, r)
		return
	}
	name := about.Pod.Metadata.Name
	if v == bindCall {
		name = about.PodName
	}
	f, d := t.next(v, name)
	switch f {
	case callDelayed, callTooLate:
		pause(r.Context(), d)
	case callCut:
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		r = r.WithContext(ctx)
	case answerLost:
		w = httptest.NewRecorder()
		defer relay.Cut()
	case callRepeated:
		t.repeat(r, body, pass)
	case callElsewhere:
		args := about.ExtenderBindingArgs
		args.Node = t.nodes[len(name)%len(t.nodes)]
		if other, err := json.Marshal(args); err == nil {
			t.repeat(r, other, pass)
		}
	default:
	}
	if v == bindCall && r.Context().Err() == nil {
		c := t.begin(name)
		defer t.end(c)
	}
	pass.ServeHTTP(w, r)
}

// repeat makes a bind call again a little later, for as long as it lasts.
func (t *traffic) repeat(r *http.Request, body []byte, pass http.Handler) {
	ctx := r.Context()
	go func() {
		pause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return
		}
		again := r.Clone(ctx)
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		defer func() { _ = recover() }() // what ends the connection of others
		pass.ServeHTTP(httptest.NewRecorder(), again)
	}()
}

func (t *traffic) begin(pod string) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &call{pod: pod, gang: gangOf(pod), arrived: time.Now()}
	t.calls = append(t.calls, c)
	t.held[c.gang]++
	t.tell()
	return c
}

func (t *traffic) end(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.ended = time.Now()
}

// gangOf is the name of the gang of a member, or something else for other pods.
func gangOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }

// toAPI decides about a call of muster's to the API server.
func (t *traffic) toAPI(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	v, about := writeOf(r)
	if v == "" {
		pass.ServeHTTP(w, r)
		return
	}
	if v == binding {
		t.let(about)
	}
	f, d := t.next(v, about)
	if answer := answers()[f]; answer != nil {
		answer(w, r, pass)
		return
	}
	switch f {
	case apiSilent:
		_, _ = relay.Body(r) // else it is not noticed when muster leaves
		quiet, cancel := context.WithTimeout(t.calm, silence)
		defer cancel()
		select {
		case <-quiet.Done():
		case <-r.Context().Done():
		}
		relay.Cut()
	case apiLost:
		w = httptest.NewRecorder()
		defer relay.Cut()
	default:
		if v == binding && t.trouble.slow[gangOf(about)] && t.calm.Err() == nil {
			_, _ = relay.Body(r)
			if pause(r.Context(), d); r.Context().Err() != nil {
				relay.Cut()
			}
		}
	}
	pass.ServeHTTP(w, r)
}

// let notes that muster has the API server bind a pod.
func (t *traffic) let(pod string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, c := range t.calls {
		if c.pod == pod && c.let.IsZero() && c.ended.IsZero() {
			c.let = now
		}
	}
	t.committed[gangOf(pod)] = true
	t.tell()
}

// writeOf says what a request writes, and of what; "" if nothing happens to such requests.
func writeOf(r *http.Request) (v verb, about string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "pods" || part == "podgroups" {
			return writes()[strings.Join(append([]string{r.Method, part}, parts[i+2:]...), " ")], parts[i+1]
		}
	}
	return "", ""
}

// writes are what happens something to, by method, resource and subresource.
func writes() map[string]verb {
	return map[string]verb{
		"POST pods binding":      binding,
		"PATCH pods status":      nomination,
		"PATCH pods":             podChange,
		"PATCH podgroups status": groupState,
		"PATCH podgroups":        startOf,
	}
}
