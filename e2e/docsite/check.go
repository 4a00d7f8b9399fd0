package docsite

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"

	"golang.org/x/net/html"
)

// Check reads the HTML of a site and tells, of each page, which links, anchors and pictures lead nowhere, and what it
// would load from elsewhere. Links to other sites are not followed.
func Check(site fs.FS) (problems []error) {
	pages := map[string]*produced{}
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		content, err := fs.ReadFile(site, name)
		if err == nil {
			pages[name], err = parse(content)
		}
		return err
	})
	if err != nil {
		return []error{err}
	}
	if len(pages) == 0 {
		return []error{fmt.Errorf("there is no page")}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, r := range pages[name].references {
			if err := r.follow(site, pages, name); err != nil {
				problems = append(problems, fmt.Errorf("%s: <%s> to %q: %w", name, r.element, r.address, err))
			}
		}
	}
	return problems
}

// produced is the knowledge of Check about a page.
type produced struct {
	anchors    map[string]bool
	references []reference
}

// reference is an address that a page names.
type reference struct {
	element, address string
}

func parse(content []byte) (*produced, error) {
	root, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	p := &produced{anchors: map[string]bool{}}
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "id":
				p.anchors[attribute.Val] = true
			case "href", "src", "srcset", "poster", "data":
				p.references = append(p.references, reference{node.Data, attribute.Val})
			}
		}
	}
	return p, nil
}

func (r reference) follow(site fs.FS, pages map[string]*produced, from string) error {
	address, err := url.Parse(r.address)
	switch {
	case err != nil:
		return err
	case address.Scheme != "" || address.Host != "":
		if r.element != "a" {
			return fmt.Errorf("it would be loaded from another site")
		}
		return nil
	case path.IsAbs(address.Path):
		return fmt.Errorf("it is right only where the site is at the root of its host")
	}
	target := from
	if address.Path != "" {
		target = path.Join(path.Dir(from), address.Path)
	}
	if info, err := fs.Stat(site, target); err != nil {
		return err
	} else if info.IsDir() {
		return fmt.Errorf("%s is a directory", target)
	}
	if address.Fragment != "" && (pages[target] == nil || !pages[target].anchors[address.Fragment]) {
		return fmt.Errorf("%s has no element of that id", target)
	}
	return nil
}
