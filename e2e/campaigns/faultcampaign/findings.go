package faultcampaign

import (
	"context"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
)

// Finding is something that must not be.
type Finding struct {
	What string // its kind
	Text string
}

// Kinds of findings that more than one campaign has.
const (
	BoundTwice    = "bound twice"
	Overcommitted = "overcommitted"
	NeverSettles  = "never settles"
	Complained    = "the scheduler complains"
	Panicked      = "muster panics"
)

// Found is a finding, in words.
func Found(what, format string, args ...any) Finding {
	return Finding{what, fmt.Sprintf(format, args...)}
}

// Of are findings of one kind.
func Of(what string, texts []string) (all []Finding) {
	for _, text := range texts {
		all = append(all, Finding{what, text})
	}
	return all
}

// Find adds findings to the violations of a run.
func (o *Outcome) Find(all []Finding) {
	for _, f := range all {
		o.Violations = append(o.Violations, f.What+": "+f.Text)
	}
}

// Logged returns lines that the scheduler, muster and other logs must not have, since it was last asked. It is for one
// goroutine at a time.
func (l *Lane) Logged(others ...string) ([]Finding, error) {
	complaints, panics, err := l.words(others...)
	return append(Of(Complained, complaints), Of(Panicked, panics)...), err
}

// unknownVictim is a complaint of kube-scheduler about a victim that it does not have, with when
// it was written and the UID.
var unknownVictim = regexp.MustCompile(`^E(\d{4} \d\d:\d\d:\d\d\.\d+).* claims to preempt pod \(UID: &\{([^}]+)\}\)`)

// JudgeComplaints leaves out what kube-scheduler says of victims that had gone by then: its watch may be ahead of muster's,
// and it tries again. The others are told with what became of the victim: when it was bound, and gone, zero for never.
func JudgeComplaints(logged []Finding, life func(types.UID) (bound, gone time.Time)) (findings []Finding) {
	for _, f := range logged {
		match := unknownVictim.FindStringSubmatch(f.Text)
		if f.What != Complained || match == nil {
			findings = append(findings, f)
			continue
		}
		bound, gone := life(types.UID(match[2]))
		if said, err := time.ParseInLocation("0102 15:04:05.000000", match[1], time.Local); err == nil && !gone.IsZero() {
			if said = said.AddDate(gone.Year(), 0, 0); !gone.After(said) {
				continue
			}
		}
		f.Text += fmt.Sprintf(" (the watch shows it bound at %s and gone at %s)", clockTime(bound), clockTime(gone))
		findings = append(findings, f)
	}
	return findings
}

// clockTime is a time as kube-scheduler logs it.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return t.Local().Format("15:04:05.000000")
}

// Followed returns a source of the objects of a typed client that come from now on, and of the fate of existing ones.
func Followed[L metav1.ListInterface](ctx context.Context, objects interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
},
) (history.Source, error) {
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return history.Source{}, fmt.Errorf("list what is followed: %w", err)
	}
	return history.Source{Version: list.GetResourceVersion(), Watch: objects.Watch}, nil
}
