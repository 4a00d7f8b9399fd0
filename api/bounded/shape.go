package bounded

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// shape is a type as a JSON decoder sees it.
type shape struct {
	kind   kind
	size   int64             // of a value in memory, in bytes, without what it points to
	fields map[string]*shape // of a struct, by the name in JSON
	elem   *shape            // of a list or a map, or what a pointer points to
	key    int64             // size of a key of a map
	bits   int               // of a number, 0 for one that is no integer
	signed bool              // an integer
	self   reflect.Type      // what decodes itself
}

type kind int

const (
	number     kind = iota
	truth           // true or false
	text            // a string
	quantities      // [resource.Quantity]
	self            // decodes itself, to something that is as long as its text
	anything        // an interface
	structure
	mapping
	list
	pointer
)

// shapes caches the shape of each type, made when it is first asked for. It is safe for concurrent use.
type shapes struct {
	mu   sync.Mutex
	made map[reflect.Type]*shape
}

func (s *shapes) of(t reflect.Type) *shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.make(t)
}

// make must be called with the lock held. A type may contain itself.
func (s *shapes) make(t reflect.Type) *shape {
	if known := s.made[t]; known != nil {
		return known
	}
	made := &shape{size: int64(t.Size())} //nolint:gosec // of a type that exists
	s.made[t] = made
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		made.kind = quantities
		return made
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		made.kind, made.self = self, t
		return made
	}
	switch t.Kind() {
	case reflect.Bool:
		made.kind = truth
	case reflect.String:
		made.kind = text
	case reflect.Interface:
		made.kind = anything
	case reflect.Struct:
		made.kind, made.fields = structure, map[string]*shape{}
		s.addFields(made, t)
	case reflect.Map:
		made.kind, made.elem, made.key = mapping, s.make(t.Elem()), int64(t.Key().Size()) //nolint:gosec // as above
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			made.kind = text // in base64
			break
		}
		made.kind, made.elem = list, s.make(t.Elem())
	case reflect.Pointer:
		made.kind, made.elem = pointer, s.make(t.Elem())
	case reflect.Float32, reflect.Float64:
		made.kind = number
	default:
		made.kind, made.bits, made.signed = number, t.Bits(), t.Kind() <= reflect.Int64
	}
	return made
}

// addFields adds the fields of a struct, including the fields of embedded structs.
func (s *shapes) addFields(to *shape, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		to.fields[name] = s.make(f.Type)
	}
}
