package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/e2e/process"
)

// The test binary plays the children itself: the value says which.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "sleeper":
		fmt.Println("asleep")
		time.Sleep(time.Hour)
	case "deaf":
		signal.Ignore(os.Interrupt)
		fmt.Println("asleep")
		time.Sleep(time.Hour)
	case "failing":
		fmt.Println("the reason is a missing frobnicator")
		os.Exit(3)
	case "parent":
		child, err := process.Start(spec(os.Getenv("PROCESS_TEST_DIR"), "sleeper"))
		if err != nil {
			panic(err)
		}
		fmt.Println(child.Pid())
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func spec(dir, who string) process.Spec {
	return process.Spec{Name: who, Path: os.Args[0], Env: []string{role + "=" + who}, Log: filepath.Join(dir, who+".log")}
}

func start(t *testing.T, who string) *process.Process {
	t.Helper()
	s := spec(t.TempDir(), who)
	p, err := process.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func asleep(dir, who string) func(context.Context) error {
	return func(context.Context) error {
		if !strings.Contains(process.Tail(filepath.Join(dir, who+".log")), "asleep") {
			return errors.New("still awake")
		}
		return nil
	}
}

func TestAProcessThatEndsByItselfTellsItsLog(t *testing.T) {
	p := start(t, "failing")
	<-p.Done()
	err := p.Err()
	if err == nil || !strings.Contains(err.Error(), "missing frobnicator") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v, want the exit status and the end of the log", err)
	}
}

func TestAwaitEndsWhenTheProcessDoes(t *testing.T) {
	p := start(t, "failing")
	err := p.Await(t.Context(), func(context.Context) error { return errors.New("connection refused") })
	if err == nil || !strings.Contains(err.Error(), "missing frobnicator") {
		t.Errorf("error %v, want the end of the log", err)
	}
}

func TestAwaitEndsWhenItsContextDoes(t *testing.T) {
	p := start(t, "sleeper")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))
	err := p.Await(ctx, func(context.Context) error { return errors.New("connection refused") })
	for _, want := range []string{"no patience", "connection refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to contain %q", err, want)
		}
	}
}

func TestStopEndsAProcessAndIsNotAnError(t *testing.T) {
	for name, grace := range map[string]time.Duration{"sleeper": time.Minute, "deaf": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			s := spec(t.TempDir(), name)
			p, err := process.Start(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Await(t.Context(), asleep(filepath.Dir(s.Log), name)); err != nil {
				t.Fatal(err)
			}
			p.Stop(grace)
			select {
			case <-p.Done():
			default:
				t.Error("still running after Stop")
			}
			if err := p.Err(); err != nil {
				t.Errorf("error %v, want none", err)
			}
			p.Stop(grace)
		})
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	_, err := process.Start(process.Spec{Name: "ghost", Path: filepath.Join(t.TempDir(), "ghost"), Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("error %v, want it to name the process", err)
	}
}

func TestAChildDoesNotOutliveAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child to its parent")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), role+"=parent", "PROCESS_TEST_DIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	deadline := time.After(time.Minute) // the kernel ends it at once, on a machine that is not busy
	for alive(child) {
		select {
		case <-deadline:
			t.Fatalf("process %d outlived its parent", child)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// alive is false for a zombie too: in a container nobody may reap it.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
