package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-faster/jx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/bounded"
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
	// Name takes a name that Known did not take, or one without a text. It returns false for a name
	// that counts as absent. The error says that there are too many names.
	Name(name []byte) (taken bool, err error)
}

// Pod is the pod of a request: what identifies it, and the object itself.
type Pod struct {
	Namespace, Name, ResourceVersion, SchedulerName string
	UID                                             types.UID

	raw jx.Raw
}

// Object decodes the whole pod, which takes no more than Memory.
func (p *Pod) Object() (*corev1.Pod, error) {
	object := &corev1.Pod{}
	if err := bounded.Decode(p.raw, object); err != nil {
		return nil, fmt.Errorf("Pod: %w", err)
	}
	return object, nil
}

// Memory is how many bytes it may take to decode the pod.
func (p *Pod) Memory() int64 { return bounded.Memory(len(p.raw)) }

// Read decodes a body into a, whose memory it uses again, and hands on the names of
// the nodes. Errors say which field is at fault.
func (a *Args) Read(d *jx.Decoder, body []byte, names Names) error {
	a.Pod = Pod{}
	a.Nodes, a.WholeNodes = a.Nodes[:0], false
	rest, err := fields(d, body, func(key string, rest []byte) ([]byte, error) {
		if is(key, "NodeNames") && len(rest) > 0 && rest[0] == '[' {
			rest, err := readNames(d, rest, names)
			return rest, field("NodeNames", err)
		}
		value, rest, err := extent(rest)
		switch {
		case err != nil:
			return rest, field(key, err)
		case value.Type() == jx.Null:
		case is(key, "Pod"):
			return rest, field("Pod", a.Pod.read(value))
		case is(key, "Nodes"):
			return rest, field("Nodes", a.readNodes(value, names))
		case is(key, "NodeNames"):
			return rest, field("NodeNames", errors.New("not a list"))
		}
		return rest, field(key, jx.DecodeBytes(value).Validate())
	})
	return ended(&a.Pod, rest, err)
}

// ended is the error of a request that was read, and has to have a pod.
func ended(pod *Pod, rest []byte, err error) error {
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return errors.New("unexpected data after the object")
	case pod.raw == nil:
		return errors.New("Pod: missing")
	}
	return nil
}

func (p *Pod) read(raw jx.Raw) error {
	*p = Pod{raw: raw}
	return bounded.Object(jx.DecodeBytes(raw), func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "metadata":
			return field("metadata", bounded.Object(d, func(d *jx.Decoder, key []byte) error {
				switch string(key) {
				case "namespace":
					return readName(d, "namespace", &p.Namespace)
				case "name":
					return readName(d, "name", &p.Name)
				case "uid":
					return readName(d, "uid", (*string)(&p.UID))
				case "resourceVersion":
					return readName(d, "resourceVersion", &p.ResourceVersion)
				}
				return d.Skip()
			}))
		case "spec":
			return field("spec", bounded.Object(d, func(d *jx.Decoder, key []byte) error {
				if string(key) == "schedulerName" {
					return readName(d, "schedulerName", &p.SchedulerName)
				}
				return d.Skip()
			}))
		}
		return d.Skip()
	})
}

func (a *Args) readNodes(raw jx.Raw, names Names) error {
	a.WholeNodes = true
	return bounded.Object(jx.DecodeBytes(raw), func(d *jx.Decoder, key []byte) error {
		if string(key) != "items" || d.Next() == jx.Null {
			return d.Skip()
		}
		at := 0
		return bounded.Array(d, func(d *jx.Decoder) error {
			raw, err := d.Raw()
			if err != nil {
				return err
			}
			name, err := nodeName(raw)
			if err != nil {
				return fmt.Errorf("items[%d]: %w", at, err)
			}
			at++
			taken, err := names.Name(name)
			if taken {
				a.Nodes = append(a.Nodes, raw)
			}
			return err
		})
	})
}

func nodeName(node jx.Raw) ([]byte, error) {
	var name []byte
	err := bounded.Object(jx.DecodeBytes(node), func(d *jx.Decoder, key []byte) error {
		if string(key) != "metadata" {
			return d.Skip()
		}
		return bounded.Object(d, func(d *jx.Decoder, key []byte) error {
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

// readName reads a string that names something in the API.
func readName(d *jx.Decoder, of string, to *string) error {
	text, err := d.StrBytes()
	switch {
	case err != nil:
		return field(of, err)
	case len(text) > bounded.MaxName:
		return fmt.Errorf("%s: it has %d bytes; it may have %d", of, len(text), bounded.MaxName)
	case !utf8.Valid(text):
		return fmt.Errorf("%s: it is not UTF-8 text", of)
	}
	*to = string(text)
	return nil
}

func field(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
