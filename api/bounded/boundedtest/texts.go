package boundedtest

import (
	"fmt"
	"strings"
)

// Texts are hostile in each of the ways that are known, for a reader of JSON or YAML. They are short,
// so that all of them are read within moments.
func Texts() []string {
	const many = 2000
	texts := []string{
		"",
		" ",
		"null",
		"[]",
		"{}",
		`""`,
		"0",
		"-",
		"{",
		"[",
		`"`,
		`{"`,
		`{"a`,
		`{"a"`,
		`{"a":`,
		`{"a":1`,
		`{"a":1,`,
		"{}{}",
		"{} x",
		"\x00",
		"\ufeff{}",
		// Nested, closed or not.
		strings.Repeat("[", many),
		strings.Repeat("[", many) + strings.Repeat("]", many),
		strings.Repeat(`{"a":`, many),
		strings.Repeat(`{"a":[`, many),
		// Long, and many.
		`{"` + strings.Repeat("n", many) + `":1}`,
		`{"metadata":{"name":"` + strings.Repeat("n", many) + `"}}`,
		`[` + Times(many, "{}") + `]`,
		`[` + Times(many, "null") + `]`,
		`{"items":[` + Times(many, "{}") + `]}`,
		`{"spec":{"containers":[` + Times(many, "{}") + `]}}`,
		`{"metadata":{"labels":{` + Entries(many, `"%d":""`) + `}}}`,
		// Said twice.
		`{"a":1,"a":2}`,
		`{"metadata":{"name":"a"},"metadata":{"name":"b"}}`,
		`{` + Times(many, `"spec":{"minMember":1}`) + `}`,
		// Not text, or text that a terminal obeys.
		"{\"a\":\"\xff\xfe\"}",
		`{"a":"\ud800"}`,
		`{"a":"\udc00\ud800"}`,
		"{\"metadata\":{\"name\":\"\x1b[2J\\n\u202e\"}}",
		`{"metadata":{"name":"\u001b[2J\nFORGED\u0000"}}`,
		// Numbers.
		strings.Repeat("9", many),
		"1e999999999",
		"-1e-999999999",
		"0." + strings.Repeat("0", many) + "1",
		`{"spec":{"priority":1e309,"minMember":99999999999999999999}}`,
		// YAML.
		"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n",
		"a: &a\n  b: *a\n",
		"? ? ? ?\n",
		"- " + strings.Repeat("- ", many),
		"!!binary x\n",
		"<<: {a: b}\n",
		strings.Repeat("---\n", many),
		"%YAML 9.9\n---\n",
		"\t- x",
	}
	for _, amount := range []string{"1e-30000000", "1e-2147483648", "1e30000000", strings.Repeat("9", 65)} {
		texts = append(texts, fmt.Sprintf(`{"spec":{"overhead":{"cpu":%q},"minResources":{"cpu":%q}}}`, amount, amount))
	}
	return texts
}

// Quantities are texts that stand for an amount, or nearly, and that some parser takes long for.
func Quantities() []string {
	return []string{
		"",
		"0",
		"1",
		"-1",
		"+1",
		"100m",
		"1.5Gi",
		"1e3",
		"1E3",
		"1e-9",
		"1e99",
		"1e-99",
		"1e100",
		"1e-100",
		"1e30000000",
		"1e-30000000",
		"1e-2147483648",
		"1e99999999999",
		"0e30000000",
		".5",
		"5.",
		".",
		"1e",
		"1e+",
		"1ee3",
		"1e3e3",
		"1E",
		"1Ei",
		"9Ei",
		"9223372036854775807",
		"9223372036854775808",
		"0.0000000000001",
		"1n",
		"1u",
		"1 ",
		" 1",
		"1\x00",
		"١",
		"1\x1b[2J",
		strings.Repeat("9", 64),
		strings.Repeat("9", 65),
		"0." + strings.Repeat("0", 60) + "1",
		"1e" + strings.Repeat("0", 60) + "1",
		strings.Repeat("0", 10_000),
		"1e-" + strings.Repeat("9", 10_000),
	}
}

// Times repeats an element a number of times, with commas between.
func Times(n int, element string) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// Entries lists a number of elements, with commas between. %d in the format is the number of each.
func Entries(n int, format string) string {
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}
