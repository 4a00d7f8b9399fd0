package attack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// endless are quantities that take for ever, or long, to parse.
var endless = []string{"1e-2147483648", "1e-30000000", "1e30000000", strings.Repeat("9", 1<<20)}

// bombs is what came of requests that would take muster's time or memory.
type bombs struct {
	strain
	accepted []string // that were answered as if they were good
}

func (b bombs) judge() verdict {
	for _, a := range b.answers {
		if a.status == 0 {
			return succeeded("a request was not answered within %s: %s", a.took.Round(time.Second), a)
		}
	}
	if len(b.accepted) > 0 {
		return succeeded("%s was accepted", b.accepted[0])
	}
	return b.strain.judge()
}

func bombsThatGoOff() []bombs {
	outcomes := []bombs{
		{strain: strain{answers: []answer{{text: "timeout"}}, calls: 1}},
		{strain: strain{calls: 1}, accepted: []string{"cpu"}},
	}
	for _, s := range unbearable() {
		outcomes = append(outcomes, bombs{strain: s})
	}
	return outcomes
}

// drop sends bodies by name of where they go, all at a time, as often as is said, and waits no longer for an
// answer than is bearable.
func (g *ground) drop(ctx context.Context, times int, bodies map[string]string) (b bombs, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	b.strain, err = g.strained(ctx, func(ctx context.Context) (answers []answer) {
		var mu sync.Mutex
		var sent sync.WaitGroup
		for where, body := range bodies {
			target, path := g.muster.URL(), strings.Fields(where)[0]
			client := g.http
			switch {
			case strings.HasPrefix(path, "/debug/"):
				target = g.muster.DebugURL()
			case strings.HasPrefix(path, "/webhook/"):
				target, client = g.guarded.webhook, g.guarded.client()
			}
			for range times {
				sent.Go(func() {
					limited, enough := context.WithTimeout(ctx, 2*slow)
					defer enough()
					got := send(limited, client, http.MethodPost, target+path, strings.NewReader(body), "Content-Type", asJSON)
					mu.Lock()
					defer mu.Unlock()
					answers = append(answers, got)
					if got.status < 400 && got.status > 0 && !strings.HasPrefix(path, "/webhook/") {
						b.accepted = append(b.accepted, where)
					}
				})
			}
		}
		sent.Wait()
		return answers
	})
	return b, err
}

const (
	filterOf  = `{"NodeNames": ["strain-0"], "Pod": %s}`
	preemptOf = `{"NodeNameToMetaVictims": {"strain-0": {"Pods": [{"UID": "made-up"}]}}, "Pod": %s}`
	reviewOf  = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", ` +
		`"resource": {"version": "v1", "resource": "pods"}, "object": %s}}`
	podOf      = `{"metadata": {"name": "bomb", "uid": "bomb", "labels": {"muster.dev/pod-group": "g"}}, "spec": %s}`
	requestsOf = `{"containers": [{"name": "main", "resources": {%q: {%q: %q}}}]}`
)

// everywhere is a pod as it is sent to whoever reads one, by where that is; of is what it is about.
func everywhere(bodies map[string]string, of, pod string) {
	for path, form := range map[string]string{
		"/filter": filterOf, "/prioritize": filterOf, "/preempt": preemptOf, "/debug/explain": "%s", "/webhook/gates": reviewOf,
	} {
		bodies[path+" "+of] = fmt.Sprintf(form, pod)
	}
}

func quantityBomb() plan[bombs] {
	return plan[bombs]{
		name: "quantity-bomb", by: Caller,
		tries: "to stop muster by quantities that take for ever to parse, in pods that it reads",
		do: func(ctx context.Context, g *ground) (bombs, error) {
			bodies := map[string]string{}
			for _, quantity := range endless {
				of := fmt.Sprintf("%.20s", quantity)
				everywhere(bodies, of, fmt.Sprintf(podOf, fmt.Sprintf(requestsOf, "requests", "cpu", quantity)))
				everywhere(bodies, of+" as a limit", fmt.Sprintf(podOf, fmt.Sprintf(requestsOf, "limits", "example.com/gpu", quantity)))
				everywhere(bodies, of+" as overhead", fmt.Sprintf(podOf, fmt.Sprintf(`{"overhead": {"memory": %q}}`, quantity)))
				everywhere(
					bodies, of+" in a volume", fmt.Sprintf(podOf, fmt.Sprintf(`{"volumes": [{"name": "v", "emptyDir": {"sizeLimit": %q}}]}`, quantity)),
				)
			}
			return g.drop(ctx, 1, bodies)
		},
		check: bombs.judge, successes: bombsThatGoOff(),
	}
}
