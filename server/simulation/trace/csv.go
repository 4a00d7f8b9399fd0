package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// resourcePrefix begins the names of columns of any resource.
const resourcePrefix = "resource:"

// columns returns what a table of ours may have, in any order. The help of the command says what each means.
func columns() []string {
	return []string{
		"submit", "runtime", "pods", "cpu", "memory", "gpu", resourcePrefix + "NAME", "name", "namespace", "priority", "estimate", "app", "gang",
		"scheduler",
	}
}

// readCSV reads a table of ours.
func readCSV(name string, text []byte) (*Trace, error) {
	t, err := newTable(name, byCommas(text), strings.TrimSpace)
	if err != nil {
		return nil, err
	}
	if err := t.knows(); err != nil {
		return nil, err
	}
	b, stamps := newBuilder(), map[*Job]time.Time{}
	for {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		j, stamp, err := t.job()
		if err != nil {
			return nil, err
		}
		if len(b.trace.Jobs) > 0 && stamp.IsZero() != (len(stamps) == 0) {
			return nil, t.bad("submit", fmt.Errorf("%q: jobs come either at times of day or since the start, not both", t.text("submit")))
		}
		if !stamp.IsZero() {
			stamps[j] = stamp
		}
		if err := b.add(j); err != nil {
			return nil, t.errorf("%w", err)
		}
	}
	if err := b.stamp(name, stamps); err != nil {
		return nil, err
	}
	return b.finish(name)
}

// stamp has jobs come at times of day, the first one at the start.
func (b *builder) stamp(name string, stamps map[*Job]time.Time) error {
	if len(stamps) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(stamps), time.Time.Compare)
	first, last := all[0], all[len(all)-1]
	if last.Sub(first) > LongestSpan {
		from, to := first.Format(time.RFC3339), last.Format(time.RFC3339)
		return fmt.Errorf("%s: jobs come from %s to %s, which is more than %s", name, from, to, LongestSpan)
	}
	for j, stamp := range stamps {
		j.At = stamp.Sub(first)
	}
	return nil
}

// knows checks the names of the columns.
func (t *table) knows() error {
	for _, column := range t.header {
		resource, is := strings.CutPrefix(column, resourcePrefix)
		if is && len(validation.IsQualifiedName(resource)) == 0 {
			continue
		}
		if is || !slices.Contains(columns(), column) {
			return t.errorf("column %q is unknown; known are %s", column, strings.Join(columns(), ", "))
		}
	}
	for _, column := range []string{"submit", "runtime"} {
		if _, there := t.at[column]; !there {
			return t.errorf("there is no column %s, and each job has one", column)
		}
	}
	return nil
}

// job reads the job of a line, and the time of day when it comes, if it has one.
func (t *table) job() (j *Job, stamp time.Time, err error) {
	j = &Job{Name: t.text("name"), App: t.text("app"), Scheduler: t.text("scheduler"), Asks: corev1.ResourceList{}}
	for _, column := range []string{"submit", "runtime"} {
		if t.text(column) == "" {
			return nil, stamp, t.bad(column, errors.New("it is empty"))
		}
	}
	var errs [6]error
	if stamp, err = time.Parse(time.RFC3339, t.text("submit")); err != nil {
		j.At, errs[0] = parse(t, "submit", 0, submitted)
	}
	j.runs, errs[1] = parse(t, "runtime", 0, runtime)
	j.Says, errs[2] = parse(t, "estimate", 0, duration)
	pods, err := parse(t, "pods", 1, whole(1, MostPodsOfJob))
	errs[3] = err
	priority, err := parse(t, "priority", 0, whole(math.MinInt32, MostPriority))
	errs[4] = err
	j.Pods, j.Priority = int(pods), int32(priority) //nolint:gosec // it is within bounds
	if j.Gang, errs[5] = parse(t, "gang", j.Pods > 1, yesOrNo); j.Pods == 1 {
		j.Gang = false
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, stamp, err
	}
	if j.Namespace, err = parse(t, "namespace", "", namespace); err != nil {
		return nil, stamp, err
	}
	return j, stamp, t.asks(j)
}

// submitted reads a time since the start.
func submitted(text string) (time.Duration, error) {
	at, err := duration(text)
	if err != nil {
		return 0, fmt.Errorf("%w; nor a time, such as 2026-05-01T10:00:00Z", err)
	}
	return at, nil
}

func namespace(text string) (string, error) {
	if wrong := validation.IsDNS1123Label(text); len(wrong) > 0 {
		return "", fmt.Errorf("is no name of a namespace: %s", wrong[0])
	}
	return text, nil
}

// asks reads what each pod of a job asks for.
func (t *table) asks(j *Job) error {
	for _, column := range t.header {
		resource := corev1.ResourceName(column)
		switch column {
		case "cpu", "memory":
		case "gpu":
			resource = gpu
		default:
			rest, is := strings.CutPrefix(column, resourcePrefix)
			if !is {
				continue
			}
			resource = corev1.ResourceName(rest)
		}
		if t.text(column) == "" {
			continue
		}
		q, err := quantityOf(t.text(column))
		if err != nil {
			return t.bad(column, fmt.Errorf("%q %w", t.text(column), err))
		}
		if _, twice := j.Asks[resource]; twice {
			return t.bad(column, fmt.Errorf("another column says how much %s it asks for", resource))
		}
		amount(j.Asks, resource, q)
	}
	return nil
}
