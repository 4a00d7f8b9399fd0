package logging

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// longestValue bounds the bytes written of a value or a message: a stack is longer than anything
// else.
const longestValue = 8 << 10

// bound cuts values that are long: names, errors and bodies are as long as others make them.
func bound(_ []string, a slog.Attr) slog.Attr {
	if text, ok := textOf(a.Value); ok {
		a.Value = slog.StringValue(cut(text))
	}
	return a
}

// textOf is the text that a value has, if it is one that is written as its text.
func textOf(v slog.Value) (text string, ok bool) {
	defer func() {
		if recover() != nil { // as of a nil pointer, which handlers know how to write
			text, ok = "", false
		}
	}()
	switch v.Kind() {
	case slog.KindString:
		return v.String(), true
	case slog.KindAny:
		switch value := v.Any().(type) {
		case error:
			return value.Error(), true
		case []byte:
			return string(value), true
		case fmt.Stringer:
			return value.String(), true
		}
	default:
	}
	return "", false
}

// cut shortens a text, and says how long it is.
func cut(text string) string {
	if len(text) <= longestValue {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:whole(text, longestValue)], len(text))
}

// whole returns the number of bytes of the whole characters within the first limit bytes of a longer
// text.
func whole[T string | []byte](text T, most int) int {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
