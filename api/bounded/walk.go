package bounded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-faster/jx"

	"muster.dev/muster/api/quantity"
)

const (
	// MaxElements is how many elements a list, and how many entries a map may have: lists are long
	// where a pod names nodes, or ports one by one.
	MaxElements = 20_000
	// MaxName is how long the name of a field or an entry may be, in bytes. Names of the API have
	// at most 253 and 63 bytes with a slash between.
	MaxName = 317
	// maxNumber is how long a number may be, and maxWord a text that stands for something else, as
	// a time, in bytes.
	maxNumber = 64
	maxWord   = 1024
)

// walker adds up what decoding a text allocates, all of it, though some is garbage at once.
type walker struct {
	bytes, most int64
}

// begin walks over a text. What is behind its first value is the decoder's business.
func (w *walker) begin(text []byte, of *shape) error {
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	length, err := Length(text[start:])
	if err != nil {
		return err
	}
	if err := w.spend(of.size); err != nil {
		return err
	}
	return w.value(jx.DecodeBytes(text[start:start+length]), of)
}

var errTooMany = fmt.Errorf("there are more than %d of them", MaxElements)

func (w *walker) spend(bytes int64) error {
	if w.bytes += bytes; w.bytes > w.most {
		return fmt.Errorf("to decode it up to here takes more than %d bytes, which is too much for its length", w.most)
	}
	return nil
}

// value walks over a value whose own size is accounted for.
func (w *walker) value(d *jx.Decoder, of *shape) error {
	next := d.Next()
	if of == nil || next == jx.Null {
		return d.Skip()
	}
	switch of.kind {
	case pointer:
		if err := w.spend(of.elem.size); err != nil {
			return err
		}
		return w.value(d, of.elem)
	case anything:
		return w.any(d, next)
	case quantities:
		return w.quantity(d)
	case self:
		return w.self(d, next, of)
	case number, truth, text, structure, mapping, list: // of one JSON type each
	}
	// A decoder makes an error of each value that is of another kind, and says the first one.
	if kind := kinds[of.kind]; next != kind.json {
		return fmt.Errorf("must be %s, and is %s", kind.name, next)
	}
	switch of.kind {
	case structure:
		return w.object(d, of)
	case mapping:
		return w.entries(d, of)
	case list:
		return w.elements(d, of)
	case number:
		return w.number(d, of)
	case truth, text, quantities, self, anything, pointer:
	}
	return w.raw(d)
}

// kinds names the JSON type of each kind, and how errors call it.
var kinds = map[kind]struct { //nolint:gochecknoglobals // a constant table
	json jx.Type
	name string
}{
	number:    {jx.Number, "a number"},
	truth:     {jx.Bool, "true or false"},
	text:      {jx.String, "a string"},
	structure: {jx.Object, "a mapping"},
	mapping:   {jx.Object, "a mapping"},
	list:      {jx.Array, "a list"},
}

// raw walks over what becomes a text, or is kept as one. To resolve escapes takes it once more.
func (w *walker) raw(d *jx.Decoder) error {
	raw, err := d.Raw()
	if err != nil {
		return err
	}
	return w.spend(2*int64(len(raw)) + 16)
}

func (w *walker) number(d *jx.Decoder, of *shape) error {
	raw, err := d.Raw()
	switch {
	case err != nil:
		return err
	case len(raw) > maxNumber:
		return fmt.Errorf("the number has %d bytes; it may have %d", len(raw), maxNumber)
	case of.signed:
		_, err = strconv.ParseInt(string(raw), 10, of.bits)
	case of.bits > 0:
		_, err = strconv.ParseUint(string(raw), 10, of.bits)
	}
	if err != nil {
		return fmt.Errorf("must be an integer of %d bits, and is %s", of.bits, raw)
	}
	return nil
}

// self walks over what decodes itself: mostly a word that stands for something, as a time. Such a
// word is tried out.
func (w *walker) self(d *jx.Decoder, next jx.Type, of *shape) error {
	raw, err := d.Raw()
	switch {
	case err != nil:
		return err
	case next == jx.String && len(raw) > maxWord:
		return fmt.Errorf("the text has %d bytes; it may have %d here", len(raw), maxWord)
	case next == jx.String:
		if value, decodes := reflect.TypeAssert[json.Unmarshaler](reflect.New(of.self)); decodes {
			err = value.UnmarshalJSON(raw)
		}
	}
	if err != nil {
		return err
	}
	spent := 2*int64(len(raw)) + 64
	if next == jx.String {
		spent += 192 // an error, if it stands for nothing after all
	}
	return w.spend(spent)
}

// quantity walks over a quantity, which is decoded as it stands there, without its quotes.
func (w *walker) quantity(d *jx.Decoder) error {
	raw, err := d.Raw()
	if err != nil {
		return err
	}
	if _, err := quantity.Parse(string(bytes.TrimSpace(bytes.Trim(raw, `"`)))); err != nil {
		return err
	}
	spent := 2*int64(len(raw)) + 16
	if len(raw) > 18 { // it may be a number of any length, which sums and comparisons are made with
		spent += 2 << 10
	}
	return w.spend(spent)
}

func (w *walker) object(d *jx.Decoder, of *shape) error {
	return fields(d, inField, func(name []byte) error {
		return w.value(d, of.fields[string(name)])
	})
}

func (w *walker) entries(d *jx.Decoder, of *shape) error {
	const header, group = 48, 8 // of a map: bytes, and the entries that it has room for at first
	slot := of.key + of.elem.size + 1
	count, room := 0, group
	if err := w.spend(header + group*slot); err != nil {
		return err
	}
	return fields(d, inEntry, func(name []byte) error {
		if count++; count > MaxElements {
			return errTooMany
		}
		spent := 2*int64(len(name)) + 16
		if full := room * 7 / 8; count > group && count > full { // it grows by doubling
			room *= 2
			spent += 4*header + int64(room)*slot
		}
		if err := w.spend(spent); err != nil {
			return err
		}
		return w.value(d, of.elem)
	})
}

func (w *walker) elements(d *jx.Decoder, of *shape) error {
	count, room := 0, 0
	elements, err := d.ArrIter()
	if err != nil {
		return err
	}
	for elements.Next() {
		if count == MaxElements {
			return inElement(count, errTooMany)
		}
		if count == room { // as append does it
			const threshold = 256
			if room += max(1, room); count >= threshold {
				room = count + (count+3*threshold)/4
			}
			if err := w.spend(int64(room) * of.elem.size); err != nil {
				return inElement(count, err)
			}
		}
		if err := w.value(d, of.elem); err != nil {
			return inElement(count, err)
		}
		count++
	}
	return elements.Err()
}

// any walks over a value without a known type: its objects become maps, its lists slices of
// interfaces.
func (w *walker) any(d *jx.Decoder, next jx.Type) error {
	boxed := &shape{kind: anything, size: 16}
	switch next {
	case jx.Object:
		return w.entries(d, &shape{kind: mapping, key: 16, elem: boxed})
	case jx.Array:
		if err := w.spend(24); err != nil {
			return err
		}
		return w.elements(d, &shape{kind: list, elem: boxed})
	default:
		return w.raw(d)
	}
}

// fields is Object with errors put where they are.
func fields(d *jx.Decoder, in func(name []byte, err error) error, read func(name []byte) error) error {
	return Object(d, func(_ *jx.Decoder, name []byte) error {
		if len(name) > MaxName {
			return in(name, fmt.Errorf("the name has %d bytes; it may have %d", len(name), MaxName))
		}
		if err := read(name); err != nil {
			return in(name, err)
		}
		return nil
	})
}
