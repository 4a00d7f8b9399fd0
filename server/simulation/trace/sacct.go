package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Why jobs of Slurm are left out.
const (
	neverRan   = "never ran"
	runsStill  = "run still, so that their end is not known"
	isStep     = "are steps of other jobs"
	unknownEnd = "have ended, and nobody knows when"
)

// readSacct reads what 'sacct --parsable2' prints. A job becomes one pod for each node that it had, with its share of the CPUs, the memory
// and the GPUs of the job. They start together, as the tasks of a job of Slurm do.
func readSacct(name string, text []byte) (*Trace, error) {
	t, err := newTable(name, byBars(text), func(column string) string {
		column, _, _ = strings.Cut(strings.ToLower(column), "%") // a width
		return column
	})
	if err != nil {
		return nil, err
	}
	for _, column := range []string{"jobid", "submit", "elapsed"} {
		if _, there := t.at[column]; !there {
			return nil, t.errorf("there is no column %s: want sacct --parsable2 --allocations "+
				"--format=JobID,Submit,Elapsed,Timelimit,NNodes,NCPUS,ReqMem,ReqTRES,State,User,JobName", column)
		}
	}
	b, stamps := newBuilder(), map[*Job]time.Time{}
	for {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if why := t.leavesOut(); why != "" {
			b.leaveOut(why)
			continue
		}
		j, stamp, err := t.slurmJob()
		if err != nil {
			return nil, err
		}
		stamps[j] = stamp
		if err := b.add(j); err != nil {
			return nil, t.errorf("%w", err)
		}
	}
	if err := b.stamp(name, stamps); err != nil {
		return nil, err
	}
	return b.finish(name)
}

// leavesOut says why a line is no job that has run, "" if it is one.
func (t *table) leavesOut() string {
	state, _, _ := strings.Cut(strings.ToUpper(t.text("state")), " ") // CANCELLED by 1000
	elapsed, err := clockTime(t.text("elapsed"))
	switch {
	case strings.Contains(t.text("jobid"), "."):
		return isStep
	case state == "RUNNING", state == "SUSPENDED", state == "COMPLETING", state == "R":
		return runsStill
	case state == "PENDING", state == "PD", isNone(t.text("submit")), t.text("elapsed") == "", t.text("nnodes") == "0",
		err == nil && elapsed == 0:
		return neverRan
	}
	return ""
}

// isNone reports whether Slurm says by a text that it has nothing to say.
func isNone(text string) bool {
	switch strings.ToLower(text) {
	case "", "none", "unknown", "n/a", "invalid", "none assigned":
		return true
	}
	return false
}

// slurmJob reads the job of a line, and when it was submitted.
func (t *table) slurmJob() (j *Job, stamp time.Time, err error) {
	j = &Job{Name: t.text("jobid"), Asks: corev1.ResourceList{}, App: t.text("jobname"), Namespace: t.owner()}
	if stamp, err = parse(t, "submit", stamp, stampOf); err != nil {
		return nil, stamp, err
	}
	if j.runs, err = parse(t, "elapsed", 0, clockTime); err != nil {
		return nil, stamp, err
	}
	if j.Says, err = parse(t, "timelimit", 0, timeLimit); err != nil {
		return nil, stamp, err
	}
	nodes, err := parse(t, "nnodes", 1, whole(1, MostPodsOfJob))
	if err != nil {
		return nil, stamp, err
	}
	priority, err := parse(t, "priority", 0, whole(0, math.MaxUint32))
	if err != nil {
		return nil, stamp, err
	}
	j.Pods, j.Gang, j.Priority = int(nodes), nodes > 1, int32(min(priority, MostPriority)) //nolint:gosec // it is within bounds
	return j, stamp, t.shares(j)
}

// owner is the namespace of a job: its user, else its account. Letters that no namespace has become dashes.
func (t *table) owner() string {
	for _, column := range []string{"user", "account"} {
		if name := label(t.text(column)); name != "" {
			return name
		}
	}
	return ""
}

// label makes a label of DNS of a text, "" where nothing is left.
func label(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// stampOf reads a time without a zone, as sacct prints it: only differences count.
func stampOf(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05", time.RFC3339} {
		if stamp, err := time.Parse(layout, text); err == nil {
			return stamp, nil
		}
	}
	return time.Time{}, errors.New("is no time, such as 2026-05-01T10:00:00")
}

