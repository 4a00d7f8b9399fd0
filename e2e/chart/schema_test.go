package chart

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"muster.dev/muster/api/config"
)

// jsonSchema is one, as far as the chart uses it for structure.
type jsonSchema struct {
	Ref        string                 `json:"$ref"`
	Properties map[string]*jsonSchema `json:"properties"`
	// Additional are false, or the schema of values of any name; absent, anything goes.
	Additional json.RawMessage        `json:"additionalProperties"`
	Items      *jsonSchema            `json:"items"`
	Defs       map[string]*jsonSchema `json:"$defs"`
}

func TestTheSchemaHasTheFieldsOfTheConfigurationAndNoOthers(t *testing.T) {
	t.Parallel()
	var root jsonSchema
	if err := json.Unmarshal([]byte(textOf(t, chartDir, "values.schema.json")), &root); err != nil {
		t.Fatal(err)
	}
	root.compare(t, "config", root.Properties["config"], reflect.TypeFor[config.Configuration]())
}

// compare checks the properties of a schema against the fields of a type, leaving out the ones that the chart sets
// itself.
func (root *jsonSchema) compare(t *testing.T, path string, s *jsonSchema, of reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if s != nil && s.Ref != "" {
		s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	switch {
	case s == nil:
		t.Errorf("%s: the schema has no such field", path)
	case of.Kind() == reflect.Slice:
		root.compare(t, path+"[]", s.Items, of.Elem())
	case of.Kind() == reflect.Struct && strings.HasPrefix(of.PkgPath(), "muster.dev/"):
		if string(s.Additional) != "false" {
			t.Errorf("%s: the schema lets fields of any name in", path)
		}
		var has []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if field := path + "." + name; name != "" && name != "-" && !slices.Contains(setByTheChart(), field) {
				has = append(has, field)
				root.compare(t, field, s.Properties[name], of.Field(i).Type)
			}
		}
		for name := range s.Properties {
			if field := path + "." + name; !slices.Contains(has, field) {
				t.Errorf("%s: the schema lets it in, and muster does not know it", field)
			}
		}
	}
}
