// Package spelling tells which name a misspelled one was meant to be.
package spelling

import (
	"fmt"
	"strings"
)

// Nearest is the name that a misspelled one was meant to be: that with the fewest letters to change, to add, to leave out or
// to swap, unless those are more than a third of them; "" then. A name is meant with its namespace, and without it.
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

// distance is how many letters of a must be changed, added, left out or swapped with the next one to get b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // of beginnings of a, by how long the beginning of b is
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			changed := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			rows[i][j] = min(changed, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// DidYouMean asks whether a misspelled name was meant to be the nearest of some, as in "did you mean web? "; "" if none is near.
func DidYouMean(misspelled string, names []string) string {
	if nearest := Nearest(misspelled, names); nearest != "" {
		return fmt.Sprintf("did you mean %s? ", nearest)
	}
	return ""
}
