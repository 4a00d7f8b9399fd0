package docsite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a page of the repository.
type page struct {
	name     string // of its file
	title    string
	body     string   // in HTML, with links for the site
	source   string   // where the Markdown is on the web
	pictures []string // files that it shows
	links    []string // files of the pages that it leads to
}

// read reads a page and rewrites its links for the site. Each link that leads nowhere is an error.
func (s Site) read(name string) (*page, error) {
	content, err := fs.ReadFile(s.Repository, name)
	if err != nil {
		return nil, err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	document := markdown.Parser().Parse(text.NewReader(content))
	p := &page{name: name, title: name, source: s.onTheWeb(name, "blob")}
	anchors := map[string]int{}
	var problems []error
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			heading := plain(node, content)
			if node.Level == 1 {
				p.title = heading
			}
			node.SetAttributeString("id", []byte(anchor(heading, anchors)))
		case *ast.Link:
			if node.Destination, err = s.rewrite(p, node.Destination); err != nil {
				problems = append(problems, err)
			}
		case *ast.Image:
			if node.Destination, err = s.rewrite(p, node.Destination); err != nil {
				problems = append(problems, err)
			}
		}
		return ast.WalkContinue, nil
	})
	if err = errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, content, document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.body = body.String()
	return p, nil
}

// rewrite is a link of a page as the site has it.
func (s Site) rewrite(p *page, destination []byte) ([]byte, error) {
	link := string(destination)
	if strings.HasPrefix(link, "#") || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return destination, nil
	}
	file, fragment, anchored := strings.Cut(link, "#")
	target := path.Join(path.Dir(p.name), file)
	info, err := fs.Stat(s.Repository, target)
	if err != nil {
		return nil, fmt.Errorf("%s: the link to %q: %w", p.name, link, err)
	}
	switch ext := path.Ext(target); {
	case info.IsDir():
		return []byte(s.onTheWeb(target, "tree")), nil
	case ext == ".svg" || ext == ".png":
		p.pictures = append(p.pictures, target)
		return []byte(relative(address(p.name), target)), nil
	case ext != ".md":
		return []byte(s.onTheWeb(target, "blob")), nil
	}
	p.links = append(p.links, target)
	to := relative(address(p.name), address(target))
	if anchored {
		to += "#" + fragment
	}
	return []byte(to), nil
}

func (s Site) onTheWeb(name, as string) string {
	return strings.Join([]string{s.Source, as, s.Branch, name}, "/")
}

// plain returns a heading or a cell as a reader sees it.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if part, ok := node.(*ast.Text); ok && entering {
			b.Write(part.Value(source))
			if part.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchor returns GitHub's anchor for a heading: letters, digits, hyphens and underscores, lower-case, with a hyphen for each
// space. The second heading of a name gets a number.
func anchor(heading string, seen map[string]int) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	n := seen[slug]
	seen[slug]++
	if n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}
