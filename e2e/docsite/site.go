package docsite

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// front is the page that a visitor sees first.
	front = "README.md"
	// contents has the tables that the navigation is made of.
	contents = "docs/README.md"
)

// Site is the site to build, and where its readers find the source.
type Site struct {
	// Repository has the pages, and all that they link to.
	Repository fs.FS
	// Source is where files of the repository are on the web, as in https://github.com/owner/name.
	Source string
	// Branch of the source that links lead to.
	Branch string
}

// Build writes the site into a directory, which it makes.
func (s Site) Build(dir string) error {
	names, err := s.pages()
	if err != nil {
		return err
	}
	navigation, err := s.navigation()
	if err != nil {
		return err
	}
	pages, pictures := map[string]*page{}, map[string]bool{}
	var problems []error
	for _, name := range names {
		p, err := s.read(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		pages[name] = p
		for _, picture := range p.pictures {
			pictures[picture] = true
		}
		content, err := p.render(navigation, s.Source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := write(dir, address(name), content); err != nil {
			return err
		}
	}
	for picture := range pictures {
		content, err := fs.ReadFile(s.Repository, picture)
		if err != nil {
			return err
		}
		if err := write(dir, picture, content); err != nil {
			return err
		}
	}
	if len(problems) == 0 {
		problems = lost(pages)
	}
	return errors.Join(problems...)
}

// lost tells which pages no way of links leads to from the front.
func lost(pages map[string]*page) (problems []error) {
	found := map[string]bool{front: true}
	for queue := []string{front}; len(queue) > 0; queue = queue[1:] {
		for _, target := range pages[queue[0]].links {
			if !found[target] {
				found[target] = true
				queue = append(queue, target)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if !found[name] {
			problems = append(problems, fmt.Errorf("no way leads from %s to %s", front, name))
		}
	}
	return problems
}

// pages lists all Markdown files except in hidden directories and in the built site.
func (s Site) pages() (names []string, err error) {
	err = fs.WalkDir(s.Repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "build" || name == "dist" || name != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".md":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// address is where the HTML of a page is, in the site.
func address(page string) string {
	if path.Base(page) == "README.md" {
		return path.Join(path.Dir(page), "index.html")
	}
	return strings.TrimSuffix(page, ".md") + ".html"
}

// relative is the link from one file of the site to another.
func relative(from, to string) string {
	link, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		panic(fmt.Sprintf("both %q and %q are relative: %v", from, to, err))
	}
	return filepath.ToSlash(link)
}

func write(dir, name string, content []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var layout = template.Must(template.New("page").Parse(pageText))

// render is the page as HTML.
func (p *page) render(navigation []section, source string) ([]byte, error) {
	type entry struct {
		Link, Title, About string
		Here               bool
	}
	type group struct {
		Title   string
		Entries []entry
	}
	here := address(p.name)
	var groups []group
	for _, section := range navigation {
		g := group{Title: section.title}
		for _, item := range section.items {
			to := address(item.page)
			g.Entries = append(g.Entries, entry{Link: relative(here, to), Title: item.title, About: item.about, Here: to == here})
		}
		groups = append(groups, g)
	}
	var content bytes.Buffer
	err := layout.Execute(&content, struct {
		Title, Home, Contents, Source, Edit string
		Style                               template.CSS
		Body                                template.HTML
		Navigation                          []group
	}{
		Title: p.title, Home: relative(here, address(front)), Contents: relative(here, address(contents)), Source: source, Edit: p.source,
		Style: template.CSS(style), Body: template.HTML(p.body), Navigation: groups,
	})
	return content.Bytes(), err
}
