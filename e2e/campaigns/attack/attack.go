// Package attack tries out, on a real control plane, what attackers could try: anybody who reaches
// the ports of muster, a tenant who may create pods, a thief of muster's own account, and a page in a
// browser. kube-scheduler and muster serve others meanwhile.
//
// An [Attack] tries something and collects an outcome; its check says of the outcome alone whether the
// attack succeeded. Each attack names outcomes that are successes, so that a check that lets
// everything pass is found. muster has the rights of the chart's role and the policy of its account,
// so what is held is held with these.
//
// A success is a defect of muster's. What is seen at all is in the outcome: an attack that is held
// off by something else than it was written for, as by a stage that it could not set, is an error.
package attack

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Attacker is who attacks.
type Attacker string

// The attackers.
const (
	Caller  Attacker = "network caller"
	Tenant  Attacker = "tenant"
	Account Attacker = "muster's account, taken over"
	Page    Attacker = "page in a browser"
)

// Attack is one thing that an attacker tries.
type Attack struct {
	// Name is short, of words with hyphens.
	Name string
	By   Attacker
	// Tries says what it tries, as the end of a sentence: "to have …".
	Tries string

	attempt func(context.Context, *ground) (verdict, error)
	// successes are what the check says of outcomes that are successes.
	successes func() []verdict
}

// verdict is the judgement of a check on an outcome.
type verdict struct {
	succeeded bool
	why       string
	// idle is the part of a cluster that was kept idle by bookings, and rate what others got done to what they get done alone, 0 where
	// it was not measured.
	idle, rate float64
}

func held(format string, args ...any) verdict { return verdict{why: fmt.Sprintf(format, args...)} }

func succeeded(format string, args ...any) verdict {
	return verdict{succeeded: true, why: fmt.Sprintf(format, args...)}
}

// plan is how an attack is made, and judged.
type plan[Outcome any] struct {
	name  string
	by    Attacker
	tries string
	// do attacks. An error means that nothing can be said of the attack.
	do func(context.Context, *ground) (Outcome, error)
	// check judges an outcome, and nothing else.
	check func(Outcome) verdict
	// successes are outcomes of attacks that succeed.
	successes []Outcome
}

func (p plan[Outcome]) attack() Attack {
	return Attack{
		Name: p.name, By: p.by, Tries: p.tries,
		attempt: func(ctx context.Context, g *ground) (verdict, error) {
			outcome, err := p.do(ctx, g)
			if err != nil {
				return verdict{}, err
			}
			return p.check(outcome), nil
		},
		successes: func() (verdicts []verdict) {
			for _, outcome := range p.successes {
				verdicts = append(verdicts, p.check(outcome))
			}
			return verdicts
		},
	}
}

// first is the first of verdicts that is a success, else the last one.
func first(verdicts ...verdict) verdict {
	for _, v := range verdicts {
		if v.succeeded {
			return v
		}
	}
	return verdicts[len(verdicts)-1]
}

// All are all attacks, in the order in which they are tried.
func All() []Attack {
	return slices.Concat(
		[]Attack{forgedPreemption().attack(), forgedPriority().attack()},
		bindAttacks(),
		[]Attack{quantityBomb().attack()},
		bodyAttacks(),
		[]Attack{postedVocabulary(), phantoms(), stolenMember(), gatedPods()},
		[]Attack{certificates("certificates-of-others", ""), certificates("certificates-at-the-registered-path", registeredPath)},
		[]Attack{registeredNames()},
		connectionAttacks(),
		pageAttacks(),
		[]Attack{endlessGroups(), hugeGangs(), foreignGroup(), forgedCommit(), limitsWithoutEnd()},
		[]Attack{endlessQuestions()},
		[]Attack{tenantRights(), terminals(), createdVocabulary()},
		hoards(),
		ownerAttacks(),
		sumAttacks(),
		bookingAttacks(),
		[]Attack{endlessGrace(), forgedRecords(), forgedOrder()},
		accountAttacks(),
	)
}

// patience is how long one attack may take, which takes seconds on an idle machine.
const patience = 5 * time.Minute

// Report is the outcome of attacks.
type Report struct {
	Tried int
	// Succeeded are the names of the attacks that did.
	Succeeded []string
	// Idle is the largest part of a cluster that bookings kept idle, and Rate the least that others got done of what they get done
	// alone, in the attacks that measure it; 0 without any.
	Idle, Rate float64
}

// Figures prints the figures.
func (r Report) Figures(out io.Writer) {
	fmt.Fprintf(out, "figure attacks_tried=%d\nfigure attacks_succeeded=%d\n", r.Tried, len(r.Succeeded))
	if r.Rate > 0 {
		fmt.Fprintf(out, "figure attack_booked_idle_share=%.2f\nfigure attack_booked_others_rate=%.2f\n", r.Idle, r.Rate)
	}
}

// Run tries attacks, one after the other, on one control plane whose files are in dir. It tells each
// verdict to out, in a line. An error means that nothing can be said of an attack.
func Run(ctx context.Context, attacks []Attack, dir string, out, progress io.Writer) (report Report, err error) {
	g, err := open(ctx, dir, progress)
	if err != nil {
		return report, err
	}
	defer g.close()
	for i, a := range attacks {
		began := time.Now()
		v, err := g.try(ctx, a)
		if err != nil {
			return report, fmt.Errorf("%s: %w", a.Name, err)
		}
		report.Tried++
		if report.Idle = max(report.Idle, v.idle); v.rate > 0 && (report.Rate == 0 || v.rate < report.Rate) {
			report.Rate = v.rate
		}
		word := "held"
		if v.succeeded {
			word = "SUCCEEDED"
			report.Succeeded = append(report.Succeeded, a.Name)
		}
		fmt.Fprintf(out, "%2d/%d %s (%s, %.1fs): %s: %s\n", i+1, len(attacks), a.Name, a.By, time.Since(began).Seconds(), word, v.why)
	}
	return report, nil
}

// try tries one attack, after which everything that it left behind is gone, and muster is there still.
func (g *ground) try(ctx context.Context, a Attack) (verdict, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	v, err := a.attempt(ctx, g)
	if ended := g.ended(); ended != nil {
		return succeeded("%v", ended), nil
	}
	if err != nil {
		return v, err
	}
	return v, g.clear(ctx)
}
