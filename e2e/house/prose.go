package house

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// block is prose that begins at a line of a file. Text in backquotes is blotted out.
type block struct {
	line int
	text string
}

var backquoted = regexp.MustCompile("`[^`\n]*\n?[^`\n]*`")

// prose reads the prose of a file: comments of Go, or Markdown without blocks of code. Other files, and generated ones, have none.
func prose(file string) ([]block, error) {
	read := map[string]func(file string, text []byte) ([]block, error){".go": comments, ".md": markdown}[filepath.Ext(file)]
	if read == nil {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil || isGenerated(text) {
		return nil, err
	}
	blocks, err := read(file, text)
	if err != nil {
		return nil, fmt.Errorf("read prose: %w", err)
	}
	for i := range blocks {
		blocks[i].text = backquoted.ReplaceAllStringFunc(blocks[i].text, blot)
	}
	return blocks, nil
}

// comments returns each group of comments without its marks.
func comments(file string, text []byte) ([]block, error) {
	lines := token.NewFileSet()
	syntax, err := parser.ParseFile(lines, file, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var blocks []block
	for _, group := range syntax.Comments {
		var all []string
		for _, comment := range group.List {
			all = append(all, strings.TrimPrefix(comment.Text, "//"))
		}
		blocks = append(blocks, block{lines.Position(group.Pos()).Line, strings.Join(all, "\n")})
	}
	return blocks, nil
}

// markdown returns a page with its blocks of code blotted out.
func markdown(_ string, text []byte) ([]block, error) {
	lines, code := strings.Split(string(text), "\n"), false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || code {
			lines[i] = ""
		}
		code = code != fence
	}
	return []block{{1, strings.Join(lines, "\n")}}, nil
}

// blot replaces all of a text except ends of lines.
func blot(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return '`'
	}, text)
}

// isGenerated reports whether a program wrote a file of Go.
func isGenerated(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 1000)], []byte("DO NOT EDIT."))
}
