package operators

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Template is a template of pods in an object that makes pods, such as a Deployment or a JobSet.
type Template struct {
	Path string // in the object, as in spec.template
	Pod  Object // its metadata and spec
	// Pods is how many pods are made of it at once: the product of the counts on the way to it.
	Pods int32
	// Above are the objects that it is in, the outermost first.
	Above []Object
}

// Templates returns the templates of pods in an object, in the order of their paths: whatever has a spec with containers. They are counted
// by [Copies].
func Templates(object Object) []Template {
	return templatesIn(map[string]any(object), Template{Pods: 1}, Copies)
}

// templatesIn returns what is in a part of an object. The template that is passed has how one there is reached.
func templatesIn(part any, at Template, copies func(part Object, field string) int32) (found []Template) {
	switch part := part.(type) {
	case []any:
		for i, element := range part {
			inside := at
			inside.Path += "[" + strconv.Itoa(i) + "]"
			found = append(found, templatesIn(element, inside, copies)...)
		}
	case map[string]any:
		of := Object(part)
		if at.Path != "" && of.Has("spec", "containers") {
			at.Pod = of
			return []Template{at}
		}
		for _, name := range slices.Sorted(maps.Keys(part)) {
			inside := at
			inside.Path = strings.TrimPrefix(at.Path+"."+name, ".")
			inside.Above = append(slices.Clone(at.Above), of)
			inside.Pods = Times(at.Pods, copies(of, name))
			found = append(found, templatesIn(part[name], inside, copies)...)
		}
	}
	return found
}

// Copies returns how many times a part of an object asks for what is in one of its fields, by what most kinds call that: replicas, or
// parallelism and completions.
func Copies(part Object, _ string) int32 {
	times := part.Number(1, "replicas")
	if part.Has("parallelism") || part.Has("completions") {
		parallelism := part.Number(1, "parallelism")
		times = Times(times, min(parallelism, part.Number(parallelism, "completions")))
	}
	return times
}
