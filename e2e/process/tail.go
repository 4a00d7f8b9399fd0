package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

const (
	tailLines = 20
	tailBytes = 16 << 10
)

// Tail returns the last lines of a log for an error message. A log that cannot be
// read is told in the text: the caller is reporting something worse.
func Tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
