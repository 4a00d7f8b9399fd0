package kubescheduler

import (
	"errors"
	"fmt"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// place has errors about a place in the document that is made name the one that was written.
func (c *conversion) place(to string, from *field.Path) { c.places[to] = from }

// inWrittenPlaces has errors about the document that is made name the fields that were written.
func (c *conversion) inWrittenPlaces(err error) error {
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return utilerrors.NewAggregate([]error{fmt.Errorf("converted: %w", err)})
	}
	var errs []error
	for _, e := range all.Errors() {
		at, ok := errors.AsType[*field.Error](e)
		if !ok {
			errs = append(errs, fmt.Errorf("converted: %w", e))
			continue
		}
		if path, written := c.written(at.Field); written {
			moved := *at
			moved.Field = path
			errs = append(errs, &moved)
		} else {
			errs = append(errs, fmt.Errorf("converted: %w", e))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// inWrittenPlace has a warning about the document that is made name the field that was written.
func (c *conversion) inWrittenPlace(warning string) string {
	path, why, _ := strings.Cut(warning, ": ")
	if written, is := c.written(path); is {
		return written + ": " + why
	}
	return warning
}

// written is where somebody wrote what is at a path of the document that is made: below the innermost place that is known.
func (c *conversion) written(path string) (string, bool) {
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if from, known := c.places[path[:end]]; known {
			return from.String() + path[end:], true
		}
	}
	return "", false
}
