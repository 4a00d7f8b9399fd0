// Package docs holds the pages of the documentation to account: links lead somewhere, and every page
// can be found.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// start is the page from which all others can be found.
const start = "README.md"

// page is a Markdown page.
type page struct {
	links   []string // as they are written
	anchors []string // of its headings, by GitHub's rules
}

func TestEveryLinkLeadsSomewhereAndEveryPageIsFound(t *testing.T) {
	repository := os.DirFS("..")
	pages := readPages(t, repository)
	targets := map[string][]string{}
	for name, p := range pages {
		for _, link := range p.links {
			target, err := resolve(repository, pages, name, link)
			if err != nil {
				t.Errorf("%s: the link to %q: %v", name, link, err)
			}
			targets[name] = append(targets[name], target)
		}
	}
	found := map[string]bool{start: true}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, target := range targets[queue[0]] {
			if pages[target] != nil && !found[target] {
				found[target] = true
				queue = append(queue, target)
			}
		}
	}
	for name := range pages {
		if !found[name] {
			t.Errorf("no way leads from %s to %s", start, name)
		}
	}
}

// readPages reads all Markdown pages, by their paths in the repository.
func readPages(t *testing.T, repository fs.FS) map[string]*page {
	t.Helper()
	pages := map[string]*page{}
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "build" || name != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		pages[name] = parse(string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages[start] == nil {
		t.Fatalf("there is no %s", start)
	}
	return pages
}

// resolve returns the file in the repository that a link leads to, "" for one that leads elsewhere.
func resolve(repository fs.FS, pages map[string]*page, from, link string) (string, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", nil
	}
	file, anchor, _ := strings.Cut(link, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
	}
	if _, err := fs.Stat(repository, target); err != nil {
		return "", err
	}
	if anchor != "" && (pages[target] == nil || !slices.Contains(pages[target].anchors, anchor)) {
		return "", fmt.Errorf("%s has no heading for it", target)
	}
	return target, nil
}

// parse reads what stands outside of code.
func parse(text string) *page {
	var (
		link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
		code    = regexp.MustCompile("`[^`]*`")
		heading = regexp.MustCompile(`^#+ +(.*)$`)
		seen    = map[string]int{}
		fenced  bool
		p       page
	)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if match := heading.FindStringSubmatch(line); match != nil {
			slug := anchorOf(match[1])
			if n := seen[slug]; n > 0 {
				p.anchors = append(p.anchors, fmt.Sprintf("%s-%d", slug, n))
			} else {
				p.anchors = append(p.anchors, slug)
			}
			seen[slug]++
		}
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "code"), -1) {
			p.links = append(p.links, match[1]+match[2])
		}
	}
	return &p
}

// anchorOf is what GitHub makes of a heading: letters, digits, hyphens and underscores, lower-case,
// with a hyphen for each space. Of a link the text counts.
func anchorOf(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestWhatIsReadOfAPage(t *testing.T) {
	p := parse(
		"# A page, (`of` [all](x.md)) sorts\n[one](a.md#b) and `[none](c.md)` ![two](d.svg)\n```sh\n# [no](e.md)\n```\n## Twice\n## " +
			"Twice\n<img src=\"f.png\">\n",
	)
	if want := []string{"a-page-of-all-sorts", "twice", "twice-1"}; !slices.Equal(p.anchors, want) {
		t.Errorf("anchors: %q, want %q", p.anchors, want)
	}
	if want := []string{"x.md", "a.md#b", "d.svg", "f.png"}; !slices.Equal(p.links, want) {
		t.Errorf("links: %q, want %q", p.links, want)
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	files := fstest.MapFS{"docs/a.md": {}, "b.md": {}}
	pages := map[string]*page{"docs/a.md": {anchors: []string{"here"}}, "b.md": {}}
	for _, c := range []struct {
		link, want string
		ok         bool
	}{
		{"../b.md", "b.md", true},
		{"#here", "docs/a.md", true},
		{"https://example.com", "", true},
		{"b.md", "", false},
		{"#there", "", false},
		{"../b.md#here", "", false},
		{"../README.md", "", false},
	} {
		got, err := resolve(files, pages, "docs/a.md", c.link)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%s leads to %q, %v", c.link, got, err)
		}
	}
}
