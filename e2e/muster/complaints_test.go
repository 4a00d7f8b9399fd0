package muster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplaintsAreAboutAnswersAndNotAboutOutages(t *testing.T) {
	const (
		before   = `E1 "Error" err="failed filter with extender at URL http://127.0.0.1:1/filter, code 500"` + "\n"
		down     = `E1 "Error" err="Post \"http://127.0.0.1:1/filter\": dial tcp 127.0.0.1:1: connect: connection refused"`
		notReady = `E1 "Error" err="failed filter with extender at URL http://127.0.0.1:1/filter, code 503"`
		refused  = `E1 "Error" err="failed filter with extender at URL http://127.0.0.1:1/filter, code 422"`
		victim   = `E1 "Status" status="preemption: extender: http://127.0.0.1:1 claims to preempt pod (UID: &{a}) on node: b, but the pod is ` +
			`not found on that node"`
	)
	log := filepath.Join(t.TempDir(), "log")
	if LogSize(log) != 0 {
		t.Error("a log that is not there has a size")
	}
	if err := os.WriteFile(log, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	from := LogSize(log)
	if err := os.WriteFile(log, []byte(before+down+"\n"+victim+"\n"+notReady+"\n"+refused+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Complaints(log, from)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{victim, refused}, got); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
	if _, err := Complaints(log+".other", 0); err == nil {
		t.Error("no error for a log that is not there")
	}
}

func TestPanicsAreFound(t *testing.T) {
	const handled = "http: panic serving 127.0.0.1:1: boom"
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("all is well\n"+handled+"\nmechanics\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Panics(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{handled}, got); diff != "" {
		t.Errorf("panics (-want +got):\n%s", diff)
	}
}
