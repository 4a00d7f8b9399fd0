package binaries

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// own is a checkout with a program of its own, which says a word and ends when its input does.
type own struct {
	*testing.T
	dir string
}

func newOwn(t *testing.T) own {
	o := own{T: t, dir: t.TempDir()}
	o.write("go.mod", "module example.com/own\n\ngo 1.26\n")
	return o
}

func (o own) write(name, text string) {
	o.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
}

func (o own) say(word string) {
	o.Helper()
	o.write("main.go", fmt.Sprintf(`package main

import "os"

func main() {
	os.Stdout.WriteString(%q + "\n")
	os.Stdin.Read(make([]byte, 1))
}
`, word))
}

func (o own) build() string {
	o.Helper()
	path, err := buildStable(o.Context(), o.dir, build{module: o.dir, packages: []string{"."}, title: "own"}, o.Output())
	if err != nil {
		o.Fatal(err)
	}
	return path
}

// file tells what there is at a path.
func (o own) file(path string) os.FileInfo {
	o.Helper()
	about, err := os.Stat(path)
	if err != nil {
		o.Fatal(err)
	}
	return about
}

func TestAProgramOfOursIsLinkedAgainOnlyWhenItChanges(t *testing.T) {
	o := newOwn(t)
	o.say("one")
	path := o.build()
	first := o.file(path)
	if !os.SameFile(first, o.file(o.build())) {
		t.Error("it was linked again without any change")
	}
	o.say("two")
	if o.build() != path || os.SameFile(first, o.file(path)) {
		t.Error("a change was not linked, or to another path")
	}
}

func TestAProgramThatRunsMayBeBuiltAgain(t *testing.T) {
	o := newOwn(t)
	o.say("one")
	path := o.build()
	running := exec.CommandContext(t.Context(), path)
	input, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := running.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if word, err := bufio.NewReader(output).ReadString('\n'); err != nil || word != "one\n" {
		t.Fatalf("it says %q, error %v", word, err)
	}
	o.say("two")
	said, err := exec.CommandContext(t.Context(), o.build()).Output()
	if err != nil || string(said) != "two\n" {
		t.Errorf("the next one says %q, error %v", said, err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("the one that ran ended with %v", err)
	}
}

func TestSeveralMayBuildAtATime(t *testing.T) {
	o := newOwn(t)
	o.say("one")
	var builders sync.WaitGroup
	for range 4 {
		builders.Go(func() {
			path := o.build()
			said, err := exec.CommandContext(t.Context(), path).Output()
			if err != nil || string(said) != "one\n" {
				t.Errorf("it says %q, error %v", said, err)
			}
		})
	}
	builders.Wait()
	left, err := os.ReadDir(filepath.Join(o.dir, "build", "e2e"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range left {
		names = append(names, file.Name())
	}
	if got, want := strings.Join(names, " "), "lock "+Binary("own").file(); got != want {
		t.Errorf("the directory has %q, want %q", got, want)
	}
}
