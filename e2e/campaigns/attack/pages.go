package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

// reach is how far requests came that should have been refused.
type reach struct {
	answers map[string]int // statuses, by what was asked
	bound   string         // the node of the pod that they would have bound
	shown   []string       // what showed something
}

func (r reach) judge() verdict {
	if r.bound != "" {
		return succeeded("the pod was bound to %s", r.bound)
	}
	for what, status := range r.answers {
		if status < 400 {
			return succeeded("%s was answered with %d", what, status)
		}
	}
	if len(r.shown) > 0 {
		return succeeded("%s was shown", strings.Join(r.shown, ", "))
	}
	return held("%d requests were refused, the pod is not bound", len(r.answers))
}

func reaches() []reach {
	return []reach{{bound: "node"}, {answers: map[string]int{"bind": 200}}, {shown: []string{"a node"}, answers: map[string]int{"read": 403}}}
}

// unwelcome are requests of a page, by what they are: headers as name and value by turns.
type unwelcome map[string][]string

// pageAttacks returns the attacks by a page that a browser shows.
func pageAttacks() (attacks []Attack) {
	const rebound = "evil.example"
	for _, a := range []struct {
		name, tries string
		requests    unwelcome
		reads       bool // pages of muster's, too
	}{
		{"page-posts-a-form", "to bind a pod by a form, which a page may send anywhere", unwelcome{
			"text/plain": {"Content-Type", "text/plain"}, "nothing": {}, "a form": {"Content-Type", "application/x-www-form-urlencoded"},
			"parts": {"Content-Type", "multipart/form-data; boundary=x"}, "a list": {"Content-Type", "text/plain; application/json"},
		}, false},
		{"page-of-another-site", "to bind a pod, and to read, by a script of another site", unwelcome{
			"an origin": {
				"Content-Type", asJSON, "Origin", "https://evil.example",
			}, "no origin that is told": {"Content-Type", asJSON, "Origin", "null"},
			"a form of another site": {
				"Content-Type", asJSON, "Sec-Fetch-Site", "cross-site",
			}, "a site beside": {"Content-Type", asJSON, "Sec-Fetch-Site", "same-site"},
		}, true},
		{"page-at-a-rebound-name", "to bind a pod, and to read, by a name that now means this machine", unwelcome{
			"a name": {"Content-Type", asJSON, "Host", rebound}, "a name with a port": {"Content-Type", asJSON, "Host", rebound + ":80"},
			"a name that looks like loopback": {
				"Content-Type", asJSON, "Host", "127.0.0.1.evil.example",
			}, "localhost of another": {"Content-Type", asJSON, "Host", "localhost.evil.example"},
			"a name of the same origin": {"Content-Type", asJSON, "Host", rebound, "Origin", "http://" + rebound, "Sec-Fetch-Site", "same-origin"},
		}, true},
	} {
		attacks = append(attacks, plan[reach]{
			name: a.name, by: Page, tries: a.tries, check: reach.judge, successes: reaches(),
			do: func(ctx context.Context, g *ground) (reach, error) { return g.browse(ctx, "", a.requests, a.reads) },
		}.attack())
	}
	return append(attacks, plan[reach]{
		name: "page-at-the-registered-path", by: Page, check: reach.judge, successes: reaches(),
		tries: "to bind a pod at the other path of the verbs, from another site and by a rebound name",
		do: func(ctx context.Context, g *ground) (reach, error) {
			return g.browse(ctx, registeredPath, unwelcome{
				"an origin": {"Content-Type", asJSON, "Origin", "https://evil.example"}, "a form": {"Content-Type", "text/plain"},
				"a name": {"Content-Type", asJSON, "Host", rebound},
			}, false)
		},
	}.attack())
}

