package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/gang/status"
)

// The order of the list is the order of precedence.
func TestThePageOfGangsHasTheReasonsInTheirOrder(t *testing.T) {
	page, err := os.ReadFile("concepts/gangs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| reason | the gang waits because |")
	var told, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|").FindAllStringSubmatch(table, -1) {
		told = append(told, row[1])
	}
	for _, reason := range status.Reasons() {
		if reason <= status.Scheduled {
			known = append(known, reason.String())
		}
	}
	if diff := cmp.Diff(known, told); diff != "" {
		t.Errorf("reasons of the code (-) and of the page (+):\n%s", diff)
	}
}
