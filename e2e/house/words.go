package house

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// WordsRule says which words are counted, and where.
const WordsRule = `listed_words counts words that make a sentence hard to read: "so many", "of which", "anew",
"but for", "whoever", "those that", "those of", "for which", "is what", and "as many … as" with up to
three words between. Case does not matter, and a line may end within. They are looked for in the comments of
Go, tests included, of all modules, and in Markdown. Not counted are text in backquotes, blocks of code,
testdata, hidden directories, what make writes (bin, build, dist), generated files, and docs/reference, which
is made from comments. Exceptions are listed in e2e/house/words.go, each with its reason.
`

// exception is a text with a listed word that stays in a file.
type exception struct{ path, text, why string }

// exceptions returns all texts that stay.
func exceptions() []exception {
	return []exception{
		{"cluster/podclaims.go", "Anew is the pod", "the comment begins with the name of a method"},
		{"gang/core/tries.go", "anew is ", "the comment begins with the name of a method"},
		{"rescheduler/planner/standings.go", "anew returns the pod", "the comment begins with the name of a method"},
		{"rescheduler/scaleup/attempt.go", "anew says that", "the comment begins with the name of a method"},
	}
}

var listed = regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(
	`so many|of which|anew|but for|whoever|those that|those of|for which|is what|as many(?: \w+){0,3} as`,
	" ", `(?:[ \t]+|[ \t]*\n[ \t]*)`) + `)\b`)

// place is where a listed word stands.
type place struct {
	path string // from the root, with slashes
	line int
	word string
	text string // the line, from the word on
}

// listedWords finds listed words in all prose below a root, and the exceptions that nothing needs.
func listedWords(root string, allowed []exception) (places []place, unused []exception, err error) {
	needed := map[exception]bool{}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if withoutProse(relative) {
				return filepath.SkipDir
			}
			return nil
		}
		blocks, err := prose(file)
		for _, b := range blocks {
			for _, found := range b.words(relative) {
				by := slices.IndexFunc(allowed, func(e exception) bool { return e.path == relative && strings.HasPrefix(found.text, e.text) })
				if by < 0 {
					places = append(places, found)
				} else {
					needed[allowed[by]] = true
				}
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look for listed words: %w", err)
	}
	return places, slices.DeleteFunc(slices.Clone(allowed), func(e exception) bool { return needed[e] }), nil
}

// withoutProse reports whether a directory, from the root, has no prose that counts.
func withoutProse(dir string) bool {
	switch dir {
	case ".":
		return false
	case "bin", "build", "dist", "docs/reference":
		return true
	default:
		return path.Base(dir) == "testdata" || strings.HasPrefix(path.Base(dir), ".")
	}
}

// words finds the listed words of a block in a file.
func (b *block) words(file string) []place {
	var places []place
	for _, at := range listed.FindAllStringIndex(b.text, -1) {
		rest, _, _ := strings.Cut(b.text[at[0]:], "\n")
		places = append(places, place{
			path: file, line: b.line + strings.Count(b.text[:at[0]], "\n"),
			word: strings.ToLower(strings.Join(strings.Fields(b.text[at[0]:at[1]]), " ")), text: rest,
		})
	}
	return places
}

// count is a number of listed words in a directory.
type count struct {
	dir   string
	words int
}

// byPackage counts places by their directories, the most first.
func byPackage(places []place) []count {
	var counts []count
	for _, p := range places {
		dir := path.Dir(p.path)
		at := slices.IndexFunc(counts, func(c count) bool { return c.dir == dir })
		if at < 0 {
			at, counts = len(counts), append(counts, count{dir: dir})
		}
		counts[at].words++
	}
	slices.SortStableFunc(counts, func(a, b count) int { return b.words - a.words })
	return counts
}
