package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/quantity"
)

// longestField is how many bytes a field of a table may have.
const longestField = 4096

// table reads the lines of a table by the names of its columns.
type table struct {
	name   string
	read   reader
	header []string
	at     map[string]int // the columns, by their names
	line   int
	fields []string
}

// reader returns the fields of the next line, and which one it is; [io.EOF] says that there is none.
type reader func() (fields []string, line int, err error)

// newTable reads the header. Each name is made what key says.
func newTable(name string, read reader, key func(string) string) (*table, error) {
	t := &table{name: name, read: read, at: map[string]int{}}
	if err := t.next(); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it is empty: want a line with the names of the columns first", name)
	} else if err != nil {
		return nil, err
	}
	for i, field := range t.fields {
		column := key(strings.TrimSpace(strings.TrimPrefix(field, "\ufeff")))
		if _, twice := t.at[column]; twice {
			return nil, t.errorf("column %q is there twice", column)
		}
		t.header, t.at[column] = append(t.header, column), i
	}
	return t, nil
}

// byCommas reads lines with commas between their fields, which may be quoted.
func byCommas(text []byte) reader {
	lines := csv.NewReader(bytes.NewReader(text))
	lines.FieldsPerRecord, lines.ReuseRecord, lines.TrimLeadingSpace, lines.Comment = -1, true, true, '#'
	return func() (fields []string, line int, err error) {
		fields, err = lines.Read()
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, bad.Line, bad.Err
		} else if err != nil {
			return nil, 0, err
		}
		line, _ = lines.FieldPos(0)
		return fields, line, nil
	}
}

// byBars reads lines with bars between their fields. Users name jobs as they like: a quote is a letter like any other, and so is a bar
// where the last column has the names of jobs.
func byBars(text []byte) reader {
	line, most := 0, -1
	return func() ([]string, int, error) {
		for len(text) > 0 {
			var this []byte
			this, text, _ = bytes.Cut(text, []byte("\n"))
			line++
			if this = bytes.TrimSpace(this); len(this) == 0 {
				continue
			}
			fields := strings.SplitN(string(this), "|", most)
			if last := len(fields) - 1; most < 0 && strings.EqualFold(fields[last], "jobname") {
				most = len(fields)
			}
			return fields, line, nil
		}
		return nil, line, io.EOF
	}
}

// next reads the next line; [io.EOF] says that there is none.
func (t *table) next() (err error) {
	if t.fields, t.line, err = t.read(); errors.Is(err, io.EOF) {
		return err
	} else if err != nil {
		return t.errorf("%w", err)
	}
	for i, field := range t.fields {
		switch {
		case len(field) > longestField:
			return t.errorf("field %d has %d bytes; one has %d at most", i+1, len(field), longestField)
		case t.header != nil && len(t.fields) != len(t.header):
			return t.errorf("there are %d fields, and %d columns in the first line", len(t.fields), len(t.header))
		}
	}
	return nil
}

func (t *table) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", t.name, t.line, fmt.Errorf(format, args...))
}

// bad says what is wrong with the value of a column.
func (t *table) bad(column string, err error) error { return t.errorf("column %s: %w", column, err) }

// text returns the value of a column, "" where there is none.
func (t *table) text(column string) string {
	if at, there := t.at[column]; there {
		return strings.TrimSpace(t.fields[at])
	}
	return ""
}

// parse reads the value of a column, unless it is empty.
func parse[T any](t *table, column string, otherwise T, read func(string) (T, error)) (T, error) {
	text := t.text(column)
	if text == "" {
		return otherwise, nil
	}
	value, err := read(text)
	if err != nil {
		return otherwise, t.bad(column, fmt.Errorf("%q %w", text, err))
	}
	return value, nil
}

// duration reads seconds, or a duration such as 2h30m.
func duration(text string) (time.Duration, error) {
	long, err := time.ParseDuration(text)
	if number, bad := strconv.ParseFloat(text, 64); bad == nil {
		if math.IsNaN(number) || math.Abs(number) > LongestRun.Seconds() {
			return 0, fmt.Errorf("is more than %.0f s", LongestRun.Seconds())
		}
		long, err = time.Duration(number*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return 0, errors.New("is neither seconds nor a duration, such as 90 or 2h30m")
	case long < 0:
		return 0, errors.New("is less than 0")
	case long > LongestRun:
		return 0, fmt.Errorf("is more than %s", LongestRun)
	}
	return long.Round(time.Millisecond), nil
}

// runtime is a duration of more than nothing.
func runtime(text string) (time.Duration, error) {
	long, err := duration(text)
	if err == nil && long == 0 {
		err = errors.New("is no time: a job runs for a millisecond at least")
	}
	return long, err
}

// whole reads a number from least to most.
func whole(least, most int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number < least || number > most {
			return 0, fmt.Errorf("is no whole number from %d to %d", least, most)
		}
		return number, nil
	}
}

func yesOrNo(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, errors.New("is neither true nor false")
}

// mostAmount is the most of a resource that is asked for, or there is on a node.
const mostAmount = 1e15

// quantityOf reads an amount of a resource as in the requests of a container. [quantity.Parse] bounds what reading it takes.
func quantityOf(text string) (q resource.Quantity, err error) {
	if q, err = quantity.Parse(text); err != nil {
		return q, errors.New("is no quantity, such as 2, 500m or 16Gi")
	}
	if f := q.AsApproximateFloat64(); f < 0 || f > mostAmount {
		return q, fmt.Errorf("is not from 0 to %.0g", mostAmount)
	}
	return q, nil
}

// gpu is the resource of the column gpu.
const gpu corev1.ResourceName = "nvidia.com/gpu"
