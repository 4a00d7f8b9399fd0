package walkthrough

import "testing"

func TestWhatIsPrintedIsWhatIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want, got string
		matches         bool
	}{
		{"the same", "a\nb", "a\nb\n", true},
		{"nothing", "", "\n", true},
		{"something where nothing is shown", "", "error\n", false},
		{"nothing where something is shown", "a", "", false},
		{"another word", "a b", "a c\n", false},
		{"columns of other widths", "NAME   AGE", "NAME         AGE\n", true},
		{"indented is not the same as not indented", "  a", "a", false},
		{"a line more", "a", "a\nb\n", false},
		{"a line less", "a\nb", "a\n", false},
		{"part of a line is anything", "web-...   1", "web-5c88-x    1\n", true},
		{"part of a line is nothing", "web...", "web\n", true},
		{"anything does not reach the next line", "a...b", "a\nb\n", false},
		{"any lines", "...\nb", "x\ny\nb\n", true},
		{"any lines may be none", "...\nb\n...", "b\n", true},
		{"any lines, but then another one", "...\nb", "x\nb\nc\n", false},
		{"a dot is a dot", "a.b", "axb", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Matches(c.want, c.got); got != c.matches {
				t.Errorf("Matches(%q, %q) is %v", c.want, c.got, got)
			}
		})
	}
}
