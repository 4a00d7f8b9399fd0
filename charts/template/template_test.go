package template_test

import (
	"encoding/json"
	"strings"
	"testing"
	standard "text/template"

	"muster.dev/muster/charts/template"
)

type kind string

type row struct {
	Name string
	Kind kind
	More *row
	List []string
}

// A template says the same as in text/template.
func TestATemplateSaysWhatTheStandardLibraryHasItSay(t *testing.T) {
	data := map[string]any{
		"yes": true, "no": false, "name": "web", "empty": "", "none": []string{}, "list": []string{"a", "b"}, "kinds": []kind{"Job", "JobSet"},
		"rows":   []row{{Name: "one", Kind: "Job", List: []string{"x"}}, {Name: "two", More: &row{Name: "three"}}},
		"number": 3, "deep": map[string]any{"er": map[string]any{"still": "found"}},
	}
	for _, text := range []string{
		"plain", "{{ .name }}", "a {{- /* nothing */}} b", "{{ .deep.er.still }}", "{{ .number }}", "{{ 7 }} {{ true }} {{ \"text\" }}",
		"{{ if .yes }}yes{{ else }}no{{ end }}", "{{ if .absent }}there{{ else if .yes }}else{{ end }}",
		"{{ if .none }}some{{ else }}none{{ end }}",
		"{{ if and .yes (not .no) }}both{{ end }}", "{{ or .empty .name }}", "{{ and .name .empty }}|", "{{ or .empty .none | len }}",
		"{{ with .name }}[{{ . }}]{{ end }}", "{{ with .empty }}some{{ else }}{{ .name }}{{ end }}", "{{ with $x := .name }}{{ $x }}{{ end }}",
		"{{ range .list }}<{{ . }}>{{ end }}", "{{ range $i, $x := .list }}{{ if $i }}, {{ end }}{{ $x }}{{ end }}",
		"{{ range $k, $v := .deep }}{{ $k }}={{ $v.still }}{{ end }}",
		"{{ with (.absent).er }}some{{ end }}{{ with (.deep).er }}{{ .still }}{{ end }}",
		"{{ with ((.deep).absent).er }}some{{ end }} {{ ne .name \"db\" }}{{ ne .number 3 }}", "{{ with ((.absent).er).still }}some{{ end }}",
		"{{ range $x := .list }}{{ $x }}{{ $.name }}{{ end }}", "{{ range .none }}some{{ else }}none{{ end }}",
		`{{ range .kinds }}{{ if eq . "Job" }}job{{ else if eq . "Set" "JobSet" }}set{{ end }}{{ end }}`,
		"{{ range .rows }}{{ .Name }}{{ with .More }} over {{ .Name }}{{ end }}{{ range .List }}{{ . }}{{ end }};{{ end }}",
		`{{ $next := "" }}{{ range .list }}{{ $next }}{{ . }}{{ $next = "," }}{{ end }}`,
		`{{ $x := "outer" }}{{ if .yes }}{{ $x := "inner" }}{{ $x }}{{ end }}{{ $x }}`,
		`{{ define "part" }}({{ .name }}){{ end }}{{ include "part" . | upper }}`,
		`{{ include "main2" "x" }}{{ define "main2" }}{{ . }}{{ end }}`,
		"{{ toJson .list }}", "{{ len .list }} {{ len .name }} {{ len (and .yes .list) }}",
		"{{ .name | upper | printed }}", "{{ upper (or .empty .name) }}",
		"{{ eq .name \"web\" }} {{ eq .number 3 }} {{ eq .name \"db\" }}",
	} {
		t.Run(text, func(t *testing.T) {
			toJSON := func(value any) (string, error) {
				text, err := json.Marshal(value)
				return string(text), err
			}
			reference := standard.New("main")
			standard.Must(reference.Funcs(standard.FuncMap{
				"upper": strings.ToUpper, "printed": func(text string) string { return "<" + text + ">" }, "toJson": toJSON,
				"include": func(name string, data any) (string, error) {
					var text strings.Builder
					err := reference.ExecuteTemplate(&text, name, data)
					return text.String(), err
				},
			}).Parse(text))
			var want strings.Builder
			if err := reference.Execute(&want, data); err != nil {
				t.Fatal(err)
			}
			set, err := template.Parse(map[string]string{"main": text}, map[string]template.Func{
				"upper":   func(args ...any) (any, error) { return strings.ToUpper(args[0].(string)), nil },
				"printed": func(args ...any) (any, error) { return "<" + args[0].(string) + ">", nil },
				"toJson":  func(args ...any) (any, error) { return toJSON(args[0]) },
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := set.Fill("main", data); err != nil || got != want.String() {
				t.Errorf("it says %q, error %v, want %q", got, err, &want)
			}
		})
	}
}

func TestWhatATemplateCannotSayIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .name.first }}": "string has no fields: first", "{{ .row.Absent }}": "has no field Absent",
		"{{ range .name }}{{ end }}": "range over string", "{{ .name 1 }}": "is no function", "{{ 1.5 }}": "is not supported here",
		`{{ include "absent" . }}`: `no template "absent"`, `{{ include "x" }}`: "include takes", "{{ len 1 }}": "len takes",
		`{{ template "main" }}`: "is not supported here", "{{ eq .name }}": "eq compares",
		"{{ ne .name }}": "ne compares", "{{ .absent.er }}": "has no fields: er", "{{ (.name).er }}": "has no fields: er",
	} {
		set, err := template.Parse(map[string]string{"main": text}, nil, nil)
		if err == nil {
			_, err = set.Fill("main", map[string]any{"name": "web", "row": row{}})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestWhatIsPrintedOfDataIsEscaped(t *testing.T) {
	set, err := template.Parse(
		map[string]string{"main": "<b>{{ .name }}</b>"}, nil, func(text string) string { return strings.ReplaceAll(text, "<", "&lt;") },
	)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := set.Fill("main", map[string]any{"name": "<i>"}); err != nil || got != "<b>&lt;i></b>" {
		t.Errorf("it says %q, error %v", got, err)
	}
}
