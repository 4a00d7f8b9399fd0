package house

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// floor is a row of the table of packages: what stands there, and what it may import.
type floor struct {
	packages []string // as directories; those below one of them belong to it
	below    bool     // all of the floors below
	lower    string   // all of the floors below that of this package instead, "" for its own
	but      []string // except these
	named    []string // and these
}

var named = regexp.MustCompile("`([a-z0-9/]+)`")

// table reads the floors from a text with a table "package | what it is | may import", the uppermost
// first.
func table(text string) ([]floor, error) {
	_, rows, found := strings.Cut(text, "| package | what it is | may import |\n")
	if !found {
		return nil, errors.New(`there is no table "package | what it is | may import"`)
	}
	var floors []floor
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, "|")
		if len(cells) < 5 {
			break
		}
		if strings.HasPrefix(row, "| ---") {
			continue
		}
		f := floor{packages: names(cells[1])}
		rule := strings.TrimSpace(cells[3])
		switch rest, below := strings.CutPrefix(rule, "all below"); {
		case !below && rule == "nothing of ours":
		case !below:
			f.named = names(rule)
		case strings.HasPrefix(rest, " but"):
			f.below, f.but = true, names(rest)
		default:
			f.below = true
			if of := names(rest); len(of) > 0 {
				f.lower = of[0]
			}
		}
		floors = append(floors, f)
	}
	return floors, nil
}

func names(cell string) []string {
	var all []string
	for _, found := range named.FindAllStringSubmatch(cell, -1) {
		all = append(all, found[1])
	}
	return all
}

// within says whether a package is one of those, or below one.
func within(dir string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return dir == p || strings.HasPrefix(dir, p+"/") })
}

// find is the number of the floor on which a package stands: that with the longest name that it is
// within; -1 for one that stands nowhere.
func find(floors []floor, dir string) int {
	at, longest := -1, -1
	for i, f := range floors {
		for _, p := range f.packages {
			if within(dir, []string{p}) && len(p) > longest {
				at, longest = i, len(p)
			}
		}
	}
	return at
}

// sideways are the imports that the floors do not allow, and packages that have none.
func sideways(files []*file, floors []floor) []string {
	var wrong []string
	for _, f := range files {
		if f.test {
			continue
		}
		from := find(floors, f.dir())
		if from < 0 {
			wrong = append(wrong, f.path+" is in a package that the table does not have")
			continue
		}
		for _, dir := range f.imports() {
			if !allowed(floors, from, f.dir(), dir) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s", f.path, dir))
			}
		}
	}
	return wrong
}

// allowed says whether a package on a floor may import another one. Packages with one parent that the
// table names are one.
func allowed(floors []floor, from int, importer, imported string) bool {
	own, to := floors[from], find(floors, imported)
	if slices.ContainsFunc(own.packages, func(p string) bool {
		return within(importer, []string{p}) && within(imported, []string{p})
	}) && to == from {
		return true
	}
	if within(imported, own.named) {
		return true
	}
	start := from
	if own.lower != "" {
		start = find(floors, own.lower)
	}
	return own.below && to > start && !within(imported, own.but)
}
