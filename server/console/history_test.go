package console

import (
	"strings"
	"testing"
)

func TestHistoryIsEmptyBeforeTheFirstMinuteIsOver(t *testing.T) {
	b := newBench(t, benchOptions{})
	if _, page := b.Get("/debug/history?format=json"); strings.TrimSpace(page) != `{"minutes":[]}` {
		t.Errorf("it answered %s", page)
	}
}
