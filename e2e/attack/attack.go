package attack

import (
	"context"
	"fmt"
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
	// Tries is what it tries, as the end of a sentence: "to have …".
	Tries string

	attempt func(context.Context, *ground) (verdict, error)
	// successes are what the check says of outcomes that are successes.
	successes func() []verdict
}

// verdict is what a check says of an outcome.
type verdict struct {
	succeeded bool
	why       string
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
