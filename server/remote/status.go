package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/rescheduler/loop"
)

// Overview tells of a muster in short.
type Overview struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Unready is why it is not ready, "" when it is; Leads says that it leads, of several replicas
	// where there are some.
	Unready string `json:"unready,omitempty"`
	// StandsBy is why it answers no calls though it is ready.
	StandsBy string `json:"standsBy,omitempty"`
	Leads    bool   `json:"leads"`
	// Snapshot are the files of dumps that stand in for an API server.
	Snapshot []string  `json:"snapshot,omitempty"`
	Config   Config    `json:"config"`
	Profiles []Profile `json:"profiles"`
	Nodes    int       `json:"nodes"`
	Pods     int       `json:"pods"`    // that count on a node
	Pending  int       `json:"pending"` // that have no node
	Gangs    Gangs     `json:"gangs"`
	// Usage is where usage is read from, nil for nowhere.
	Usage *Usage `json:"usage,omitempty"`
}

// Config is where the configuration comes from.
type Config struct {
	File  string    `json:"file,omitempty"`
	Since time.Time `json:"since"` // it is in force
	// Refused is why what its file holds now is not in force.
	Refused []string `json:"refused,omitempty"`
}

// Profile is one that is in force.
type Profile struct {
	Profile       string `json:"profile"`
	NodeSelection string `json:"nodeSelection"`
	// Classes of equivalent pods are remembered. Of Calls about them, Hits found them so.
	Classes int `json:"classes"`
	Calls   int `json:"calls"`
	Hits    int `json:"hits"`
}

// Gangs counts gangs.
type Gangs struct {
	Waiting  int `json:"waiting"`
	Starting int `json:"starting"`
	Started  int `json:"started"`
	// First are the first that wait, in the order in which they are planned.
	First []WaitingGang `json:"first,omitempty"`
}

// WaitingGang is a gang that waits.
type WaitingGang struct {
	Gang string `json:"gang"` // namespace/name
	Why  string `json:"why"`
}

// Usage is where usage is read from, and of how many nodes how old it is.
type Usage struct {
	source.Status
	Nodes         int     `json:"nodes"`
	OldestSeconds float64 `json:"oldestSeconds"`
	NewestSeconds float64 `json:"newestSeconds"`
}

// Status is all that was found out, and what was not.
type Status struct {
	// Asked is whom of muster.
	Asked            string     `json:"asked,omitempty"`
	Muster           *Overview  `json:"muster,omitempty"`
	MusterError      string     `json:"musterError,omitempty"`
	Rescheduler      *loop.Page `json:"rescheduler,omitempty"`
	ReschedulerError string     `json:"reschedulerError,omitempty"`
}

// Overview asks a muster how it fares.
func (c *Client) Overview(ctx context.Context) (*Overview, error) {
	o := &Overview{}
	return o, c.get(ctx, "/debug/status", o)
}

// AskStatus asks a muster and a rescheduler at the same time. The rescheduler may be nil: there is none to ask.
func AskStatus(ctx context.Context, muster, rescheduler *Client) *Status {
	s := &Status{}
	var asking sync.WaitGroup
	var musterErr, reschedulerErr error
	asking.Go(func() {
		var overview *Overview
		if overview, musterErr = muster.Overview(ctx); musterErr == nil {
			s.Muster = overview
		}
	})
	if rescheduler != nil {
		asking.Go(func() {
			page := &loop.Page{}
			if reschedulerErr = rescheduler.get(ctx, "/debug/rescheduler", page); reschedulerErr == nil {
				s.Rescheduler = page
			}
		})
	}
	asking.Wait()
	if s.Muster == nil || len(s.Muster.Snapshot) == 0 {
		s.Asked = muster.String()
	}
	if musterErr != nil {
		s.MusterError = musterErr.Error()
	}
	if silence, ok := errors.AsType[*silenceError](reschedulerErr); ok && musterErr == nil {
		s.ReschedulerError = fmt.Sprintf("nothing answers at %s: it is off, or elsewhere, which --rescheduler says", silence.server)
	} else if reschedulerErr != nil {
		s.ReschedulerError = reschedulerErr.Error()
	}
	return s
}

// TellsTheSame reports whether another status tells the same, apart from the age of figures.
func (s *Status) TellsTheSame(other *Status) bool {
	return reflect.DeepEqual(s.ageless(), other.ageless())
}

func (s *Status) ageless() Status {
	without := *s
	if s.Muster != nil && s.Muster.Usage != nil {
		muster, usage := *s.Muster, *s.Muster.Usage
		usage.OldestSeconds, usage.NewestSeconds = 0, 0
		muster.Usage, without.Muster = &usage, &muster
	}
	if s.Rescheduler != nil {
		page := *s.Rescheduler
		page.Policies = slices.Clone(page.Policies)
		for i := range page.Policies {
			page.Policies[i].Looked, page.Policies[i].TookSeconds = time.Time{}, 0
		}
		without.Rescheduler = &page
	}
	return without
}

