package testtimes

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Times are how long packages and tests took, in seconds.
type Times struct {
	packages map[string]float64
	tests    []test
}

type test struct {
	pkg, name string
	seconds   float64
}

// Read reads the files of a run: go test -json, as gotestsum --jsonfile writes it. What is no event is passed over,
// since programs that tests start may write as they like. A package that was run twice took both times.
func Read(files ...io.Reader) (*Times, error) {
	times := &Times{packages: map[string]float64{}}
	for _, file := range files {
		lines := bufio.NewReader(file)
		for {
			line, err := lines.ReadBytes('\n')
			times.add(line)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read the events of a run: %w", err)
			}
		}
	}
	return times, nil
}

func (t *Times) add(line []byte) {
	var event struct {
		Action, Package, Test string
		Elapsed               float64
	}
	if json.Unmarshal(line, &event) != nil || event.Package == "" {
		return
	}
	if event.Action != "pass" && event.Action != "fail" && event.Action != "skip" {
		return
	}
	if event.Test == "" {
		t.packages[event.Package] += event.Elapsed
		return
	}
	if !strings.Contains(event.Test, "/") { // what a test took has the time of its subtests
		t.tests = append(t.tests, test{event.Package, event.Test, event.Elapsed})
	}
}

// Total is the sum over the packages, which may run beside each other.
func (t *Times) Total() float64 {
	sum := 0.0
	for _, seconds := range t.packages {
		sum += seconds
	}
	return sum
}

// Print prints the slowest packages and tests, most of each, and the total.
func (t *Times) Print(w io.Writer, most int) {
	fmt.Fprintln(w, "slowest packages, in seconds")
	bySeconds := func(a, b string) int { return cmp.Or(cmp.Compare(t.packages[b], t.packages[a]), cmp.Compare(a, b)) }
	slowest := slices.SortedFunc(maps.Keys(t.packages), bySeconds)
	for _, pkg := range slowest[:min(most, len(slowest))] {
		fmt.Fprintf(w, "%8.1f  %s\n", t.packages[pkg], pkg)
	}
	fmt.Fprintln(w, "slowest tests, in seconds")
	tests := slices.SortedFunc(slices.Values(t.tests), func(a, b test) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	for _, one := range tests[:min(most, len(tests))] {
		fmt.Fprintf(w, "%8.1f  %s  %s\n", one.seconds, one.pkg, one.name)
	}
	fmt.Fprintf(w, "%8.1f  in all, over %d packages\n", t.Total(), len(t.packages))
}
