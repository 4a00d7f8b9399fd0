// Package docs holds pages of the documentation to account that tell what is generated elsewhere.
package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// debugPage finds the pages below /debug/ in the generated list of endpoints.
var debugPage = regexp.MustCompile("(?m)^\\| GET \\| `(/debug/[^`]+)`")

// TestThePageAboutDebuggingHasEveryEndpoint holds what is written by hand against what is generated.
func TestThePageAboutDebuggingHasEveryEndpoint(t *testing.T) {
	listed, err := os.ReadFile("reference/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	debugging, err := os.ReadFile("debugging.md")
	if err != nil {
		t.Fatal(err)
	}
	found := debugPage.FindAllStringSubmatch(string(listed), -1)
	if len(found) < 10 {
		t.Fatalf("only %d pages are listed", len(found))
	}
	parameters := strings.NewReplacer("{class}", "CLASS", "{node}", "NODE", "{namespace}", "NAMESPACE", "{name}", "NAME")
	for _, match := range found {
		path := parameters.Replace(match[1])
		if strings.HasPrefix(path, "/debug/pprof/") {
			path = "/debug/pprof/"
		}
		if !strings.Contains(string(debugging), "`"+path+"`") && !strings.Contains(string(debugging), "`"+path+"?") {
			t.Errorf("docs/debugging.md does not tell of %s", path)
		}
	}
}
