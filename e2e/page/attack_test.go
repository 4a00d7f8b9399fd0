package page

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/process"
)

// served is a muster that answers from a dump: the hosts of its verbs and of its pages.
type served struct {
	verbs, debug string
	stop         func()
}

// serve serves a dump of testdata, by its name.
func serve(t *testing.T, dump string) served {
	t.Helper()
	return serveFile(t, filepath.Join("testdata", dump+".json"))
}

// serveFile serves a dump until the test ends or it is stopped.
func serveFile(t *testing.T, path string) served {
	t.Helper()
	var s served
	for _, address := range []*string{&s.verbs, &s.debug} {
		port, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		*address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	running, err := process.Start(process.Spec{
		Name: "muster",
		Path: lab.Program(t),
		Log:  filepath.Join(t.TempDir(), "muster.log"),
		Args: []string{"serve", "--snapshot=" + path, "--listen=" + s.verbs, "--debug-listen=" + s.debug},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.stop = func() { running.Stop(10 * time.Second) }
	t.Cleanup(s.stop)
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := running.Await(ctx, func(context.Context) error {
		response, err := http.Get("http://" + s.verbs + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// metrics returns muster's metrics.
func (s served) metrics(t *testing.T) string {
	t.Helper()
	response, err := http.Get("http://" + s.debug + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// evil is a page that calls muster from the browser of who looks at it, in the ways that a page has.
const evil = `<!DOCTYPE html><title>evil</title><iframe name="hidden"></iframe>
<form target="hidden" method="post" enctype="text/plain" action="http://%[1]s/preempt"><input name='{"Pod": {}, "x": "' value='"}'></form>
<script>
window.got = {};
const note = (name, promise) => promise.then(
  async (r) => { window.got[name] = r.type === 'opaque' ? 'nothing is told' : r.status + ' ' + await r.text(); },
  () => { window.got[name] = 'refused'; },
);
note('bind unasked', fetch('http://%[1]s/bind', { method: 'POST', mode: 'no-cors', body: '{}' }));
note('bind as JSON', fetch('http://%[1]s/bind', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }));
note('read', fetch('http://%[2]s/debug/nodes'));
note('read unasked', fetch('http://%[2]s/debug/nodes', { mode: 'no-cors' }));
note('read metrics', fetch('http://%[2]s/metrics'));
document.forms[0].submit();
</script>`

func TestAPageOfAnotherSiteGetsNothingOfMuster(t *testing.T) {
	t.Parallel()
	// The name is rebound to this machine, as its owner can have any DNS do.
	b := newBrowser(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	s := serve(t, "node")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, evil, s.verbs, s.debug)
	}))
	t.Cleanup(page.Close)

	for _, site := range []string{page.URL, strings.Replace(page.URL, "127.0.0.1", "evil.example", 1)} {
		b.run(chromedp.Navigate(site))
		b.eventually("all attacks have ended", `Object.keys(window.got).length === 5`)
		got := eval[map[string]string](b, `window.got`)
		for attack, outcome := range got {
			if outcome != "refused" && outcome != "nothing is told" {
				t.Errorf("%s: %s: %s", site, attack, outcome)
			}
		}
	}

	// By a name that means this machine, a page is of the same origin as what it asks.
	_, verbs, _ := strings.Cut(s.verbs, ":")
	_, debug, _ := strings.Cut(s.debug, ":")
	for port, attacks := range map[string][]string{
		debug: {
			`fetch('/debug/nodes')`, `fetch('/metrics')`,
			`fetch('/debug/explain', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})`,
		},
		verbs: {`fetch('/bind', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})`, `fetch('/version')`},
	} {
		b.run(chromedp.Navigate("http://evil.example:" + port + "/livez"))
		for i, attack := range attacks {
			eval[bool](
				b,
				fmt.Sprintf(
					`(() => { window.got%d = ''; %s.then(async (r) => { window.got%[1]d = r.status + ' ' + await r.text(); }); return true; })()`,
					i,
					attack,
				),
			)
			b.eventually("it is answered", fmt.Sprintf(`window.got%d !== ''`, i))
			if got := eval[string](b, fmt.Sprintf(`window.got%d`, i)); !strings.HasPrefix(got, "403 ") {
				t.Errorf("%s at port %s by a rebound name: %s", attack, port, got)
			}
		}
	}

	metrics := s.metrics(t)
	if strings.Contains(metrics, "muster_verb_duration_seconds_count{") {
		t.Errorf("a verb was called:\n%s", metrics)
	}
	for _, want := range []string{
		`listener="serving.listen",reason="origin"`, `listener="debug.listen",reason="origin"`, `listener="debug.listen",reason="host"`,
		`listener="serving.listen",reason="host"`,
	} {
		if strings.Contains(metrics, "muster_http_requests_refused_total{"+want+"} 0") {
			t.Errorf("nothing is counted as refused for %s: the attacks did not arrive", want)
		}
	}
}
