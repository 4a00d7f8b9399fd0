package soak

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"muster.dev/muster/e2e/muster"
)

// Lines in which muster tells what it keeps.
var (
	heapLine       = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)
)

// read has muster collect its garbage, and returns what it keeps. Only at is left out.
func read(ctx context.Context, server *muster.Server) (r reading, err error) {
	for _, figure := range []struct {
		path string
		line *regexp.Regexp
		into *int64
	}{
		{"/debug/pprof/heap?gc=1&debug=1", heapLine, &r.heap}, // what finalizers hold is kept until the next collection
		{"/debug/pprof/heap?gc=1&debug=1", heapLine, &r.heap},
		{"/metrics", goroutinesLine, &r.goroutines},
	} {
		page, err := server.Page(ctx, figure.path)
		if err != nil {
			return reading{}, err
		}
		found := figure.line.FindStringSubmatch(page)
		if found == nil {
			return reading{}, fmt.Errorf("%s has no line like %s", figure.path, figure.line)
		}
		if *figure.into, err = strconv.ParseInt(found[1], 10, 64); err != nil {
			return reading{}, fmt.Errorf("%s: %w", figure.path, err)
		}
	}
	return r, nil
}
