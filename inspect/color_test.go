package inspect

import (
	"regexp"
	"strings"
	"testing"
)

// colorful is an answer with cells of all colours, of several widths, some empty.
type colorful struct{}

func (colorful) Text(t *Table) {
	t.Row(Bad("all is lost"))
	t.Gap()
	t.Row("NODE", "FITS", "", "AGAINST")
	t.Row("a", Good(true), Doubtful("waits"), "")
	t.Row("a-longer-name", Bad(false), Good(""), Bad("Fit: \x1b[2J\x02 too little"))
	t.Row("ü", Doubtful("-"), "a wide one", "x")
}

func TestColorsLeaveCellsWhereTheyAre(t *testing.T) {
	var plain, colored strings.Builder
	if err := Print(&plain, colorful{}, Text); err != nil {
		t.Fatal(err)
	}
	if err := PrintInColor(&colored, colorful{}, Text); err != nil {
		t.Fatal(err)
	}
	const want = "\x1b[31mall is lost\x1b[0m\n\n" +
		"NODE           FITS               AGAINST\n" +
		"a              \x1b[32mtrue\x1b[0m   \x1b[33mwaits\x1b[0m       \n" +
		"a-longer-name  \x1b[31mfalse\x1b[0m              \x1b[31mFit: \\x1b[2J\\x02 too little\x1b[0m\n" +
		"ü              \x1b[33m-\x1b[0m      a wide one  x\n"
	if got := colored.String(); got != want {
		t.Errorf("in colours it is\n%q\nwant\n%q", got, want)
	}
	if got := regexp.MustCompile(`\x1b\[[0-9]+m`).ReplaceAllString(colored.String(), ""); got != plain.String() {
		t.Errorf("without its colours it is\n%s\nwant what is printed without colours:\n%s", got, plain.String())
	}
}

func TestFormatsForProgramsHaveNoColors(t *testing.T) {
	for _, format := range []Format{JSON, YAML} {
		var plain, colored strings.Builder
		if err := Print(&plain, colorful{}, format); err != nil {
			t.Fatal(err)
		}
		if err := PrintInColor(&colored, colorful{}, format); err != nil {
			t.Fatal(err)
		}
		if colored.String() != plain.String() {
			t.Errorf("%s: %q, want %q", format, colored.String(), plain.String())
		}
	}
}
