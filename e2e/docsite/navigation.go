package docsite

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// section is a table of the contents: its heading, and a page a row.
type section struct {
	title string
	items []item
}

type item struct {
	title, about string
	page         string // its file
}

// navigation is read from the tables of the contents: a page is the link of the first cell, what it is about the second.
func (s Site) navigation() (sections []section, err error) {
	content, err := fs.ReadFile(s.Repository, contents)
	if err != nil {
		return nil, err
	}
	document := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(content))
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		table, ok := node.(*extensionast.Table)
		if !ok {
			continue
		}
		var read section
		for row := table.FirstChild(); row != nil; row = row.NextSibling() {
			first := row.FirstChild()
			if row.Kind() == extensionast.KindTableHeader {
				read.title = plain(first, content)
				continue
			}
			link, ok := first.FirstChild().(*ast.Link)
			if !ok {
				return nil, fmt.Errorf("%s: the row of %q has no link", contents, plain(first, content))
			}
			read.items = append(read.items, item{
				title: plain(link, content), about: plain(first.NextSibling(), content),
				page: path.Join(path.Dir(contents), string(link.Destination)),
			})
		}
		sections = append(sections, read)
	}
	if len(sections) == 0 {
		return nil, errors.New(contents + " has no table to make a navigation of")
	}
	return sections, nil
}
