package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// watch asks for a status again and again, until its context ends.
type watch struct {
	printer

	every time.Duration
	out   io.Writer
	ask   func(context.Context) *remote.Status
}

func (w *watch) run(ctx context.Context) error {
	ticks := time.NewTicker(w.every)
	defer ticks.Stop()
	show := w.showChange()
	if file, ok := w.out.(*os.File); ok && isTerminal(file) {
		show = w.draw(func() int {
			_, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return height
		})
	}
	for {
		told := w.ask(ctx)
		if ctx.Err() != nil {
			return nil // what was answered is of no use: it was interrupted
		}
		if err := show(told); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// showChange returns what prints a status if it tells something new.
func (w *watch) showChange() func(*remote.Status) error {
	var before *remote.Status
	return func(told *remote.Status) error {
		if before != nil && before.TellsTheSame(told) {
			return nil
		}
		heading := ""
		switch {
		case w.format == inspect.YAML && before != nil:
			heading = "---\n"
		case w.format == inspect.Text || w.format == inspect.Wide:
			heading = time.Now().UTC().Format(time.RFC3339) + "\n"
			if before != nil {
				heading = "\n" + heading
			}
		}
		before = told
		if _, err := io.WriteString(w.out, heading); err != nil {
			return err
		}
		return w.print(w.out, told)
	}
}

// What a terminal understands.
const (
	cursorHome    = "\x1b[H"
	clearToEnd    = "\x1b[J"
	clearLineRest = "\x1b[K"
)

// draw returns what draws a status over the one before, as much of it as there are lines of the terminal; 0 is for any number.
func (w *watch) draw(height func() int) func(*remote.Status) error {
	first := true
	return func(told *remote.Status) error {
		var text bytes.Buffer
		fmt.Fprintf(&text, "%s, every %s; ^C ends\n\n", time.Now().UTC().Format(time.RFC3339), w.every)
		if err := w.print(&text, told); err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		if most := height() - 1; most > 0 && len(lines) > most {
			lines = append(lines[:most-1], fmt.Sprintf("… %d more lines", len(lines)-most+1))
		}
		var screen strings.Builder
		screen.WriteString(cursorHome)
		if first {
			screen.WriteString(clearToEnd)
			first = false
		}
		for _, line := range lines {
			screen.WriteString(line + clearLineRest + "\n")
		}
		screen.WriteString(clearToEnd)
		_, err := io.WriteString(w.out, screen.String())
		return err
	}
}
