package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// answer is the outcome of a request: no status if there was no answer.
type answer struct {
	status int
	text   string // or why there is none
	active bool   // a browser would run it
	took   time.Duration
}

// String is the answer in short.
func (a answer) String() string {
	text := a.text
	if len(text) > 120 {
		text = text[:120] + "…"
	}
	return fmt.Sprintf("%d %q", a.status, text)
}

const asJSON = "application/json"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// call sends a request, with headers as name and value by turns.
func (g *ground) call(ctx context.Context, method, url string, body io.Reader, headers ...string) answer {
	return send(ctx, g.http, method, url, body, headers...)
}

func send(ctx context.Context, client *http.Client, method, url string, body io.Reader, headers ...string) answer {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{text: err.Error()}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{text: err.Error(), took: time.Since(began)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{text: err.Error(), took: time.Since(began)}
	}
	header := response.Header
	active := strings.HasPrefix(header.Get("Content-Type"), "text/html") || header.Get("X-Content-Type-Options") != "nosniff"
	return answer{status: response.StatusCode, text: strings.TrimSpace(string(text)), active: active, took: time.Since(began)}
}

// post sends a body to a verb, as JSON.
func (g *ground) post(ctx context.Context, verb string, body []byte) answer {
	return g.call(ctx, http.MethodPost, g.muster.URL()+"/"+verb, bytes.NewReader(body), "Content-Type", asJSON)
}

// encoded is a message as JSON. All that is encoded here can be.
func encoded(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("encode a message of this package: %v", err))
	}
	return text
}

func filterBody(pod *corev1.Pod, nodes ...string) []byte {
	return encoded(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

// offers are the nodes that filter offers for a pod.
func (g *ground) offers(ctx context.Context, pod *corev1.Pod, nodes ...string) (map[string]bool, error) {
	got := g.post(ctx, "filter", filterBody(pod, nodes...))
	var result extenderv1.ExtenderFilterResult
	if err := json.Unmarshal([]byte(got.text), &result); err != nil || got.status != http.StatusOK || result.Error != "" {
		return nil, fmt.Errorf("filter answers %s", got)
	}
	offered := map[string]bool{}
	if result.NodeNames != nil {
		for _, name := range *result.NodeNames {
			offered[name] = true
		}
	}
	return offered, nil
}

// offered has filter offer a node for a pod, which it must.
func (g *ground) offered(ctx context.Context, pod *corev1.Pod, node string) error {
	offers, err := g.offers(ctx, pod, node)
	if err == nil && !offers[node] {
		err = fmt.Errorf("filter does not offer node %s for pod %s", node, pod.Name)
	}
	return err
}

func bindBody(pod *corev1.Pod, uid types.UID, node string) []byte {
	return encoded(extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: uid, Node: node})
}

// bind asks to bind a pod, and returns what the verb says.
func (g *ground) bind(ctx context.Context, pod *corev1.Pod, uid types.UID, node string) answer {
	return g.post(ctx, "bind", bindBody(pod, uid, node))
}

func preemptBody(pod *corev1.Pod, victims map[string][]string) []byte {
	args := extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for node, uids := range victims {
		meta := &extenderv1.MetaVictims{}
		for _, uid := range uids {
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: uid})
		}
		args.NodeNameToMetaVictims[node] = meta
	}
	return encoded(args)
}

func bodyAttack(name, tries string, do func(context.Context, *ground) (bombs, error)) Attack {
	return plan[bombs]{name: name, by: Caller, tries: tries, do: do, check: bombs.judge, successes: bombsThatGoOff()}.attack()
}

