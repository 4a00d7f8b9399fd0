package remote

import (
	"fmt"

	"muster.dev/muster/api/spelling"
)

// absent says of what kind there is none of a name, and which one may be meant.
func absent(kind, name string, names []string) error {
	message := fmt.Sprintf("there is no %s %s", kind, name)
	switch nearest := spelling.Nearest(name, names); {
	case nearest != "":
		message += ", did you mean " + nearest + "?"
	case len(names) == 0:
		message += ", and no other"
	}
	return &AbsentError{message}
}

// AbsentError says that there is nothing of a name.
type AbsentError struct{ message string }

func (e *AbsentError) Error() string { return e.message }
