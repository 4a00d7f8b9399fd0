package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/simulation"
	"muster.dev/muster/server/simulation/trace"
)

func newSimulateCommand() *cobra.Command {
	var flags simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate --trace FILE",
		Short: "Replay jobs in simulated time, to choose settings before they are used",
		Long: `simulate replays jobs that were, or might be, on nodes in simulated time: a day takes seconds to
minutes. It runs the parts of a muster that runs, by a configuration: its view of the cluster,
predicates, gangs, room in time and forecasts. With --against it does the same by a second
configuration, and tells what that changes: above all for gangs.reserveAfter. It asks no cluster,
and writes nothing but its answer.

A trace is one of three, by what it looks like, or by --trace-format:

  csv    A table with the names of its columns first, in any order. Each job has
           submit     when it comes: seconds or a duration since the start, or a time (RFC 3339)
           runtime    how long it runs: seconds or a duration
         and may have
           pods       how many pods it has (1), and what each asks for:
           cpu, memory, gpu (nvidia.com/gpu), resource:NAME
           name, namespace, priority, scheduler (the schedulerName of its pods)
           estimate   how long it says that it runs; where it says nothing, muster learns
           app        what it is one of: muster learns from former jobs of one app (the name)
           gang       whether its pods start together (true for several)
  sacct  What Slurm prints with sacct --parsable2 --allocations --format=JobID,Submit,Elapsed,
         Timelimit,NNodes,NCPUS,ReqMem,ReqTRES,State,User,JobName. A job becomes one pod for each
         of its nodes, with its share of the CPUs, the memory and the GPUs, that start together.
         Its user is its namespace. With Priority among the columns, that is the priority of its
         pods, 1000000000 at most. Jobs that never ran, or run still, are left out and counted.
  dump   What 'kubectl get nodes,pods -A -o yaml' prints. Pods that have ended are replayed, pods of
         one owner that came together as one job, and as a gang if they are marked as one. Pods of
         DaemonSets stay on their nodes. Others are left out and counted. The nodes are the ones of
         the dump, unless --nodes names others.

--nodes is a dump of nodes, or says how many there are and what each has. What a job's true runtime
is, only the clock knows: muster goes by what the job says and by what it learned, as ever.

The exit status is 0 after a clean end, also when jobs wait at the end of it, 1 after a failure or
Ctrl-C, and 2 after a wrong command line.`,
		Example: `  # How would jobs fare on 100 nodes, if room is booked for gangs after 5 minutes, and if not?
  printf 'apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n' > without.yaml
  (cat without.yaml; echo 'gangs: {reserveAfter: 5m}') > with.yaml
  muster simulate --trace jobs.csv --nodes 100:cpu=64,memory=256Gi,nvidia.com/gpu=8 \
    --config without.yaml --against with.yaml

  # The same for the jobs of a month with Slurm, as a page to send around.
  sacct -a -X --parsable2 -S 2026-05-01 -E 2026-06-01 > jobs.txt \
    --format=JobID,Submit,Elapsed,Timelimit,NNodes,NCPUS,ReqMem,ReqTRES,State,User,JobName
  muster simulate --trace jobs.txt --nodes nodes.yaml --against with.yaml --html simulation.html

  # The pods that a cluster has run lately, on its nodes.
  kubectl get nodes,pods -A -o yaml | muster simulate --trace - --config muster.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.output.register(cmd.Flags(), false)
	cmd.Flags().StringVar(&flags.trace, "trace", "", "`FILE` with the jobs; - is standard input")
	cmd.Flags().StringVar(&flags.format, "trace-format", "", "`FORMAT` of the trace: csv, sacct or dump (default: by what it looks like)")
	cmd.Flags().StringArrayVar(&flags.nodes, "nodes", nil,
		"`NODES` that there are: a file written by 'kubectl get nodes -o yaml', or a shape, such as 100:cpu=64,memory=256Gi,nvidia.com/gpu=8; "+
			"may be repeated (default: the nodes of a trace that is a dump)")
	cmd.Flags().StringVar(&flags.config, "config", "", "configuration `FILE` (default: what 'muster config default' prints)")
	cmd.Flags().StringVar(&flags.against, "against", "", "second configuration `FILE` to replay the same jobs by")
	cmd.Flags().DurationVar(&flags.length, "for", 0,
		"how long to simulate, such as 24h (default: until all jobs have started, or nothing more would)")
	cmd.Flags().StringVar(&flags.html, "html", "", "`FILE` to write the answer to as a page with charts, besides")
	return cmd
}

type simulateFlags struct {
	output                               outputFlag
	trace, format, config, against, html string
	nodes                                []string
	length                               time.Duration
}

// check names the first flag that makes no sense.
func (f *simulateFlags) check() error {
	stdins := 0
	for _, file := range append([]string{f.trace, f.config, f.against}, f.nodes...) {
		if file == "-" {
			stdins++
		}
	}
	switch {
	case f.trace == "":
		return errors.New("--trace: name a file with jobs")
	case f.config == "-" || f.against == "-":
		return errors.New("--config and --against: name files")
	case stdins > 1:
		return errors.New("--trace and --nodes: only one of them can be standard input")
	case f.length < 0:
		return fmt.Errorf("--for: %s is no time", f.length)
	case f.length > trace.LongestSpan:
		return fmt.Errorf("--for: %s is more than %s", f.length, trace.LongestSpan)
	}
	return f.checkPage()
}

// checkPage looks whether the page can be written, before anybody waits for it.
func (f *simulateFlags) checkPage() error {
	if f.html == "" {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(f.html))
	if err == nil && !dir.IsDir() {
		err = fmt.Errorf("%s is no directory", filepath.Dir(f.html))
	}
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// setting is a configuration by which jobs are replayed, with its name.
type setting struct {
	name string
	cfg  *config.Configuration
}

func (f *simulateFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usagef(cmd, "%w", err)
	}
	in, err := f.input(cmd)
	if err != nil {
		return err
	}
	settings, err := f.settings(cmd)
	if err != nil {
		return err
	}
	records, err := replayAll(cmd, in, settings)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	answer := simulation.Sum(nameOfFile(f.trace), *in, names, records)
	if f.html != "" {
		page, err := answer.HTML(buildInfo().Main.Version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.html, page, 0o644); err != nil { //nolint:gosec // it is to be sent around
			return fmt.Errorf("--html: %w", err)
		}
	}
	return out.print(cmd.OutOrStdout(), answer)
}

// settings reads the configurations.
func (f *simulateFlags) settings(cmd *cobra.Command) (all []setting, err error) {
	files := []string{f.config}
	if f.against != "" {
		files = append(files, f.against)
	}
	for _, file := range files {
		cfg, err := loadConfigWarning(cmd, file)
		if err != nil {
			return nil, err
		}
		name := "default"
		if file != "" {
			name = filepath.Base(file)
		}
		all = append(all, setting{name, cfg})
	}
	if len(all) == 2 && all[0].name == all[1].name {
		all[0].name, all[1].name = f.config, f.against
	}
	return all, nil
}

// input reads the trace and the nodes.
func (f *simulateFlags) input(cmd *cobra.Command) (*simulation.Input, error) {
	text, err := readBounded(cmd, "--trace", f.trace)
	if err != nil {
		return nil, err
	}
	format, err := trace.ParseFormat(f.format, text)
	if err != nil {
		return nil, usagef(cmd, "--trace-format: %w", err)
	}
	in := &simulation.Input{For: f.length}
	if in.Trace, err = trace.Read(nameOfFile(f.trace), text, format); err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	if in.Nodes = in.Trace.Nodes; len(f.nodes) == 0 && in.Nodes == nil {
		return nil, usagef(cmd, "--nodes: say what jobs run on: a file with nodes, or a shape such as 100:cpu=64,memory=256Gi")
	}
	if len(f.nodes) > 0 {
		in.Nodes = &trace.Nodes{}
	}
	for _, nodes := range f.nodes {
		if err := f.addNodes(cmd, in.Nodes, nodes); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (f *simulateFlags) addNodes(cmd *cobra.Command, to *trace.Nodes, nodes string) error {
	if trace.IsShape(nodes) {
		if err := to.AddShape(nodes); err != nil {
			return usagef(cmd, "--nodes: %w", err)
		}
		return nil
	}
	text, err := readBounded(cmd, "--nodes", nodes)
	if err != nil {
		return err
	}
	if err := to.AddFile(nameOfFile(nodes), text); err != nil {
		return fmt.Errorf("--nodes: %w", err)
	}
	return nil
}

func nameOfFile(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// readBounded reads a file, or standard input, up to more than a trace may have.
func readBounded(cmd *cobra.Command, flag, path string) ([]byte, error) {
	from := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, trace.MostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return text, nil
}

// How often it is told how far a replay is: where nobody looks at a terminal, only of one that takes long.
const (
	tellEvery  = 3 * time.Second
	tellRarely = 30 * time.Second
)

// replayAll replays the jobs by all configurations at once, until the command is ended or one of them fails, and tells how far it is.
func replayAll(cmd *cobra.Command, in *simulation.Input, settings []setting) ([]*simulation.Record, error) {
	ctx, end := context.WithCancel(cmd.Context())
	defer end()
	records, errs := make([]*simulation.Record, len(settings)), make([]error, len(settings))
	progress := make([]simulation.Progress, len(settings))
	var replays, told sync.WaitGroup
	for i, s := range settings {
		context.AfterFunc(ctx, progress[i].Stop)
		replays.Go(func() {
			if records[i], errs[i] = simulation.Replay(*in, s.cfg, &progress[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("by %s: %w", s.name, errs[i])
				end()
			}
		})
	}
	done := make(chan struct{})
	told.Go(func() { tell(cmd.ErrOrStderr(), in, settings, progress, done) })
	replays.Wait()
	close(done)
	told.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, simulation.ErrStopped) {
			return nil, err
		}
	}
	return records, errors.Join(errs...)
}

// tell tells how far replays are, until they are done.
func tell(w io.Writer, in *simulation.Input, settings []setting, progress []simulation.Progress, done <-chan struct{}) {
	every := tellRarely
	if isTerminal(w) {
		every = tellEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			for i := range settings {
				fmt.Fprintf(w, "%s: %s\n", settings[i].name, soFar(in, &progress[i]))
			}
		}
	}
}

// soFar says how far a replay is.
func soFar(in *simulation.Input, progress *simulation.Progress) string {
	simulated, started := progress.Now()
	over := in.Trace.Span()
	if in.For > 0 {
		over = in.For
	}
	return fmt.Sprintf("simulated %s of about %s, %d of %d jobs started",
		simulated.Truncate(time.Minute), max(over, simulated).Round(time.Minute), started, len(in.Trace.Jobs))
}
