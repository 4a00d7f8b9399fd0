package remote

import (
	"fmt"
	"strings"
)

// Nearest is the name that a misspelled one was meant to be: that with the fewest letters to change, to add or to leave out,
// unless that are more than a third of them; "" then. A name is meant with its namespace, and without it.
func Nearest(misspelled string, names []string) string {
	nearest, least := "", max(1, len(misspelled)/3)+1
	for _, name := range names {
		_, short, _ := strings.Cut(name, "/")
		for _, as := range []string{name, short} {
			if d := distance(misspelled, as); d < least && as != "" {
				nearest, least = name, d
			}
		}
	}
	return nearest
}

// distance is how many letters of a must be changed, added or left out to get b.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		now := make([]int, len(b)+1)
		now[0] = i + 1
		for j := range len(b) {
			changed := before[j]
			if a[i] != b[j] {
				changed++
			}
			now[j+1] = min(changed, before[j+1]+1, now[j]+1)
		}
		before = now
	}
	return before[len(b)]
}

// absent says of what kind there is none of a name, and which one may be meant.
func absent(kind, name string, names []string) error {
	message := fmt.Sprintf("there is no %s %s", kind, name)
	switch nearest := Nearest(name, names); {
	case nearest != "":
		message += ", did you mean " + nearest + "?"
	case len(names) == 0:
		message += ", and no other"
	}
	return &AbsentError{message}
}

// AbsentError says that there is nothing of a name.
type AbsentError struct{ message string }

func (e *AbsentError) Error() string { return e.message }