// Text implements [inspect.Answer].
func (s *Status) Text(t *inspect.Table) { s.write(t, false) }

// Wide implements [inspect.WideAnswer].
func (s *Status) Wide(t *inspect.Table) { s.write(t, true) }

func (s *Status) write(t *inspect.Table, wide bool) {
	if s.Asked != "" {
		t.Row("asked", s.Asked)
	}
	if s.Muster != nil {
		s.Muster.write(t, wide)
	} else {
		t.Row(inspect.Bad("muster cannot be asked: " + s.MusterError))
	}
	switch {
	case s.Rescheduler != nil:
		t.Gap()
		writeRescheduler(t, s.Rescheduler, wide)
	case s.ReschedulerError != "":
		t.Gap()
		t.Row(inspect.Doubtful("the rescheduler cannot be asked: " + s.ReschedulerError))
	}
}

// Text implements [inspect.Answer].
func (o *Overview) Text(t *inspect.Table) { o.write(t, false) }

func (o *Overview) write(t *inspect.Table, wide bool) {
	muster := fmt.Sprintf("%s, since %s, %s", cmp.Or(o.Version, "of unknown version"), inspect.Time(o.Started), o.readiness())
	switch {
	case o.Unready != "":
		t.Row("muster", inspect.Bad(muster))
	case o.StandsBy != "":
		t.Row("muster", inspect.Doubtful(muster))
		t.Row("", inspect.Doubtful(o.StandsBy))
	default:
		t.Row("muster", inspect.Good(muster))
	}
	if len(o.Snapshot) > 0 {
		t.Row("", "of a snapshot, and of no cluster that runs: "+strings.Join(o.Snapshot, ", "))
	}
	t.Row("configuration", fmt.Sprintf("%s, in force since %s", cmp.Or(o.Config.File, "the default one"), inspect.Time(o.Config.Since)))
	for _, why := range o.Config.Refused {
		t.Row("", inspect.Bad("refused what the file holds now: "+why))
	}
	t.Row("cluster", fmt.Sprintf("%d nodes, %d pods on them, %d pending", o.Nodes, o.Pods, o.Pending))
	t.Row("gangs", fmt.Sprintf("%d waiting, %d starting, %d started", o.Gangs.Waiting, o.Gangs.Starting, o.Gangs.Started))
	for _, g := range o.Gangs.First {
		t.Row("", inspect.Doubtful(g.Gang+" waits: "+g.Why))
	}
	if more := o.Gangs.Waiting - len(o.Gangs.First); more > 0 {
		t.Row("", fmt.Sprintf("and %d more", more))
	}
	if o.Usage.silent() {
		t.Row("usage", inspect.Bad(o.Usage.text()))
	} else {
		t.Row("usage", o.Usage.text())
	}
	t.Gap()
	header := []any{"PROFILE", "NODE SELECTION", "CLASSES", "CALLS", "HITS"}
	if wide {
		header = append(header, "FOUND", "WORKED OUT")
	}
	t.Row(header...)
	for _, p := range o.Profiles {
		hits := "-"
		if p.Calls > 0 {
			hits = fmt.Sprintf("%.1f%%", 100*float64(p.Hits)/float64(p.Calls))
		}
		cells := []any{p.Profile, p.NodeSelection, p.Classes, p.Calls, hits}
		if wide {
			cells = append(cells, p.Hits, p.Calls-p.Hits)
		}
		t.Row(cells...)
	}
}

func (o *Overview) readiness() string {
	switch {
	case o.Unready != "":
		return "not ready: " + o.Unready
	case o.Leads:
		return "ready, leads"
	default:
		return "ready"
	}
}

// silent says whether its source was asked and does not answer.
func (u *Usage) silent() bool { return u != nil && !u.Since.IsZero() && !u.Reachable }

func (u *Usage) text() string {
	switch {
	case u == nil:
		return "is read from nowhere"
	case u.Since.IsZero():
		return "from " + u.Source + ", which was not asked yet"
	case u.silent():
		return fmt.Sprintf("from %s, which cannot be read since %s: %s", u.Source, inspect.Time(u.Since), u.LastError)
	case u.Nodes == 0:
		return "from " + u.Source + ", which has measured no node"
	default:
		newest, oldest := inspect.Seconds(u.NewestSeconds), inspect.Seconds(u.OldestSeconds)
		return fmt.Sprintf("from %s, of %d nodes, %v to %v old", u.Source, u.Nodes, newest, oldest)
	}
}
