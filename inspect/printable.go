package inspect

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable makes a text safe to show in a terminal, from any author: unprintable characters
// are escaped, as \x1b for the escape character that begins a terminal's commands, \x0a for a new
// line, \u202e for a change of the direction of writing. Labels, annotations and names in requests
// may contain any of these.
func Printable(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) })
	if at < 0 {
		return text
	}
	var out strings.Builder
	out.WriteString(text[:at])
	for rest := text[at:]; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, rest[0])
		case strconv.IsPrint(r):
			out.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
		rest = rest[size:]
	}
	return out.String()
}

// printableJSON escapes what is not printable in the strings of a JSON text, which are the only place
// for it. encoding/json has escaped what is below a blank.
func printableJSON(text []byte) []byte {
	at := bytes.IndexFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) })
	if at < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)), text[:at]...)
	for _, r := range string(text[at:]) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

// printable formats a value as fmt does, and makes the text printable.
type printable struct{ value any }

// Format implements [fmt.Formatter].
func (p printable) Format(state fmt.State, verb rune) {
	_, _ = fmt.Fprint(state, Printable(fmt.Sprintf(fmt.FormatString(state, verb), p.value)))
}

// printables are values of a format, each made printable. The format itself is the program's own.
func printables(values []any) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = printable{value}
	}
	return all
}
