package manifests

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"sigs.k8s.io/yaml"
)

// Document is a YAML document that a reader may copy.
type Document struct {
	// File of the repository, and the line in it on which the block begins.
	File string
	Line int
	Text string
	// Fields of the document; nil when it is no mapping.
	Fields map[string]any
}

// At says where the document is.
func (d *Document) At() string { return fmt.Sprintf("%s:%d", d.File, d.Line) }

// IsObject says whether it names its kind, as what is applied and most configurations do.
func (d *Document) IsObject() bool { return d.word("apiVersion") != "" && d.word("kind") != "" }

func (d *Document) word(field string) string {
	word, _ := d.Fields[field].(string)
	return word
}

// Documents reads the blocks marked yaml of all Markdown below the paths, and the YAML files.
func Documents(repository fs.FS, paths ...string) (documents []*Document, err error) {
	for _, root := range paths {
		err := fs.WalkDir(repository, root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(repository, name)
			if err != nil {
				return err
			}
			var read []*Document
			switch path.Ext(name) {
			case ".md":
				read, err = blocks(name, content)
			case ".yaml":
				read, err = split(name, 1, string(content))
			}
			documents = append(documents, read...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// blocks reads the blocks of a page, those in lists without their indentation.
func blocks(name string, content []byte) (documents []*Document, err error) {
	page := goldmark.New().Parser().Parse(text.NewReader(content))
	err = ast.Walk(page, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := node.(*ast.FencedCodeBlock)
		if !ok || !entering || string(block.Language(content)) != "yaml" || block.Lines().Len() == 0 {
			return ast.WalkContinue, nil
		}
		line := strings.Count(string(content[:block.Lines().At(0).Start]), "\n") + 1
		read, err := split(name, line, string(block.Lines().Value(content)))
		documents = append(documents, read...)
		return ast.WalkContinue, err
	})
	return documents, err
}

// split parses the documents of a text.
func split(name string, line int, whole string) (documents []*Document, err error) {
	for part := range strings.SplitSeq(whole, "---\n") {
		d := &Document{File: name, Line: line, Text: part}
		line += strings.Count(part, "\n") + 1
		var value any
		if err := yaml.UnmarshalStrict([]byte(part), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", d.At(), err)
		}
		d.Fields, _ = value.(map[string]any)
		documents = append(documents, d)
	}
	return documents, nil
}
