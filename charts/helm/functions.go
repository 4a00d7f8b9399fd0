package helm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/charts/template"
)

// Functions are Helm's, as far as the templates of the chart call them.
func Functions() map[string]template.Func {
	functions := map[string]template.Func{}
	for name, f := range map[string]any{
		"trim": strings.TrimSpace, "lower": strings.ToLower, "printf": fmt.Sprintf,
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"replace":    func(from, to, s string) string { return strings.ReplaceAll(s, from, to) },
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"indent":     indent,
		"nindent":    func(n int, s string) string { return "\n" + indent(n, s) },
		"sha256sum":  func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
		"b64enc":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"splitList":  func(by, s string) (parts []any) { return anys(strings.Split(s, by)) },
		"join":       join,
		"regexFind": func(expression, s string) (string, error) {
			compiled, err := regexp.Compile(expression)
			if err != nil {
				return "", err
			}
			return compiled.FindString(s), nil
		},

		"toJson": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (map[string]any, error) {
			value := map[string]any{}
			return value, yaml.Unmarshal([]byte(text), &value)
		},
		"fromYamlArray": fromArray,
		"fromJsonArray": fromArray,

		"list":    func(values ...any) []any { return values },
		"append":  func(list []any, value any) []any { return append(slices.Clone(list), value) },
		"prepend": func(list []any, value any) []any { return append([]any{value}, list...) },
		"concat":  func(lists ...[]any) []any { return slices.Concat(lists...) },
		"first":   func(list []any) any { return list[0] },
		"last":    func(list []any) any { return list[len(list)-1] },
		"has":     func(value any, list []any) bool { return slices.Contains(list, value) },
		"compact": func(list []any) []any {
			return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return !template.True(v) })
		},
		"without": func(list []any, values ...any) []any {
			return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return slices.Contains(values, v) })
		},
		"uniq": func(list []any) (unique []any) {
			for _, value := range list {
				if !slices.Contains(unique, value) {
					unique = append(unique, value)
				}
			}
			return unique
		},

		"dict":   dict,
		"hasKey": func(of map[string]any, key string) bool { _, has := of[key]; return has },
		"set":    func(of map[string]any, key string, value any) map[string]any { of[key] = value; return of },
		"omit": func(of map[string]any, keys ...string) map[string]any {
			rest := maps.Clone(of)
			for _, key := range keys {
				delete(rest, key)
			}
			return rest
		},
		"dig":                dig,
		"merge":              func(into, from map[string]any) map[string]any { return merge(merge(map[string]any{}, from), into) },
		"mustMergeOverwrite": merge,
		"mustDeepCopy":       runtime.DeepCopyJSON,

		"default": func(otherwise, value any) any {
			if template.True(value) {
				return value
			}
			return otherwise
		},
		"empty": func(value any) bool { return !template.True(value) },
		"ternary": func(yes, no any, which bool) any {
			if which {
				return yes
			}
			return no
		},
		"int": func(value int) int { return value },
		"gt":  func(a, b float64) bool { return a > b },
		"semverCompare": func(atLeast, served string) (bool, error) {
			least, err := version.ParseSemantic(strings.TrimPrefix(atLeast, ">="))
			if err != nil {
				return false, err
			}
			v, err := version.ParseSemantic(served)
			return err == nil && v.AtLeast(least), err
		},
		"required": func(why string, value any) (any, error) {
			if !template.True(value) {
				return nil, errors.New(why)
			}
			return value, nil
		},
		"fail": func(why string) (string, error) { return "", errors.New(why) },
		"tpl": func(string, any) (string, error) {
			return "", errors.New("templates among the values are not supported here")
		},
	} {
		functions[name] = adapted(name, f)
	}
	return functions
}

func indent(n int, s string) string {
	margin := strings.Repeat(" ", n)
	return margin + strings.ReplaceAll(s, "\n", "\n"+margin)
}

func join(by string, list []any) string {
	var texts []string
	for _, value := range list {
		texts = append(texts, fmt.Sprint(value))
	}
	return strings.Join(texts, by)
}

// fromArray reads a list in YAML, or in JSON, which is YAML as well.
func fromArray(text string) (list []any, err error) {
	err = yaml.Unmarshal([]byte(text), &list)
	return list, err
}

func dict(entries ...any) (map[string]any, error) {
	made := map[string]any{}
	for pair := range slices.Chunk(entries, 2) {
		key, isText := pair[0].(string)
		if len(pair) < 2 || !isText {
			return nil, fmt.Errorf("dict takes keys, each with a value, and %v is none", pair[0])
		}
		made[key] = pair[1]
	}
	return made, nil
}

// dig takes keys, a default and a map, and returns the value below the keys; the default where one of them is missing.
func dig(args ...any) (any, error) {
	if len(args) < 3 {
		return nil, errors.New("dig takes keys, a default and a map")
	}
	keys, otherwise, value := args[:len(args)-2], args[len(args)-2], args[len(args)-1]
	for _, key := range keys {
		within, isMap := value.(map[string]any)
		if !isMap {
			return otherwise, nil
		}
		if value, isMap = within[fmt.Sprint(key)]; !isMap {
			return otherwise, nil
		}
	}
	return value, nil
}

// merge sets in one map what another one has, and returns it. What is null there is left out.
func merge(into, from map[string]any) map[string]any {
	for key, value := range from {
		deeper, isMap := value.(map[string]any)
		there, both := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case both && isMap:
			merge(there, deeper)
		default:
			into[key] = value
		}
	}
	return into
}

func anys[T any](list []T) (all []any) {
	for _, value := range list {
		all = append(all, value)
	}
	return all
}

// adapted makes a function of Go one of templates.
func adapted(name string, f any) template.Func {
	call := reflect.ValueOf(f)
	takes := call.Type()
	return func(args ...any) (any, error) {
		least := takes.NumIn()
		if takes.IsVariadic() {
			least--
		}
		if len(args) < least || len(args) > least && !takes.IsVariadic() {
			return nil, fmt.Errorf("%s takes %d arguments, and not %d", name, least, len(args))
		}
		var in []reflect.Value
		for i, arg := range args {
			want := takes.In(min(i, takes.NumIn()-1))
			if i >= least {
				want = want.Elem()
			}
			value, fits := as(arg, want)
			if !fits {
				return nil, fmt.Errorf("%s takes %s, and not %T", name, want, arg)
			}
			in = append(in, value)
		}
		out := call.Call(in)
		if len(out) == 2 && !out[1].IsNil() {
			return nil, fmt.Errorf("%s: %w", name, out[1].Interface().(error))
		}
		return out[0].Interface(), nil
	}
}

// as has a value as one of a type: lists of anything as lists of any, numbers as other numbers.
func as(arg any, want reflect.Type) (value reflect.Value, fits bool) {
	value = reflect.ValueOf(arg)
	number := func(kind reflect.Kind) bool {
		return kind == reflect.Int || kind == reflect.Int64 || kind == reflect.Float64
	}
	switch {
	case !value.IsValid():
		return reflect.Zero(want), true
	case value.Type().AssignableTo(want):
		return value, true
	case value.Kind() == reflect.String && want.Kind() == reflect.String, number(value.Kind()) && number(want.Kind()):
		return value.Convert(want), true
	case value.Kind() == reflect.Slice && want == reflect.TypeFor[[]any]():
		var list []any
		for i := range value.Len() {
			list = append(list, value.Index(i).Interface())
		}
		return reflect.ValueOf(list), true
	}
	return value, false
}
