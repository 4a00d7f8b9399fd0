package muster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGangsReadsTheTableOfThePage(t *testing.T) {
	const head = "gangs, in the order in which they are planned\n\nGANG  MIN  PENDING  PLACED  HELD  BINDING  BOUND  PRIORITY  WAITS BECAUSE\n"
	for name, test := range map[string]struct {
		page string
		want map[string]Gang
	}{
		"none": {head, map[string]Gang{}},
		"one is on its way, the other waits": {head + `default/a  4  0  1  2  3  5  0  -
default/b  6  7  0  0  0  0  0  places for 3 of 6 members
`, map[string]Gang{
			"default/a": {MinMember: 4, Placed: 1, Held: 2, Binding: 3, Bound: 5},
			"default/b": {MinMember: 6, Pending: 7},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := answering(t, "/debug/gangs", test.page).Gangs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("gangs (-want +got):\n%s", diff)
			}
		})
	}
	for name, page := range map[string]string{
		"a page without the table":  "something else\n",
		"a line that is cut off":    head + "default/a  4  0\n",
		"a number that is a letter": head + "default/a  4  0  x  2  3  5  0  -\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := answering(t, "/debug/gangs", page).Gangs(t.Context()); err == nil {
				t.Errorf("no error, but %v", got)
			}
		})
	}
}
