package bounded

import (
	"errors"
	"fmt"
	"strings"
)

// placed is an error at a place in a text.
type placed struct {
	path string // as in spec.containers[0].resources.requests[cpu]
	err  error
}

func (e *placed) Error() string { return e.path + ": " + e.err.Error() }

func (e *placed) Unwrap() error { return e.err }

// in puts an error one level deeper, into a field, an element or an entry.
func in(level string, err error) error {
	if err == nil {
		return nil
	}
	if below, ok := errors.AsType[*placed](err); ok {
		if below.path[0] != '[' {
			level += "."
		}
		return &placed{level + below.path, below.err}
	}
	return &placed{level, err}
}

func inField(name []byte, err error) error { return in(cut(string(name), mostShown), err) }

func inEntry(name []byte, err error) error {
	return in("["+cut(string(name), mostShown)+"]", err)
}

func inElement(at int, err error) error {
	if err == nil {
		return nil
	}
	return in(fmt.Sprintf("[%d]", at), err)
}

const (
	// mostShown is how much of a name stands in an error.
	mostShown = 64
	// mostSaid is how long an error of a decoder may be, which repeats what it does not understand.
	mostSaid = 1024
)

// brief is an error that is not long, whatever it is about.
func brief(err error) error {
	if err == nil || len(err.Error()) <= mostSaid {
		return err
	}
	return errors.New(cut(err.Error(), mostSaid))
}

// listed is an error that tells of several in one line, nil for none.
func listed(all []error) error {
	if len(all) == 0 {
		return nil
	}
	var texts []string
	for _, err := range all {
		texts = append(texts, err.Error())
	}
	return errors.New(cut(strings.Join(texts, "; "), mostSaid))
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
