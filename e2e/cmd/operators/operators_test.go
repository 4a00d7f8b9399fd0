package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The documentation has the table.
func TestNoPodOfAnOperatorIsSilentlySingle(t *testing.T) {
	t.Chdir("../..")
	var out bytes.Buffer
	if err := run("../gang/operators", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "figure operators_silently_single=0\n") {
		t.Errorf("printed:\n%s", &out)
	}
	page, err := os.ReadFile("../docs/beside/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	table, figures, _ := strings.Cut(out.String(), "figure ")
	for _, want := range []string{table, "figure " + figures} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/beside/operators.md does not have what make operators prints:\n%s", want)
		}
	}
}
