package attack

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// write is a request to the API server.
type write struct {
	about string
	do    func(context.Context, *user) error
}

// refusals is what the API server said of writes.
type refusals struct {
	let     []string // done
	refused int
}

func (r refusals) judge() verdict {
	if len(r.let) > 0 {
		return succeeded("it may %s", r.let[0])
	}
	return held("all %d writes are refused", r.refused)
}

// try makes writes, all of which should be refused: by its rights, by a policy or as they make no sense.
func (u *user) try(ctx context.Context, writes []write) (r refusals, err error) {
	for _, w := range writes {
		switch err := w.do(ctx, u); {
		case err == nil:
			r.let = append(r.let, w.about)
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			r.refused++
		default:
			return r, fmt.Errorf("to %s: %w", w.about, err)
		}
	}
	return r, nil
}

func writeAttack(by Attacker, name, tries string, do func(context.Context, *ground) (refusals, error)) Attack {
	return plan[refusals]{
		name:      name,
		by:        by,
		tries:     tries,
		do:        do,
		check:     refusals.judge,
		successes: []refusals{{let: []string{"write"}}},
	}.attack()
}
