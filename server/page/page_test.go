package page_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/page"
)

func ask(path string, header ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	inspect.Router(page.Endpoints()...).ServeHTTP(answer, request)
	return answer
}

// link is an address that a page or a module loads or leads to.
var link = regexp.MustCompile(`(?:src|href)="([^"]+)"|from '([^']+)'`)

func TestThePageConsistsOfWhatIsServedBesideIt(t *testing.T) {
	parts := map[string]bool{}
	var follow func(path string)
	follow = func(path string) {
		if parts[path] {
			return
		}
		parts[path] = true
		got := ask(path)
		if got.Code != http.StatusOK {
			t.Errorf("%s answered %d", path, got.Code)
		}
		for _, match := range link.FindAllStringSubmatch(got.Body.String(), -1) {
			to := match[1] + match[2]
			switch {
			case strings.HasPrefix(to, "#"), strings.HasPrefix(to, "data:"), strings.HasPrefix(to, "debug/"):
			case strings.HasPrefix(to, "/"), strings.Contains(to, "//"):
				t.Errorf("%s leads to %s, which is not relative", path, to)
			case strings.HasPrefix(to, "./"):
				follow("/page/" + strings.TrimPrefix(to, "./"))
			default:
				follow("/" + to)
			}
		}
	}
	follow("/")
	for _, endpoint := range page.Endpoints() {
		if !parts[endpoint.Pattern] {
			t.Errorf("nothing leads to %s", endpoint.Pattern)
		}
	}
}

func TestThePageMayLoadNothingElse(t *testing.T) {
	for _, endpoint := range page.Endpoints() {
		got := ask(endpoint.Pattern)
		policy, body := got.Header().Get("Content-Security-Policy"), got.Body.String()
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", endpoint.Pattern, policy)
		}
		for _, what := range []string{"<script>", "style=\"", " onclick=", "<style", "innerHTML"} {
			if strings.Contains(body, what) {
				t.Errorf("%s has %q, which the policy forbids or should", endpoint.Pattern, what)
			}
		}
	}
}

func TestAnAssetIsNotSentTwice(t *testing.T) {
	etag := ask("/").Header().Get("ETag")
	if got := ask("/", "If-None-Match", etag); etag == "" || got.Code != http.StatusNotModified || got.Body.Len() > 0 {
		t.Errorf("with ETag %q answered %d and %d bytes", etag, got.Code, got.Body.Len())
	}
}
