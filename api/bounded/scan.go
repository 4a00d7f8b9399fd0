package bounded

import (
	"bytes"
	"fmt"
	"io"
)

// MaxDepth is how deeply objects and lists may be nested. A Pod with its managed fields is nested
// some twenty levels.
const MaxDepth = 100

var errTooDeep = fmt.Errorf("objects and lists are nested more than %d levels deep", MaxDepth)

// Length is the length of the value that a text begins with, of all of the text if it is cut off
// by the end. The value is nested no more deeply than MaxDepth, so that a decoder which goes down
// with it needs a bounded stack. Nothing else of it is checked but that its strings end.
func Length(text []byte) (int, error) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			end, err := stringEnd(text, at+1)
			if err != nil {
				return 0, err
			}
			at = end
		case '{', '[':
			if depth++; depth > MaxDepth {
				return 0, errTooDeep
			}
			continue
		case '}', ']':
			if depth == 0 {
				return at, nil // of what is around the value
			}
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at, nil
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1, nil
		}
	}
	return len(text), nil
}

// stringEnd returns the place of the quote that ends a string, given a place within the string.
func stringEnd(text []byte, at int) (int, error) {
	for {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return 0, io.ErrUnexpectedEOF
		}
		end, escapes := at+quote, 0
		for end-1-escapes >= at && text[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end, nil
		}
		at = end + 1
	}
}
