package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func newLog(t *testing.T, out io.Writer, format string) *Log {
	t.Helper()
	l, err := New(Options{Output: out, Level: slog.LevelInfo, Format: format})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLinesComeOutInOrderByTheTimeItIsClosed(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out bytes.Buffer
	l := newLog(t, &out, FormatText)
	for i := range 1000 {
		l.Logger.Info("line", "number", i)
	}
	l.Logger.Debug("too much")
	l.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1000 {
		t.Fatalf("%d lines were written, want 1000", len(lines))
	}
	for i, line := range lines {
		if !strings.HasSuffix(line, fmt.Sprintf("level=INFO msg=line number=%d", i)) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

func TestAnUnknownFormatIsNamed(t *testing.T) {
	if _, err := New(Options{Output: io.Discard, Format: "xml"}); err == nil ||
		err.Error() != `unknown format "xml", supported are text and json` {
		t.Errorf("error %v", err)
	}
}

// TestNobodyWaitsForAPipeThatIsNotRead logs more than there is room for, and reads then.
func TestNobodyWaitsForAPipeThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		l := newLog(t, writer, FormatJSON)
		value := strings.Repeat("x", longestValue)
		began, most := time.Now(), 2*mostQueued/longestValue
		for range most {
			l.Logger.Info("line", "value", value)
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("a logger had to wait for %s", took)
		}
		lost := testutil.ToFloat64(l)
		if lost == 0 || l.bytes > mostQueued {
			t.Errorf("%v lines were dropped, %d bytes are queued", lost, l.bytes)
		}
		read := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(reader)
			read <- all
		}()
		synctest.Wait()
		l.Logger.Info("there is room again")
		l.Close()
		writer.Close()
		written, told, after := 0, 0.0, false
		for line := range bytes.Lines(<-read) {
			var got struct {
				Msg   string
				Lines float64
			}
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			switch got.Msg {
			case "line":
				written++
			case "there is room again":
				after = true
			default:
				told += got.Lines
			}
		}
		if written+int(lost) != most || told != lost || !after {
			t.Errorf(
				"%d lines were written and %v dropped of %d, %v of them told; a line came afterwards: %t", written, lost, most, told, after,
			)
		}
	})
}

func TestClosingDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		l := newLog(t, writer, FormatText)
		l.Logger.Info("nobody reads it")
		began := time.Now()
		l.Close()
		if took := time.Since(began); took != closeTimeout {
			t.Errorf("closing took %s, want %s", took, closeTimeout)
		}
		reader.Close()
	})
}

// nobody is an error that cannot say what it is.
type nobody struct{ name string }

// Error implements error.
func (n *nobody) Error() string { return n.name }

func TestALineIsAsLongAsMusterWantsIt(t *testing.T) {
	long := strings.Repeat("ü", 4<<20)
	for name, value := range map[string]any{
		"a text": long, "an error": fmt.Errorf("bind %w", errors.New(long)), "bytes": []byte(long), "a stringer": slog.StringValue(long),
		"something else": []string{long}, "a message": nil,
	} {
		for _, format := range []string{FormatText, FormatJSON} {
			t.Run(name+" as "+format, func(t *testing.T) {
				var out bytes.Buffer
				l := newLog(t, &out, format)
				record := slog.NewRecord(time.Now(), slog.LevelWarn, "bind failed", 0)
				if record.Add("pod", value); value == nil {
					record.Message = long
				}
				_ = l.Logger.Handler().Handle(t.Context(), record)
				l.Close()
				line := out.String()
				if len(line) > longestLine+10 || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || !utf8.ValidString(line) {
					t.Errorf("%d bytes were written, ending in %q", len(line), line[len(line)-20:])
				}
				if name != "something else" &&
					(len(line) > 2*longestValue || !strings.Contains(line, " bytes)") || format == FormatJSON && !json.Valid(out.Bytes())) {
					t.Errorf("the line has %d bytes: %.40s … %s", len(line), line, line[len(line)-40:])
				}
			})
		}
	}
}

func TestShortValuesAreWrittenAsTheyAre(t *testing.T) {
	for format, want := range map[string]string{
		FormatText: `msg=m text="a b" err=e nobody=<nil> list="[a b]" number=1` + "\n",
		FormatJSON: `"msg":"m","text":"a b","err":"e","nobody":"<nil>","list":["a","b"],"number":1}` + "\n",
	} {
		var out bytes.Buffer
		l := newLog(t, &out, format)
		l.Logger.Info("m", "text", "a b", "err", errors.New("e"), "nobody", (*nobody)(nil), "list", []string{"a", "b"}, "number", 1)
		l.Close()
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("as %s: %q, want that it ends in %q", format, out.String(), want)
		}
	}
}
