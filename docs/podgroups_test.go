package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bare is a command of kubectl for PodGroups of an API group that kubectl chooses: it may say that there are none.
var bare = regexp.MustCompile("kubectl [^`|#\\n]*\\b(get|describe|delete|wait|edit|annotate) [^`|#\\n]*\\b(podgroups?|pgs?)(?:[^.a-z-]|$)")

func TestPagesNameTheAPIGroupOfPodGroups(t *testing.T) {
	for _, test := range []struct {
		line string
		bare bool
	}{
		{"kubectl get podgroups", true},
		{"kubectl -n team describe podgroup g", true},
		{"kubectl get nodes,pods,podgroups -A", true},
		{"kubectl get podgroups.scheduling.x-k8s.io g", false},
		{"kubectl get gangs # PodGroups", false},
		{"kubectl apply -f podgroup.yaml", false},
	} {
		if got := bare.MatchString(test.line); got != test.bare {
			t.Errorf("%q names no API group: %t", test.line, got)
		}
	}
	pages := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md" || path == filepath.Join("..", "charts", "muster", "README.md"):
			return nil
		}
		pages++
		page, err := os.ReadFile(path)
		for line := range strings.SplitSeq(string(page), "\n") {
			if bare.MatchString(line) {
				t.Errorf("%s: %s", path, line)
			}
		}
		return err
	})
	if err != nil || pages == 0 {
		t.Errorf("%d pages, error %v", pages, err)
	}
}
