package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Loaded says what dumps held.
type Loaded struct {
	// Objects counts what is in the view now, by resource, as in "nodes".
	Objects map[string]int
	// Skipped counts what is not, by kind, as in "ConfigMap" and "finished Pod".
	Skipped map[string]int
}

// String is for people, as in "loaded 4,000 pods, 300 nodes; skipped 12 objects:
// 10 ConfigMap, 2 Secret".
func (l *Loaded) String() string {
	said := "loaded " + cmp.Or(list(l.Objects), "nothing")
	if len(l.Skipped) > 0 {
		total := 0
		for _, n := range l.Skipped {
			total += n
		}
		said += fmt.Sprintf("; skipped %s objects: %s", thousands(total), list(l.Skipped))
	}
	return said
}

// list names counts, the greatest first.
func list(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = thousands(counts[name]) + " " + name
	}
	return strings.Join(names, ", ")
}

// thousands parts the digits of a number, as in 50,000.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