// bodyAttacks are bodies that take more than they should.
func bodyAttacks() []Attack {
	return []Attack{
		bodyAttack(
			"containers-bomb",
			"to fill muster's memory with 4 MiB of containers of two bytes each",
			func(ctx context.Context, g *ground) (bombs, error) {
				bodies := map[string]string{}
				for field, element := range map[string]string{"containers": "{}", "volumes": "{}", "tolerations": "{}", "resourceClaims": "{}"} {
					list := strings.TrimSuffix(strings.Repeat(element+",", 4<<20/3), ",")
					everywhere(bodies, field, fmt.Sprintf(podOf, `{"`+field+`": [`+list+`]}`))
				}
				list := `": [` + strings.TrimSuffix(strings.Repeat("{},", 19_999), ",") + `]`
				everywhere(
					bodies, "up to the bounds", fmt.Sprintf(podOf, `{"containers`+list+`, "initContainers`+list+`, "ephemeralContainers`+list+`}`),
				)
				return g.drop(ctx, 4, bodies)
			},
		),
		bodyAttack("name-bomb", "to fill muster's memory and log with names of 8 MB", func(ctx context.Context, g *ground) (bombs, error) {
			name := strings.Repeat("n", 8_000_000)
			bodies := map[string]string{}
			for _, field := range []string{"name", "namespace", "uid"} {
				everywhere(bodies, field, `{"metadata": {"`+field+`": "`+name+`"}, "spec": {}}`)
			}
			everywhere(bodies, "label", `{"metadata": {"name": "p", "labels": {"`+name+`": "x"}}, "spec": {}}`)
			everywhere(bodies, "scheduler", fmt.Sprintf(podOf, `{"schedulerName": "`+name+`"}`))
			everywhere(bodies, "field", `{"`+name+`": 1, "metadata": 7}`)
			bodies["/bind"] = `{"PodName": "` + name + `"}`
			bodies["/bind short"] = `{"PodName": "` + name[:60_000] + `", "PodUID": 7}`
			bodies["/filter node"] = `{"Pod": 7, "NodeNames": ["` + name + `"]}`
			b, err := g.drop(ctx, 2, bodies)
			b.accepted = nil // some may be as long as they like, as nothing is made of them
			return b, err
		}),
		bodyAttack("deep-nesting", "to have muster recurse without end", func(ctx context.Context, g *ground) (bombs, error) {
			bodies := map[string]string{}
			for of, opening := range map[string]string{
				"lists": "[", "objects": `{"a":`, "items": `{"containers":[`, "affinity": `{"affinity":{"podAffinity":`,
			} {
				everywhere(bodies, of, fmt.Sprintf(podOf, strings.Repeat(opening, 8_000_000/len(opening))))
			}
			for _, verb := range []string{"/filter", "/prioritize", "/preempt", "/bind", "/webhook/gates", "/debug/explain"} {
				bodies[verb+" itself"] = strings.Repeat("[", 60_000)
			}
			bodies["/debug/explain YAML"] = "a: &a [x]\nb: &b [" + strings.TrimSuffix(strings.Repeat("*a,", 900), ",") + "]\nc: &c [" +
				strings.TrimSuffix(strings.Repeat("*b,", 900), ",") + "]\nd: [" + strings.TrimSuffix(strings.Repeat("*c,", 900), ",") + "]\n"
			return g.drop(ctx, 2, bodies)
		}),
		bodyAttack("slow-bodies", "to fill muster's memory with a hundred bodies of 67 MB when one byte of each arrives", slowBodies),
	}
}

// slowBodies promises much, and sends little. An answer is none of it.
func slowBodies(ctx context.Context, g *ground) (b bombs, err error) {
	at, err := url.Parse(g.muster.URL())
	if err != nil {
		return b, err
	}
	var failed error
	b.strain, err = g.strained(ctx, func(ctx context.Context) []answer {
		var mu sync.Mutex
		var sent sync.WaitGroup
		ctx, enough := context.WithTimeout(ctx, 2*settling)
		defer enough()
		for range 100 {
			sent.Go(func() {
				if err := trickle(ctx, at.Host); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = err
				}
			})
		}
		sent.Wait()
		return nil
	})
	if err == nil {
		err = failed
	}
	return b, err
}

// trickle sends the head of a request and one byte of its body, and stays until the context ends.
func trickle(ctx context.Context, address string) error {
	connection, err := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect to muster: %w", err)
	}
	defer connection.Close()
	_, err = fmt.Fprintf(
		connection, "%s /filter HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: 67000000\r\n\r\n{", http.MethodPost, address, asJSON,
	)
	<-ctx.Done()
	return err
}