// browse sends requests that would bind a pod, to a path that the verbs are below, and others that would read pages.
func (g *ground) browse(ctx context.Context, below string, requests unwelcome, reads bool) (r reach, err error) {
	pods, err := g.stage(ctx, newNodes("secret", 1, "4"), newPod(othersNamespace, "target", "1", scheduledBy(byHand)))
	if err != nil {
		return r, err
	}
	target := pods["target"]
	if err := g.offered(ctx, target, "secret-0"); err != nil {
		return r, err
	}
	r.answers = map[string]int{}
	note := func(what string, got answer) error {
		if got.status == 0 {
			return fmt.Errorf("%s was not answered: %s", what, got)
		}
		r.answers[what] = got.status
		if strings.Contains(got.text, "secret-0") {
			r.shown = append(r.shown, what)
		}
		return nil
	}
	for name, headers := range requests {
		body := strings.NewReader(string(bindBody(target, target.UID, "secret-0")))
		if err := note("to bind by "+name, g.call(ctx, http.MethodPost, g.muster.URL()+below+"/bind", body, headers...)); err != nil {
			return r, err
		}
		for _, page := range []string{"/debug/nodes", "/debug/gangs", "/metrics", "/configz"} {
			if !reads {
				continue
			}
			if err := note("to read "+page+" by "+name, g.call(ctx, http.MethodGet, g.muster.DebugURL()+page, nil, headers...)); err != nil {
				return r, err
			}
		}
	}
	r.bound, _, err = g.nodeOf(ctx, target)
	return r, err
}

// entry is the outcome of calls with certificates, by the certificate's owner: nothing if there was no answer.
type entry struct {
	answers map[string]answer
	welcome answer // to kube-scheduler
}

func (e entry) judge() verdict {
	if e.welcome.status != http.StatusOK {
		return succeeded("kube-scheduler is shut out: %s", e.welcome)
	}
	for who, got := range e.answers {
		if got.status != 0 && got.status != http.StatusForbidden {
			return succeeded("%s is answered: %s", who, got)
		}
	}
	return held("%d callers are not let in, kube-scheduler is", len(e.answers))
}

// certificates calls the verbs below a path.
func certificates(name, below string) Attack {
	return plan[entry]{
		name:  name,
		by:    Caller,
		tries: "to call the verbs without a certificate, or with that of a kubelet, the administrator or an authority of its own",
		do: func(ctx context.Context, g *ground) (e entry, err error) {
			e.answers = map[string]answer{}
			ask := func(certificates ...tls.Certificate) answer {
				body := filterBody(newPod(othersNamespace, "anybody", "1"), "node")
				return send(
					ctx,
					g.guarded.client(certificates...),
					http.MethodPost,
					g.guarded.verbs+below+"/filter",
					strings.NewReader(string(body)),
					"Content-Type",
					asJSON,
				)
			}
			e.answers["nobody"] = ask()
			for _, name := range []string{
				"system:kube-scheduler", "system:node:node", "admin", "kube-scheduler", "SYSTEM:KUBE-SCHEDULER",
				"system:kube-scheduler.evil.example",
			} {
				pair, err := g.certificateOf(name)
				if err != nil {
					return e, err
				}
				if got := ask(pair); name == "system:kube-scheduler" {
					e.welcome = got
				} else {
					e.answers[name] = got
				}
			}
			certificate, key, err := certutil.GenerateSelfSignedCertKey("system:kube-scheduler", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
			if err != nil {
				return e, err
			}
			pair, err := tls.X509KeyPair(certificate, key)
			e.answers["an authority of its own"] = ask(pair)
			return e, err
		},
		check: entry.judge,
		successes: []entry{
			{},
			{welcome: answer{status: http.StatusOK}, answers: map[string]answer{"nobody": {status: http.StatusOK}}},
			{welcome: answer{status: http.StatusOK}, answers: map[string]answer{"a kubelet": {status: http.StatusBadRequest}}},
		},
	}.attack()
}

// certificateOf is one of the authority of the cluster.
func (g *ground) certificateOf(name string) (pair tls.Certificate, err error) {
	var groups []string
	if name == "admin" {
		groups = []string{"system:masters"} // it is the kubeconfig of everybody else here, too
	}
	kubeconfig, err := g.cp.KubeconfigFor(name, groups...)
	if err != nil {
		return pair, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return pair, fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	return tls.X509KeyPair(config.CertData, config.KeyData)
}

// endless are quantities that take for ever, or long, to parse.
var endless = []string{"1e-2147483648", "1e-30000000", "1e30000000", strings.Repeat("9", 1<<20)}

// bombs is the outcome of requests that would take muster's time or memory.
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

// everywhere adds a pod to bodies as it is sent to each of its readers; of says what the pod is about.
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
