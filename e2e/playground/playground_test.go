package playground

import "testing"

func TestAConfigurationCountsOnceItStaysTheSame(t *testing.T) {
	for _, c := range []struct {
		name  string
		looks []string
		want  []bool
	}{
		{"there was nothing", []string{"", ""}, []bool{false, false}},
		{"at the second look", []string{"a", "a"}, []bool{false, true}},
		{"and once only", []string{"a", "a", "a"}, []bool{false, true, false}},
		{"what is being written does not count", []string{"a", "a", "", "b", "b"}, []bool{false, true, false, false, true}},
		{"what goes away does", []string{"a", "a", "", ""}, []bool{false, true, false, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w watched
			for i, text := range c.looks {
				if got := w.changed(text); got != c.want[i] {
					t.Errorf("look %d found a change: %v, want %v", i+1, got, c.want[i])
				}
			}
		})
	}
}
