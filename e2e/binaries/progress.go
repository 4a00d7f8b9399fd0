package binaries

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reportEvery is how often a running build tells how far it is.
const reportEvery = 10 * time.Second

// estimateAfter is the part of the sources that is compiled before an estimate is told of what remains.
const estimateAfter = 0.02

// compiling tells how far a build is that goes through packages of known size.
type compiling struct {
	title string
	out   io.Writer
	stale map[string]int64 // bytes of the packages that are compiled; nil when nobody has looked
	last  map[string]bool  // the ones that are compiled last, as nothing else needs them

	mu    sync.Mutex
	began time.Time
	count int
	bytes int64
}

// newCompiling is one that knows what a build goes through.
func newCompiling(b build, stale map[string]int64, out io.Writer) *compiling {
	c := &compiling{title: b.title, out: out, stale: stale, last: map[string]bool{}}
	for _, pkg := range b.packages {
		if _, compiled := stale[pkg]; compiled {
			c.last[pkg] = true
		}
	}
	return c
}

// begin has it tell until end is called.
func (c *compiling) begin() (end func()) {
	c.began = time.Now()
	if len(c.stale) > 0 {
		fmt.Fprintf(c.out, "  compiling %d packages\n", len(c.stale))
	}
	return every(reportEvery, func() { fmt.Fprintln(c.out, c.how(time.Since(c.began))) })
}

// line is told what `go build -v` prints: the path of a package that it compiles now.
func (c *compiling) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale == nil {
		c.count++
		return
	}
	delete(c.last, text)
	if size, compiled := c.stale[text]; compiled {
		c.count++
		c.bytes += size
	}
}

// how says how far it is, some time after it began.
func (c *compiling) how(since time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.stale) == 0 {
		return fmt.Sprintf("  building %s: %s, %d packages compiled", c.title, since.Round(time.Second), c.count)
	}
	var all int64
	for _, size := range c.stale {
		all += size
	}
	said := fmt.Sprintf("  %s: %d of %d packages compiled", since.Round(time.Second), c.count, len(c.stale))
	switch part := float64(c.bytes) / float64(max(all, 1)); {
	case len(c.last) == 0:
		return said + ", linking"
	case part > estimateAfter:
		left := time.Duration(float64(since) * (1 - part) / part)
		return fmt.Sprintf("%s, about %s left", said, roughly(left))
	}
	return said
}

// roughly is a duration as somebody tells it who waits.
func roughly(d time.Duration) string {
	if minutes := int(d.Round(time.Minute).Minutes()); minutes > 1 {
		return fmt.Sprintf("%d minutes", minutes)
	}
	if d > 45*time.Second {
		return "a minute"
	}
	return fmt.Sprintf("%d seconds", max(10, int(d.Round(10*time.Second).Seconds())))
}

// fetching tells how many modules are fetched. It is silent when there is nothing to fetch.
type fetching struct {
	out io.Writer

	mu    sync.Mutex
	began time.Time
	count int
}

func (f *fetching) begin() (end func()) {
	f.began = time.Now()
	stop := every(reportEvery, func() { f.tell("so far") })
	return func() {
		stop()
		f.tell("in " + time.Since(f.began).Round(time.Second).String())
	}
}

// line is told what the go command prints while it fetches.
func (f *fetching) line(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var module, version string
	if n, _ := fmt.Sscanf(text, "go: downloading %s %s", &module, &version); n == 2 {
		f.count++
	}
}

func (f *fetching) tell(when string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count > 0 {
		fmt.Fprintf(f.out, "  fetched %d modules %s\n", f.count, when)
	}
}

// every calls again and again until the returned function is called.
func every(interval time.Duration, call func()) (stop func()) {
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				call()
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}
