package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A.\n\n## [0.2.0] - 2026-12-01\n\n### Fixed\n\n- B.\n\n" +
		"## [0.1.0] - 2026-11-30\n"
	for _, test := range []struct{ version, notes, err string }{
		{version: Unreleased, notes: "### Added\n\n- A.\n"},
		{version: "0.2.0", notes: "### Fixed\n\n- B.\n"},
		{version: "0.1.0", err: "no section [0.1.0], or nothing in it"},
		{version: "0.2", err: "no section [0.2], or nothing in it"},
	} {
		notes, err := Notes(changelog, test.version)
		if notes != test.notes || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("version %q: %q, %v; want %q, %s", test.version, notes, err, test.notes, test.err)
		}
	}
}

func TestTheChangelogBeginsWithWhatIsUnreleasedAndSortsByKindOfChange(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(repository, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	var versions []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\n")
		if kind, is := strings.CutPrefix(line, "### "); is && !slices.Contains(kinds, kind) {
			t.Errorf("%q is none of %q", line, kinds)
		}
		if !strings.HasPrefix(line, "## ") {
			continue
		}
		heading := versionHeading.FindStringSubmatch(line)
		if heading == nil || (heading[1] == Unreleased) != (heading[2] == "") {
			t.Errorf("%q is neither ## [%s] nor ## [VERSION] - YYYY-MM-DD", line, Unreleased)
			continue
		}
		versions = append(versions, heading[1])
	}
	if len(versions) == 0 || versions[0] != Unreleased {
		t.Errorf("sections %q do not begin with %s", versions, Unreleased)
	}
}
