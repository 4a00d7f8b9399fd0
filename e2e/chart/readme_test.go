package chart

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the table of values into the chart's README instead of comparing it")

// The table stands between these lines.
const (
	tableBegins = "<!-- begin of the values; make generate-chart writes them from values.yaml -->\n"
	tableEnds   = "<!-- end of the values -->\n"
)

func TestTheReadmeHasTheValues(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	want.WriteString("| value | default | meaning |\n| --- | --- | --- |\n")
	for _, row := range valuesIn(t, textOf(t, chartDir, "values.yaml")) {
		fmt.Fprintf(&want, "| %s |\n", strings.ReplaceAll(strings.Join(row[:], " | "), "|  |", "| |"))
	}

	path := filepath.Join(chartDir, "README.md")
	before, rest, began := strings.Cut(textOf(t, path), tableBegins)
	table, after, ended := strings.Cut(rest, tableEnds)
	if !began || !ended {
		t.Fatal("the README has no place for the values")
	}
	if *update {
		readme := before + tableBegins + want.String() + tableEnds + after
		if err := os.WriteFile(path, []byte(readme), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), table); diff != "" {
		t.Errorf("values.yaml (-) and the table of the README (+) differ; make generate-chart writes it:\n%s", diff)
	}
}

var key = regexp.MustCompile(`^( *)([A-Za-z]+):`)

// valuesIn are a name, a default and a meaning for each value that a comment stands above, and no value is without one. What has a comment
// is one value, with all that is in it.
func valuesIn(t *testing.T, text string) (values [][3]string) {
	t.Helper()
	var defaults map[string]any
	if err := yaml.Unmarshal([]byte(text), &defaults); err != nil {
		t.Fatal(err)
	}
	var path []string // to the line at hand
	var meaning string
	told := -1 // the depth of the value whose lines follow
	for line := range strings.Lines(text) {
		if comment, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is {
			meaning = strings.TrimSpace(meaning + " " + comment)
			continue
		}
		found := key.FindStringSubmatch(line)
		if found == nil {
			continue // blank, or an element of a list
		}
		depth := len(found[1]) / 2
		path = append(path[:min(depth, len(path))], found[2])
		if told >= 0 && depth > told {
			continue
		}
		told = -1
		value, _, _ := unstructured.NestedFieldNoCopy(defaults, path...)
		_, section := value.(map[string]any)
		switch name := strings.Join(path, "."); {
		case meaning != "":
			values = append(values, [3]string{"`" + name + "`", short(t, value), strings.ReplaceAll(meaning, "|", `\|`)})
			meaning, told = "", depth
		case !section:
			t.Errorf("values.yaml: no comment says what %s is", name)
		}
	}
	return values
}

// short is a default on one line, nothing when it is empty.
func short(t *testing.T, value any) string {
	t.Helper()
	if v := reflect.ValueOf(value); !v.IsValid() ||
		slices.Contains([]reflect.Kind{reflect.String, reflect.Map, reflect.Slice}, v.Kind()) && v.Len() == 0 {
		return ""
	}
	if text, is := value.(string); is {
		return "`" + text + "`"
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return "`" + string(text) + "`"
}
