package house

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page is where the table of packages stands.
const page = "docs/design.md"

// heading begins the table of packages. Its second column is generated.
const heading = "| package | what it does | may import |\n"

// row is a package in the table: what it does, and what it may import.
type row struct {
	dir   string
	about string
	below bool     // all packages of the rows below
	named []string // and these, with those below them
}

// table is the table of packages, the uppermost first, and the text around it.
type table struct {
	before, after string
	rows          []row
}

var quoted = regexp.MustCompile("`([a-z0-9/]+)`")

// readTable finds the table in a text.
func readTable(text string) (*table, error) {
	before, after, found := strings.Cut(text, heading)
	if !found {
		return nil, fmt.Errorf("there is no table %q", strings.TrimSpace(heading))
	}
	t := &table{before: before}
	for line := range strings.Lines(after) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			break
		}
		after = strings.TrimPrefix(after, line)
		if strings.HasPrefix(line, "| ---") {
			continue
		}
		r, err := readRow(cells)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		t.rows = append(t.rows, r)
	}
	t.after = after
	return t, nil
}

func readRow(cells []string) (row, error) {
	dirs, rule := names(cells[1]), strings.TrimSpace(cells[3])
	if len(dirs) != 1 {
		return row{}, errors.New("a row is about one package")
	}
	r := row{dir: dirs[0], about: strings.TrimSpace(cells[2]), named: names(rule)}
	switch {
	case rule == "all below":
		r.below = true
	case len(r.named) == 0 && rule != "nothing of ours":
		return row{}, errors.New(`what it may import is "all below", "nothing of ours" or names`)
	}
	return r, nil
}

func names(cell string) []string {
	var all []string
	for _, found := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, found[1])
	}
	return all
}

// rule returns the allowed imports of a package, as the table says it.
func (r *row) rule() string {
	switch {
	case r.below:
		return "all below"
	case len(r.named) == 0:
		return "nothing of ours"
	default:
		return "`" + strings.Join(r.named, "`, `") + "`"
	}
}

// text is the page with the table.
func (t *table) text() string {
	var out strings.Builder
	out.WriteString(t.before + heading + "| --- | --- | --- |\n")
	for _, r := range t.rows {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", r.dir, r.about, r.rule())
	}
	return out.String() + t.after
}

// describe puts what the comments of packages say into the table.
func (t *table) describe(about map[string]string) {
	for i, r := range t.rows {
		t.rows[i].about = about[r.dir]
	}
}

// find is the place of a package, -1 for one that the table does not have.
func (t *table) find(dir string) int {
	return slices.IndexFunc(t.rows, func(r row) bool { return r.dir == dir })
}

// allows reports whether the package in a row may import another one.
func (t *table) allows(from int, imported string) bool {
	r := t.rows[from]
	return r.below && t.find(imported) > from || slices.ContainsFunc(r.named, func(name string) bool { return within(imported, name) })
}

// within reports whether a package is another one, or below it.
func within(dir, other string) bool { return dir == other || strings.HasPrefix(dir, other+"/") }

// sideways are the imports that the table does not allow, packages that it does not have, and rows
// without a package.
func (t *table) sideways(files []*file) []string {
	var wrong []string
	there := map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		from := t.find(f.dir())
		if from < 0 {
			wrong = append(wrong, f.path+" is in a package that the table does not have")
			continue
		}
		there[f.dir()] = true
		for _, dir := range f.imports() {
			if !t.allows(from, dir) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s", f.path, dir))
			}
		}
	}
	for _, r := range t.rows {
		if !there[r.dir] {
			wrong = append(wrong, fmt.Sprintf("the table has %s, which is no package", r.dir))
		}
	}
	return wrong
}
