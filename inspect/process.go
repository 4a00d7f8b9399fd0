package inspect

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Process tells of a process, in the way of the components of Kubernetes.
type Process struct {
	// Name and Version of the program.
	Name, Version string
	Clock         clock.PassiveClock
	Started       time.Time
	// Flags are the flags of the command line, by name, with their values. None of the values may be secret.
	Flags map[string]string
}

// Endpoints are /statusz, which says what runs since when and leads to the paths of links, and
// /flagz, with what command line.
func (p *Process) Endpoints(links ...string) []Endpoint {
	return []Endpoint{
		Page("/statusz", "what runs, since when, and where to look", func(*http.Request) (Answer, error) {
			return statusz{
				Name: p.Name, Version: p.Version, GoVersion: runtime.Version(), Started: p.Started.UTC(),
				UptimeSeconds: p.Clock.Since(p.Started).Truncate(time.Second).Seconds(), Paths: links,
			}, nil
		}),
		Page("/flagz", "the flags of the command line, and their values", func(*http.Request) (Answer, error) {
			return flagz{p.Name, p.Flags}, nil
		}),
	}
}

type statusz struct {
	Name          string    `json:"name"`
	Version       string    `json:"version"`
	GoVersion     string    `json:"goVersion"`
	Started       time.Time `json:"started"`
	UptimeSeconds float64   `json:"uptimeSeconds"`
	Paths         []string  `json:"paths"`
}

// unstable is said of text that programs must not read.
const unstable = "for people: programs ask for JSON"

// Text implements [Answer].
func (s statusz) Text(t *Table) {
	t.Title("%s statusz\n%s", s.Name, unstable)
	t.Row("Started:", Time(s.Started))
	t.Row("Up:", time.Duration(s.UptimeSeconds*float64(time.Second)))
	t.Row("Go version:", s.GoVersion)
	t.Row("Binary version:", s.Version)
	t.Gap()
	t.Row("Paths")
	for _, path := range s.Paths {
		t.Row(path)
	}
}

type flagz struct {
	Name  string            `json:"name"`
	Flags map[string]string `json:"flags"`
}

// Text implements [Answer].
func (f flagz) Text(t *Table) {
	t.Title("%s flagz\n%s", f.Name, unstable)
	for _, name := range slices.Sorted(maps.Keys(f.Flags)) {
		t.Row(name + "=" + f.Flags[name])
	}
}
