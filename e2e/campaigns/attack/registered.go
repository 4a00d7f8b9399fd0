package attack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// registeredPath is where the verbs are for a kube-scheduler that was told of some profiles.
const registeredPath = "/muster/registered/000000000000"

// noise has the outcome of calls by names that nobody has printed.
type noise struct {
	lines    int      // of the log that tell of it
	answered []string // paths that are no verbs, and were answered
}

func (n noise) judge() verdict {
	switch {
	case n.lines > 1:
		return succeeded("the log has %d lines about it", n.lines)
	case len(n.answered) > 0:
		return succeeded("answered are %q", n.answered)
	}
	return held("the log tells of it once, and nothing but verbs is answered")
}

// registeredNames calls the verbs by many names, and asks below them for what is elsewhere.
func registeredNames() Attack {
	return plan[noise]{
		name: "registered-names", by: Caller,
		tries: "to fill the log by configurations that were never printed, and to reach pages by their paths",
		do: func(ctx context.Context, g *ground) (n noise, err error) {
			call := func(path string) answer {
				return g.call(ctx, http.MethodPost, g.muster.URL()+path, bytes.NewReader([]byte("{}")), "Content-Type", asJSON)
			}
			for i := range 300 {
				if got := call(fmt.Sprintf("/registered/%s%d/filter", strings.Repeat("x", i*20), i)); got.status == 0 {
					return n, fmt.Errorf("call %d was not answered: %s", i, got)
				}
			}
			for _, path := range []string{
				"/registered/x/livez", "/registered/x/metrics", "/registered/x/..%2f..%2fdebug%2fnodes", "/registered/x/%2e%2e/configz",
				"/registered/x/debug/nodes", "/registered/x/filter/bind", "/registered//", "/muster/livez", "/muster/debug/nodes", "/muster//",
				"/muster/registered/x/configz", "/muster/..%2fdebug%2fnodes",
			} {
				if got := call(path); got.status < http.StatusMultipleChoices {
					n.answered = append(n.answered, path)
				}
			}
			log, err := os.ReadFile(g.muster.Log())
			n.lines = bytes.Count(log, []byte("was printed for other profiles"))
			return n, err
		},
		check:     noise.judge,
		successes: []noise{{lines: 2}, {answered: []string{"/debug/nodes"}}},
	}.attack()
}
