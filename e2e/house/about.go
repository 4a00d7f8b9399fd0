package house

import (
	"fmt"
	"go/doc"
	"os"
	"path/filepath"
	"strings"
)

// about returns the first sentences of the comments of packages, without the name, by directory.
func about(files []*file) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		if f.test || f.syntax.Doc == nil {
			continue
		}
		sentence := new(doc.Package).Synopsis(f.syntax.Doc.Text())
		for _, kind := range []string{"Package ", "Command "} {
			if rest, named := strings.CutPrefix(sentence, kind); named {
				_, sentence, _ = strings.Cut(rest, " ")
			}
		}
		all[f.dir()] = strings.TrimRight(sentence, ".:")
	}
	return all
}

// Described returns the page with the table of packages as it is and as it should be: each row says what
// the comment of its package says.
func Described(root string) (is, should string, err error) {
	files, err := read(root)
	if err != nil {
		return "", "", err
	}
	packages, is, err := readPage(root)
	if err != nil {
		return "", "", err
	}
	packages.describe(about(files))
	return is, packages.text(), nil
}

// readPage reads the page with the table of packages.
func readPage(root string) (*table, string, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, "", fmt.Errorf("read the table of packages: %w", err)
	}
	packages, err := readTable(string(text))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", page, err)
	}
	return packages, string(text), nil
}

// Update writes the page with the table of packages as it should be.
func Update(root string) error {
	_, should, err := Described(root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, page), []byte(should), 0o644); err != nil {
		return fmt.Errorf("write the table of packages: %w", err)
	}
	return nil
}
