package gangfaults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
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

// traffic carries the calls between the scheduler, muster and the API server during a run. It makes
// the trouble of a script until that is over. Its methods are safe for concurrent use.
type traffic struct {
	*faultcampaign.Calls

	slow     map[string]bool    // that of the script
	lets     faultcampaign.Verb // lets members go
	nodes    []string
	slowness atomic.Int64 // how much longer each call to the API server takes, in nanoseconds

	mu        sync.Mutex
	late      map[string][]context.Context // what is told of a kind of objects is held back until these end
	writes    map[string][]time.Time       // of muster, about gangs and their members, by gang
	calls     []*call
	held      map[string]int // bind calls that have reached muster, by gang
	committed map[string]bool
	booked    map[string]bool                       // gangs that muster has booked room for
	asked     map[faultcampaign.Verb]map[string]int // of the API server by muster, about members, by gang
	spoiled   map[string][]time.Time                // of these, to which something happened
	changed   chan struct{}                         // closed when held, committed, booked or asked change
}

func newTraffic(calm context.Context, s *script) *traffic {
	t := &traffic{
		Calls: faultcampaign.NewCalls(calm, s.trouble), slow: s.slow, lets: binding,
		late: map[string][]context.Context{}, writes: map[string][]time.Time{},
		held: map[string]int{}, committed: map[string]bool{}, booked: map[string]bool{}, changed: make(chan struct{}),
		asked: map[faultcampaign.Verb]map[string]int{nomination: {}, gateLift: {}}, spoiled: map[string][]time.Time{},
	}
	if s.setup.ahead() {
		t.lets = gateLift
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
		come := t.held[m.gang] >= m.held && (t.committed[m.gang] || !m.committed) &&
			(t.booked[m.gang] || !m.booked) && t.asked[nomination][m.gang] >= m.nominated && t.asked[gateLift][m.gang] >= m.lifted
		changed := t.changed
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

// book notes that muster has booked room for a gang.
func (t *traffic) book(gang string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.booked[gang] = true
	t.tell()
}

func (t *traffic) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
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
	v := faultcampaign.Verb(path.Base(r.URL.Path))
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
	spoiled := t.Next(v, name)
	switch spoiled.Fault {
	case callDelayed, callTooLate:
		faultcampaign.Pause(r.Context(), spoiled.Time)
	case callCut:
		ctx, cancel := context.WithTimeout(r.Context(), spoiled.Time)
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
		faultcampaign.Pause(ctx, 20*time.Millisecond)
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
	if by := time.Duration(t.slowness.Load()); by > 0 && !t.Calm() {
		_, _ = relay.Body(r)
		if faultcampaign.Pause(r.Context(), by); r.Context().Err() != nil {
			relay.Cut()
		}
	}
	v, about := writeOf(r)
	if v == "" {
		pass.ServeHTTP(w, r)
		return
	}
	t.written(v, about)
	if v == binding {
		t.let(about)
	}
	spoiled := t.Next(v, about)
	if spoiled.Fault != "" {
		t.spoil(v, about)
	}
	if spoiled.Fault == "" && v == t.lets && t.slow[gangOf(about)] && !t.Calm() {
		_, _ = relay.Body(r)
		if faultcampaign.Pause(r.Context(), spoiled.Time); r.Context().Err() != nil {
			relay.Cut()
		}
	}
	t.Answer(spoiled.Fault, silence, w, r, pass)
}

// written notes that muster writes something about a gang.
func (t *traffic) written(v faultcampaign.Verb, about string) {
	if v != groupState && v != startOf {
		about = gangOf(about)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes[about] = append(t.writes[about], time.Now())
	if of := t.asked[v]; of != nil {
		of[about]++
		t.tell()
	}
}

// spoil notes that something happens to a write of muster's.
func (t *traffic) spoil(v faultcampaign.Verb, about string) {
	if v != groupState && v != startOf {
		about = gangOf(about)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoiled[about] = append(t.spoiled[about], time.Now())
}

// spoilsOf are when something happened to a write of muster's about a gang.
func (t *traffic) spoilsOf(gang string) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.spoiled[gang])
}

// writesSince is how often muster has written something about a gang since a time.
func (t *traffic) writesSince(gang string, since time.Time) (count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.writes[gang] {
		if at.After(since) {
			count++
		}
	}
	return count
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
func writeOf(r *http.Request) (v faultcampaign.Verb, about string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "pods" || part == "podgroups" {
			v, about = writes()[strings.Join(append([]string{r.Method, part}, parts[i+2:]...), " ")], parts[i+1]
			break
		}
	}
	// A pod is woken by an annotation, which is written with its status.
	if v == nomination {
		if body, err := relay.Body(r); err == nil && bytes.Contains(body, []byte(`"annotations"`)) {
			v = podChange
		}
	}
	return v, about
}

// writes are what happens something to, by method, resource and subresource.
func writes() map[string]faultcampaign.Verb {
	return map[string]faultcampaign.Verb{
		"POST pods binding":      binding,
		"PATCH pods status":      nomination,
		"PATCH pods":             gateLift,
		"PATCH podgroups status": groupState,
		"PATCH podgroups":        startOf,
	}
}

// Kinds of objects whose watches are held back, as the API's paths have them.
const ofPods, ofNodes, ofPodGroups = "pods", "nodes", "podgroups"

// watched is the kind of objects that a request watches, "" for another request.
func watched(r *http.Request) string {
	if !r.URL.Query().Has("watch") {
		return ""
	}
	return path.Base(r.URL.Path)
}

// holdBack holds back what is told of a kind of objects for a time, and returns then.
func (t *traffic) holdBack(ctx context.Context, kind string, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	t.mu.Lock()
	t.late[kind] = append(t.late[kind], ctx)
	t.mu.Unlock()
	<-ctx.Done()
}

// shown returns when nothing of a kind is held back, or with the context.
func (t *traffic) shown(ctx context.Context, kind string) {
	t.mu.Lock()
	late := t.late[kind]
	t.mu.Unlock()
	for _, until := range late {
		select {
		case <-until.Done():
		case <-ctx.Done():
			return
		}
	}
}
