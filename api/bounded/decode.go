package bounded

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/go-faster/jx"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/json"
)

var known = shapes{made: map[reflect.Type]*shape{}} //nolint:gochecknoglobals // what follows from types alone

// Decode decodes a text into the value that into points to, as the API machinery does: names of
// fields are case-sensitive, and unknown ones are left out.
func Decode(text []byte, into any) error {
	if _, err := Check(text, into); err != nil {
		return err
	}
	return brief(utiljson.Unmarshal(text, into))
}

// DecodeStrict is Decode of a text in which no field may be unknown or repeated.
func DecodeStrict(text []byte, into any) error {
	if _, err := Check(text, into); err != nil {
		return err
	}
	wrong, err := json.UnmarshalStrict(text, into)
	if err != nil {
		return brief(err)
	}
	return listed(wrong)
}

// Memory is how much decoding a text of a length may allocate, in bytes. Objects of an API server
// stay below a half of it.
func Memory(length int) int64 { return 8*int64(length) + 192<<10 }

// Check says whether a text may be decoded into what into points to, and what that allocates at
// most, in bytes. It does not say that the text fits the type.
func Check(text []byte, into any) (bytes int64, err error) {
	if !utf8.Valid(text) { // a decoder makes three bytes of each that is not
		return 0, errors.New("it is not UTF-8 text")
	}
	w := walker{most: Memory(len(text))}
	if err := w.begin(text, known.of(reflect.TypeOf(into).Elem())); err != nil {
		if errors.Is(err, errTooDeep) {
			return 0, err
		}
		if syntax := stdjson.Unmarshal(text, new(stdjson.RawMessage)); syntax != nil {
			return 0, syntax // in the words that people know
		}
		return 0, err
	}
	return w.bytes, nil
}

// Object reads an object and hands on the name of each field, before its value, which read has to
// read or skip. Unlike jx's own it leaves errors as they are.
func Object(d *jx.Decoder, read func(d *jx.Decoder, name []byte) error) error {
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

// Array is Object for the elements of a list.
func Array(d *jx.Decoder, read func(d *jx.Decoder) error) error {
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