// strain is the cost of an attack for muster, and for its callers meanwhile.
type strain struct {
	answers []answer // to the attacker
	calls   int      // of others
	busy    int      // of these, refused as others hold too much
	failed  []string // of these, with another answer than they should have
	slowest time.Duration
	grown   int64 // bytes of memory, at most
	logged  int64 // bytes
}

// Bounds of strain. A call takes milliseconds; what takes for ever is far beyond. Memory has room for
// the bodies that muster lets in, for as much again until it is collected, and for what the calls need.
const (
	slow    = 15 * time.Second
	growth  = 2*maxInFlight + 128<<20
	chatter = 1 << 20
)

// judge says whether a strain was too much.
func (s strain) judge() verdict {
	switch {
	case len(s.failed) > 0:
		return succeeded("%d of %d calls of others failed: %s", len(s.failed), s.calls, s.failed[0])
	case s.busy == s.calls:
		return succeeded("none of %d calls of others was answered", s.calls)
	case s.slowest > slow:
		return succeeded("a call of others took %s", s.slowest)
	case s.grown > growth:
		return succeeded("muster's memory grew by %d MiB", s.grown>>20)
	case s.logged > chatter:
		return succeeded("muster logged %d MiB", s.logged>>20)
	}
	return held("%d answers within %s, memory grew by %d MiB", len(s.answers), s.longest().Round(time.Millisecond), max(0, s.grown)>>20)
}

// longest is how long the attacker waited.
func (s strain) longest() (longest time.Duration) {
	for _, a := range s.answers {
		longest = max(longest, a.took)
	}
	return longest
}

// unbearable are strains that are too much.
func unbearable() []strain {
	fine := strain{calls: 10, slowest: time.Second}
	failed, busy, slowed, grown, noisy := fine, fine, fine, fine, fine
	failed.failed, busy.busy, slowed.slowest, grown.grown, noisy.logged = []string{"no answer"}, fine.calls, 2*slow, 2*growth, 2*chatter
	return []strain{failed, busy, slowed, grown, noisy}
}

// strained attacks while somebody asks about a pod of theirs, all the time, and says what it cost.
func (g *ground) strained(ctx context.Context, attack func(context.Context) []answer) (s strain, err error) {
	pods, err := g.stage(ctx, newNodes("strain", 1, "4"), newPod(othersNamespace, "patient", "1", scheduledBy(byHand)))
	if err != nil {
		return s, err
	}
	logged, err := muster.LogSize(g.muster.Log()), g.resetPeak()
	if err != nil {
		return s, err
	}
	before, err := process.MemoryOf(g.muster.Pid())
	if err != nil {
		return s, err
	}
	attacking, over := context.WithCancel(ctx)
	defer over()
	var attacked sync.WaitGroup
	attacked.Go(func() {
		defer over()
		s.answers = attack(attacking)
	})
	body := filterBody(pods["patient"], "strain-0")
	ask := func() {
		asked, enough := context.WithTimeout(ctx, 2*slow)
		defer enough()
		got := g.post(asked, "filter", body)
		s.calls++
		s.slowest = max(s.slowest, got.took)
		switch {
		case got.status == http.StatusServiceUnavailable:
			s.busy++
		case got.status != http.StatusOK || !strings.Contains(got.text, `"NodeNames":["strain-0"]`):
			s.failed = append(s.failed, got.String())
		}
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		ask()
		select {
		case <-tick.C:
			continue
		case <-attacking.Done():
		}
		tick.Stop()
		break
	}
	attacked.Wait()
	ask() // once more, when all is over
	if err := ctx.Err(); err != nil {
		return s, err
	}
	after, err := process.MemoryOf(g.muster.Pid())
	s.grown, s.logged = after.Peak-before.Resident, muster.LogSize(g.muster.Log())-logged
	return s, err
}

// resetPeak has the most memory that muster ever had forgotten.
func (g *ground) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.muster.Pid()), []byte("5"), 0o200)
}
