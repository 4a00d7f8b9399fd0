package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-faster/jx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Args is an ExtenderArgs: the body of filter and prioritize. Its slices point
// into the body that was read and live as long as it does.
type Args struct {
	Pod Pod
	// Nodes are the objects of the candidates in the order of their names, as JSON.
	// They are only there when the scheduler runs with nodeCacheCapable: false.
	Nodes []jx.Raw
	// WholeNodes says that the request came with objects, so that the answer must.
	WholeNodes bool
}

// Names receives the names of the candidate nodes one by one. There may be thousands
// in every request, nearly all of them known, so it is shown the text itself.
type Names interface {
	// Known takes the next name if the text begins with it, as a JSON string, and it
	// is one that the receiver knows. It returns the length of that string, else 0.
	Known(text []byte) int
	// Name takes a name that Known did not take, or one for which there was no text.
	Name(name []byte)
}

// Pod is the pod of a request: what identifies it, and the object itself.
type Pod struct {
	Namespace, Name, ResourceVersion, SchedulerName string
	UID                                             types.UID

	raw jx.Raw
}

// Object decodes the whole pod.
func (p *Pod) Object() (*corev1.Pod, error) {
	object := &corev1.Pod{}
	if err := json.Unmarshal(p.raw, object); err != nil {
		return nil, fmt.Errorf("Pod: %w", err)
	}
	return object, nil
}

// Read decodes a body into a, whose memory it uses again, and hands on the names of
// the nodes. Errors say which field is at fault.
func (a *Args) Read(d *jx.Decoder, body []byte, names Names) error {
	a.Pod = Pod{}
	a.Nodes, a.WholeNodes = a.Nodes[:0], false
	rest, err := fields(d, body, func(key string, rest []byte) ([]byte, error) {
		if strings.EqualFold(key, "NodeNames") && len(rest) > 0 && rest[0] == '[' {
			rest, err := readNames(d, rest, names)
			return rest, field("NodeNames", err)
		}
		value, rest, err := next(d, rest)
		switch {
		case err != nil || value.Type() == jx.Null:
			return rest, field(key, err)
		case strings.EqualFold(key, "Pod"):
			return rest, field("Pod", a.readPod(value))
		case strings.EqualFold(key, "Nodes"):
			return rest, field("Nodes", a.readNodes(value, names))
		case strings.EqualFold(key, "NodeNames"):
			return rest, field("NodeNames", errors.New("not a list"))
		}
		return rest, nil
	})
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return errors.New("unexpected data after the object")
	case a.Pod.raw == nil:
		return errors.New("Pod: missing")
	}
	return nil
}

func (a *Args) readPod(raw jx.Raw) error {
	a.Pod.raw = raw
	return object(jx.DecodeBytes(raw), func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "metadata":
			return field("metadata", object(d, func(d *jx.Decoder, key []byte) error {
				switch string(key) {
				case "namespace":
					return readString(d, &a.Pod.Namespace)
				case "name":
					return readString(d, &a.Pod.Name)
				case "uid":
					return readString(d, (*string)(&a.Pod.UID))
				case "resourceVersion":
					return readString(d, &a.Pod.ResourceVersion)
				}
				return d.Skip()
			}))
		case "spec":
			return field("spec", object(d, func(d *jx.Decoder, key []byte) error {
				if string(key) == "schedulerName" {
					return readString(d, &a.Pod.SchedulerName)
				}
				return d.Skip()
			}))
		}
		return d.Skip()
	})
}

func (a *Args) readNodes(raw jx.Raw, names Names) error {
	a.WholeNodes = true
	return object(jx.DecodeBytes(raw), func(d *jx.Decoder, key []byte) error {
		if string(key) != "items" || d.Next() == jx.Null {
			return d.Skip()
		}
		return array(d, func(d *jx.Decoder) error {
			raw, err := d.Raw()
			if err != nil {
				return err
			}
			name, err := nodeName(raw)
			if err != nil {
				return fmt.Errorf("items[%d]: %w", len(a.Nodes), err)
			}
			a.Nodes = append(a.Nodes, raw)
			names.Name(name)
			return nil
		})
	})
}

func nodeName(node jx.Raw) ([]byte, error) {
	var name []byte
	err := object(jx.DecodeBytes(node), func(d *jx.Decoder, key []byte) error {
		if string(key) != "metadata" {
			return d.Skip()
		}
		return object(d, func(d *jx.Decoder, key []byte) error {
			if string(key) != "name" {
				return d.Skip()
			}
			var err error
			name, err = d.StrBytes()
			return err
		})
	})
	if err == nil && len(name) == 0 {
		err = errors.New("metadata.name: missing")
	}
	return name, err
}

// object reads an object field by field. Unlike jx's own it leaves errors as they
// are.
func object(d *jx.Decoder, read func(d *jx.Decoder, key []byte) error) error {
	fields, err := d.ObjIter()
	if err != nil {
		return err
	}
	for fields.Next() {
		if err := read(d, fields.Key()); err != nil {
			return err
		}
	}
	return fields.Err()
}

// array reads an array element by element.
func array(d *jx.Decoder, read func(d *jx.Decoder) error) error {
	elements, err := d.ArrIter()
	if err != nil {
		return err
	}
	for elements.Next() {
		if err := read(d); err != nil {
			return err
		}
	}
	return elements.Err()
}

func readString(d *jx.Decoder, to *string) error {
	v, err := d.Str()
	*to = v
	return err
}

func field(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
