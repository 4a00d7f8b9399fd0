package walkthrough

import (
	"regexp"
	"strings"
)

const anything = "..."

// Matches says whether a command printed what a page shows.
func Matches(want, got string) bool {
	return pattern(want).MatchString(normalized(got))
}

// pattern must match a normalized text. Each of its lines ends with a newline.
func pattern(want string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString(`\A`)
	for line := range strings.Lines(normalized(want)) {
		line = strings.TrimSuffix(line, "\n")
		if line == anything {
			p.WriteString(`(?:.*\n)*?`)
			continue
		}
		for i, part := range strings.Split(line, anything) {
			if i > 0 {
				p.WriteString(`.*?`)
			}
			p.WriteString(regexp.QuoteMeta(part))
		}
		p.WriteString(`\n`)
	}
	p.WriteString(`\z`)
	return regexp.MustCompile(p.String())
}

// normalized has one space where there are several, none at the end of a line, and no empty lines
// at the beginning and the end.
func normalized(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		fields := strings.Join(strings.Fields(line), " ")
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent > 0 && fields != "" {
			fields = " " + fields
		}
		lines = append(lines, fields)
	}
	joined := strings.Trim(strings.Join(lines, "\n"), "\n")
	if joined == "" {
		return ""
	}
	return joined + "\n"
}
