// Package fields reads the fields of custom resources whose CRD may not be ours, so that nobody may have
// checked them, and collects what is wrong. Errors are told to people, in logs, events and conditions, each time
// that somebody writes such an object: neither a long value nor many of them make a long error, and a
// terminal obeys nothing in it.
package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/quantity"
)

const (
	// shown is how much of a value stands in an error, in bytes.
	shown = 64
	// most is how many errors are kept.
	most = 20
)

// Decoder collects errors. The zero value has none. It is used by one goroutine.
type Decoder struct{ errs field.ErrorList }

// Err is an Aggregate that names each field and its value, nil when nothing is wrong.
func (d *Decoder) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	return d.errs.ToAggregate()
}

// Add notes an error.
func (d *Decoder) Add(err *field.Error) {
	if len(d.errs) < most {
		d.errs = append(d.errs, err)
	}
}

// Wrong notes that a value is not what is wanted.
func (d *Decoder) Wrong(path *field.Path, value any, want string) {
	if text, is := value.(string); is {
		value = Brief(text)
	} else if len(fmt.Sprint(value)) > shown {
		value = field.OmitValueType{}
	}
	d.Add(field.Invalid(path, value, want))
}

// Brief is a text as it stands in an error.
func Brief(text string) string {
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Decode decodes a value into what into points to. It returns false when the value is missing, or is
// not what is wanted.
func (d *Decoder) Decode(path *field.Path, value, into any, want string) bool {
	if value == nil {
		return false
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		d.Wrong(path, value, want)
	}
	return err == nil
}

// Mapping is the fields of an object, which may be missing.
func (d *Decoder) Mapping(path *field.Path, value any) map[string]any {
	fields, is := value.(map[string]any)
	if !is && value != nil {
		d.Wrong(path, value, "must be a mapping")
	}
	return fields
}

// List is the elements of a list, which may be missing.
func (d *Decoder) List(path *field.Path, value any) []any {
	elements, is := value.([]any)
	if !is && value != nil {
		d.Wrong(path, value, "must be a list")
	}
	return elements
}

// Text is a text, which may be missing.
func (d *Decoder) Text(path *field.Path, value any) string {
	text, is := value.(string)
	if !is && value != nil {
		d.Wrong(path, value, "must be text")
	}
	return text
}

// Quantity is an amount of at least 0, which is a text or a number. It is parsed without a detour over
// JSON, as most of a NodeMetric is amounts.
func (d *Decoder) Quantity(path *field.Path, value any) resource.Quantity {
	parsed, ok := d.quantity(path, value, mustBeQuantity)
	if ok && parsed.Sign() < 0 {
		d.Wrong(path, value, mustBeQuantity)
	}
	return parsed
}

// Signed is Quantity of what may be below zero.
func (d *Decoder) Signed(path *field.Path, value any) resource.Quantity {
	parsed, _ := d.quantity(path, value, mustBeNumber)
	return parsed
}

const (
	mustBeQuantity = "must be a quantity of at least 0, such as 500m or 2Gi"
	mustBeNumber   = "must be a quantity, such as 500m or 2Gi"
)

func (d *Decoder) quantity(path *field.Path, value any, must string) (parsed resource.Quantity, ok bool) {
	parsed, err := quantity.Value(value)
	switch {
	case errors.Is(err, quantity.ErrBeyond):
		d.Wrong(path, value, err.Error())
	case err != nil:
		d.Wrong(path, value, must)
	}
	return parsed, err == nil
}
