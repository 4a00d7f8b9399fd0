package inspect_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/inspect"
)

// tree is an answer with fields of all kinds.
type tree struct {
	Zebra string         `json:"zebra"`
	Ant   float64        `json:"ant"`
	Yes   bool           `json:"flag"`
	None  *int           `json:"none"`
	List  []string       `json:"list"`
	Inner map[string]any `json:"inner"`
}

func (tree) Text(t *inspect.Table) { t.Row("narrow") }

func (tree) Wide(t *inspect.Table) { t.Row("narrow", "wide") }

func printed(t interface{ Fatal(...any) }, answer inspect.Answer, format inspect.Format) string {
	var text bytes.Buffer
	if err := inspect.Print(&text, answer, format); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestYAMLHasTheFieldsOfJSONInTheirOrder(t *testing.T) {
	const want = `zebra: "true"
ant: 1.5
flag: true
none: null
list:
  - "1"
  - a b
inner:
  k: []
`
	got := printed(t, tree{Zebra: "true", Ant: 1.5, Yes: true, List: []string{"1", "a b"}, Inner: map[string]any{"k": []int{}}}, inspect.YAML)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestYAMLMeansWhatJSONDoesAndSpeaksToNoTerminal(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("\x1b[2J\nFORGED\trow\u009b\u202e\U000e0001"), rapid.SampledFrom([]string{
			"true",
			"1",
			"null",
			"~",
			"",
			" ",
			"a: b",
			"- x",
			"# y",
			"2001-01-01",
			"yes",
			"On",
			"n",
			"1:20",
			"0777",
			"1_000",
			"=",
			"\\",
			`"`,
			"\u2028",
			"\x7f",
			"\ufeff",
		})).Draw(t, "text")
		answer := tree{Zebra: text, List: []string{text}, Inner: map[string]any{text: text}}
		got := printed(t, answer, inspect.YAML)
		if at := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); at >= 0 {
			t.Fatalf("%q is in %q", got[at:], got)
		}
		back, err := yaml.YAMLToJSON([]byte(got))
		if err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		want, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var is, should any
		if err := json.Unmarshal(back, &is); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &should); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(should, is); diff != "" {
			t.Errorf("%q (-want +got):\n%s", got, diff)
		}
	})
}

func TestWideIsForAnswersThatHaveMoreToTell(t *testing.T) {
	if got := printed(t, tree{}, inspect.Wide); got != "narrow  wide\n" {
		t.Errorf("wide it is %q", got)
	}
	if got := printed(t, tree{}, inspect.Text); got != "narrow\n" {
		t.Errorf("else it is %q", got)
	}
	if got, want := printed(t, hostile{"x"}, inspect.Wide), printed(t, hostile{"x"}, inspect.Text); got != want {
		t.Errorf("without more to tell it is %q, want %q", got, want)
	}
}
