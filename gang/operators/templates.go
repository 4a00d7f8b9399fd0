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

// Templates returns the templates of pods in an object, in the order of their paths: whatever has a spec with containers.
func Templates(object Object) []Template {
	return templatesIn(map[string]any(object), Template{Pods: 1})
}

// templatesIn returns what is in a part of an object. The template that is passed has how one there is reached.
func templatesIn(part any, at Template) (found []Template) {
	switch part := part.(type) {
	case []any:
		for i, element := range part {
			inside := at
			inside.Path += "[" + strconv.Itoa(i) + "]"
			found = append(found, templatesIn(element, inside)...)
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
			inside.Pods = Times(at.Pods, of.counts(name))
			found = append(found, templatesIn(part[name], inside)...)
		}
	}
	return found
}

// counts returns how many times an object asks for what is in one of its fields.
func (o Object) counts(field string) int32 {
	if o.Has("size") && (field == "leaderTemplate" || field == "workerTemplate") { // of a LeaderWorkerSet
		return o.groupCounts(field)
	}
	times := Times(o.Number(1, "replicas"), o.Number(1, "numOfHosts"))
	if o.Has("parallelism") || o.Has("completions") {
		parallelism := o.Number(1, "parallelism")
		times = Times(times, min(parallelism, o.Number(parallelism, "completions")))
	}
	return times
}

// groupCounts is the same of a replica of a LeaderWorkerSet: workers beside a leader, or in its place where that has no template.
func (o Object) groupCounts(field string) int32 {
	size := o.Number(1, "size")
	switch {
	case field == "leaderTemplate":
		return 1
	case o.Has("leaderTemplate"):
		return max(size-1, 0)
	}
	return size
}
