package release

import (
	"fmt"
	"regexp"
	"strings"
)

// Unreleased is the section of a changelog for what no version has yet.
const Unreleased = "Unreleased"

var versionHeading = regexp.MustCompile(`^## \[([^\]]+)\]( - \d{4}-\d{2}-\d{2})?$`)

// Notes returns what a changelog says of a version: its section, without the heading.
func Notes(changelog, version string) (string, error) {
	var notes strings.Builder
	here := false
	for line := range strings.Lines(changelog) {
		if heading := versionHeading.FindStringSubmatch(strings.TrimSpace(line)); heading != nil {
			here = heading[1] == version
			continue
		}
		if here {
			notes.WriteString(line)
		}
	}
	if text := strings.TrimSpace(notes.String()); text != "" {
		return text + "\n", nil
	}
	return "", fmt.Errorf("no section [%s], or nothing in it", version)
}
