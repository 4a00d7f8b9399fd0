package logging

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// longestValue is what is written of a value or a message, in bytes: a stack is longer than whatever
// else there is.
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

// whole is how many bytes the whole characters have that are among the first so many bytes of a text that
// is longer.
func whole[T string | []byte](text T, most int) int {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