// clockTime reads a duration of Slurm: [D-]HH:MM:SS or MM:SS, perhaps with parts of seconds.
func clockTime(text string) (time.Duration, error) {
	bad := errors.New("is no duration, such as 1-02:30:00")
	days, rest, long := "0", text, 0.0
	if before, after, cut := strings.Cut(text, "-"); cut {
		days, rest = before, after
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, bad
	}
	for i, part := range parts {
		number, err := strconv.ParseFloat(part, 64)
		if err != nil || !(number >= 0 && number <= 1e6) || i < len(parts)-1 && number != math.Trunc(number) {
			return 0, bad
		}
		long = 60*long + number
	}
	number, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	if long += float64(number) * 24 * 3600; long > LongestRun.Seconds() {
		return 0, fmt.Errorf("is more than %s", LongestRun)
	}
	return time.Duration(long * float64(time.Second)).Round(time.Millisecond), nil
}

// timeLimit is a clockTime, 0 for none.
func timeLimit(text string) (time.Duration, error) {
	switch strings.ToLower(text) {
	case "unlimited", "partition_limit":
		return 0, nil
	}
	if isNone(text) {
		return 0, nil
	}
	return clockTime(text)
}

// shares reads what each pod of a job asks for: the part of the job that falls to a node.
func (t *table) shares(j *Job) error {
	tres, err := t.tres()
	if err != nil {
		return err
	}
	cpus, memory := tres["cpu"], tres["mem"]/float64(j.Pods)
	for _, column := range []string{"alloccpus", "ncpus", "reqcpus"} { // the last one that is there
		if cpus, err = parse(t, column, cpus, number); err != nil {
			return err
		}
	}
	if text := t.text("reqmem"); !isNone(text) {
		bytes, per, err := reqMem(text)
		if err != nil {
			return t.bad("reqmem", fmt.Errorf("%q %w", text, err))
		}
		memory = bytes / map[byte]float64{'c': float64(j.Pods) / max(cpus, 1), 'n': 1, 0: float64(j.Pods)}[per]
	}
	gpus := tres["gres/gpu"]
	for name, count := range tres {
		if strings.HasPrefix(name, "gres/gpu:") && tres["gres/gpu"] == 0 {
			gpus += count
		}
	}
	if max(cpus, memory, gpus) > mostAmount {
		return t.errorf("the job asks for more than %.0g of something", mostAmount)
	}
	share := func(of float64) int64 { return int64(math.Ceil(of / float64(j.Pods))) }
	amount(j.Asks, corev1.ResourceCPU, *resource.NewMilliQuantity(share(1000*cpus), resource.DecimalSI))
	amount(j.Asks, corev1.ResourceMemory, *resource.NewQuantity(int64(math.Ceil(memory)), resource.BinarySI))
	amount(j.Asks, gpu, *resource.NewQuantity(share(gpus), resource.DecimalSI))
	return nil
}

func number(text string) (float64, error) {
	n, err := whole(0, 1e9)(text)
	return float64(n), err
}

// tres reads the trackable resources of a job: what was asked for, else what was given.
func (t *table) tres() (map[string]float64, error) {
	all := map[string]float64{}
	for _, column := range []string{"alloctres", "reqtres"} { // the last one that is there
		for entry := range strings.SplitSeq(t.text(column), ",") {
			name, value, cut := strings.Cut(entry, "=")
			if name = strings.TrimSpace(name); !cut || name != "cpu" && name != "mem" && !strings.HasPrefix(name, "gres/gpu") {
				continue
			}
			amount, _, err := reqMem(value)
			if name != "mem" {
				amount, err = number(value)
			}
			if err != nil {
				return nil, t.bad(column, fmt.Errorf("%q: %q %w", entry, value, err))
			}
			all[name] = amount
		}
	}
	return all, nil
}

// memoryForm is an amount of memory as sacct prints it.
var memoryForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([KMGTP]?)([cn]?)$`)

// reqMem reads an amount of memory in bytes, and what it is for: each CPU (c), each node (n), as Slurm said until 21.08, or the job (0).
// Without a unit it is megabytes.
func reqMem(text string) (bytes float64, per byte, err error) {
	found := memoryForm.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, errors.New("is no amount of memory, such as 4G, 4000Mn or 2Gc")
	}
	if bytes, err = strconv.ParseFloat(found[1], 64); err != nil {
		return 0, 0, err
	}
	unit := map[string]float64{"K": 1 << 10, "": 1 << 20, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}[found[2]]
	if found[3] != "" {
		per = found[3][0]
	}
	if bytes *= unit; bytes > mostAmount {
		return 0, 0, fmt.Errorf("is more than %.0g bytes", mostAmount)
	}
	return bytes, per, nil
}
