package demo

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Environment variables that shape the demo.
const (
	NodesEnv     = "DEMO_NODES"
	PodsEnv      = "DEMO_PODS"
	DataEnv      = "DEMO_DATA"
	SelectionEnv = "DEMO_SELECTION"
	KeepEnv      = "DEMO_KEEP"
	BeganEnv     = "DEMO_BEGAN"
)

const (
	defaultNodes = 300
	defaultPods  = 3000

	// The most that a control plane on one machine carries without being the subject
	// of the demo itself.
	maxNodes = 20_000
	maxPods  = 200_000

	seed = 1
)

// Options of a demo.
type Options struct {
	// Nodes and Pods to generate, unless Data is set.
	Nodes, Pods int
	// Data is a directory with the openb trace.
	Data string
	// Selection is who chooses nodes.
	Selection muster.Selection
	// Keep leaves everything running until the context ends.
	Keep bool
	// Began is when the compilation of what is shown began, zero when nothing had to be compiled.
	Began time.Time
}

// OptionsFromEnv reads the options from environment variables. A relative path in
// DEMO_DATA starts at repository.
func OptionsFromEnv(getenv func(string) string, repository string) (Options, error) {
	o := Options{Nodes: defaultNodes, Pods: defaultPods, Selection: muster.Muster}
	for _, number := range []struct {
		env    string
		target *int
		most   int
	}{{NodesEnv, &o.Nodes, maxNodes}, {PodsEnv, &o.Pods, maxPods}} {
		text := getenv(number.env)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > number.most {
			return Options{}, fmt.Errorf("%s=%s: want a number from 1 to %d", number.env, text, number.most)
		}
		if data := getenv(DataEnv); data != "" {
			return Options{}, fmt.Errorf("%s=%s: the data of %s=%s decides that; unset one of them", number.env, text, DataEnv, data)
		}
		*number.target = n
	}
	if o.Data = getenv(DataEnv); o.Data != "" && !filepath.IsAbs(o.Data) {
		o.Data = filepath.Join(repository, o.Data)
	}
	switch text := getenv(SelectionEnv); text {
	case "":
	case string(muster.Scheduler), string(muster.Muster):
		o.Selection = muster.Selection(text)
	default:
		return Options{}, fmt.Errorf("%s=%s: want %s or %s", SelectionEnv, text, muster.Scheduler, muster.Muster)
	}
	switch text := getenv(KeepEnv); text {
	case "", "0":
	case "1":
		o.Keep = true
	default:
		return Options{}, fmt.Errorf("%s=%s: want 1 or 0", KeepEnv, text)
	}
	var err error
	o.Began, err = began(getenv(BeganEnv))
	return o, err
}

// began reads when a compilation began, in seconds since 1970.
func began(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s=%s: want seconds since 1970", BeganEnv, text)
	}
	return time.Unix(seconds, 0), nil
}

func (o Options) cluster() (*workload.Cluster, error) {
	if o.Data == "" {
		return workload.Generate(workload.Shape{Nodes: o.Nodes, Pods: o.Pods, Seed: seed}), nil
	}
	c, err := workload.LoadOpenB(o.Data, seed)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", DataEnv, o.Data, err)
	}
	return c, nil
}
