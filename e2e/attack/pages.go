package attack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
			do: func(ctx context.Context, g *ground) (reach, error) { return g.browse(ctx, a.requests, a.reads) },
		}.attack())
	}
	return attacks
}

// browse sends requests that would bind a pod, and others that would read pages.
func (g *ground) browse(ctx context.Context, requests unwelcome, reads bool) (r reach, err error) {
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
		if err := note("to bind by "+name, g.call(ctx, http.MethodPost, g.muster.URL()+"/bind", body, headers...)); err != nil {
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
