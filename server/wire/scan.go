package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-faster/jx"

	"muster.dev/muster/api/bounded"
)

// This file reads the two things in a request that are read by position, so that
// guesses can be compared in place: the object itself and its list of names. Their
// values are jx's business.

// fields reads an object and hands each key to read together with the text from its
// value on. read returns the text behind the value, and so does fields.
func fields(d *jx.Decoder, text []byte, read func(key string, rest []byte) ([]byte, error)) ([]byte, error) {
	return list(text, '{', '}', func(rest []byte) ([]byte, error) {
		key, rest, err := name(d, rest)
		if err == nil && len(key) > bounded.MaxName {
			err = fmt.Errorf("%.64q…: the name has %d bytes; it may have %d", key, len(key), bounded.MaxName)
		}
		if err != nil {
			return rest, err
		}
		if rest, err = expect(rest, ':'); err != nil {
			return rest, err
		}
		return read(string(key), rest)
	})
}

// readNames reads a list of strings.
func readNames(d *jx.Decoder, text []byte, names Names) ([]byte, error) {
	return list(text, '[', ']', func(rest []byte) ([]byte, error) {
		if length := names.Known(rest); length > 0 {
			return rest[length:], nil
		}
		value, rest, err := name(d, rest)
		if err == nil {
			_, err = names.Name(value)
		}
		return rest, err
	})
}

// list reads what stands between an opening and a closing byte, separated by
// commas. The texts that it hands on and returns do not begin with white space.
func list(text []byte, opening, closing byte, element func(rest []byte) ([]byte, error)) ([]byte, error) {
	rest, err := expect(space(text), opening)
	if err != nil {
		return rest, err
	}
	if len(rest) > 0 && rest[0] == closing {
		return space(rest[1:]), nil
	}
	for {
		if rest, err = element(rest); err != nil {
			return rest, err
		}
		rest = space(rest)
		switch {
		case len(rest) == 0:
			return rest, io.ErrUnexpectedEOF
		case rest[0] == closing:
			return space(rest[1:]), nil
		}
		if rest, err = expect(rest, ','); err != nil {
			return rest, err
		}
	}
}

// name reads a string.
func name(d *jx.Decoder, text []byte) (value, rest []byte, err error) {
	raw, rest, err := next(d, text)
	if err != nil {
		return nil, rest, err
	}
	if raw.Type() != jx.String {
		return nil, rest, fmt.Errorf("unexpected %s instead of a string", raw.Type())
	}
	if value = raw[1 : len(raw)-1]; bytes.IndexByte(value, '\\') < 0 {
		return value, rest, nil
	}
	value, err = jx.DecodeBytes(raw).StrBytes()
	return value, rest, err
}

// next reads one value of any kind.
func next(d *jx.Decoder, text []byte) (value jx.Raw, rest []byte, err error) {
	value, rest, err = extent(text)
	if err != nil {
		return nil, text, err
	}
	d.ResetBytes(value)
	if err := d.Validate(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, text, err
	}
	return value, rest, nil
}

// extent finds where the value ends that a text begins with. It is nested within bounds, and has
// yet to be read.
func extent(text []byte) (value jx.Raw, rest []byte, err error) {
	length, err := bounded.Length(text)
	if err == nil && length == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, text, err
	}
	return jx.Raw(text[:length]), space(text[length:]), nil
}

func expect(text []byte, b byte) ([]byte, error) {
	if len(text) == 0 {
		return text, io.ErrUnexpectedEOF
	}
	if text[0] != b {
		return text, fmt.Errorf("unexpected byte %q instead of %q", text[0], b)
	}
	return space(text[1:]), nil
}

// space skips white space. There is none in what the scheduler writes.
func space(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}
