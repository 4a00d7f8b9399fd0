package process

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestMemoryOfThisProcess(t *testing.T) {
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	got, err := MemoryOf(os.Getpid())
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this system has no /proc/PID/status to read the memory of a process from")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Peak < got.Resident || got.Resident < int64(len(held)) {
		t.Errorf("resident %d, at most %d: want at least the %d bytes that it holds", got.Resident, got.Peak, len(held))
	}
	held[0]++
}

func TestMemoryThatCannotBeRead(t *testing.T) {
	for name, status := range map[string]string{"no such line": "VmPeak: 4 kB\n", "no number": "VmRSS:\tmuch kB\n"} {
		if _, err := memoryIn(status, "VmRSS"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
