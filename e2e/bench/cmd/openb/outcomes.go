package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// outcome is the fate of the pods of a trace.
type outcome struct {
	bound    int
	stranded int           // pods that fitted somewhere in the end, and were not bound
	most     time.Duration // from the first binding until nine tenths of them were made
}

// timeOfMost is from the first binding until nine tenths of all were made, in their order.
func timeOfMost(boundAt []time.Time) time.Duration {
	if len(boundAt) == 0 {
		return 0
	}
	return boundAt[(9*len(boundAt)+9)/10-1].Sub(boundAt[0])
}

// outcomes has the outcomes of each contender, one for each round.
type outcomes map[contender.Contender][]*outcome

// median returns the median of a value over a contender's rounds.
func median[T cmp.Ordered](all []*outcome, of func(*outcome) T) T {
	values := make([]T, len(all))
	for i, o := range all {
		values[i] = of(o)
	}
	return figures.Quantile(values, 50)
}

func (o *outcome) pods() int           { return o.bound }
func (o *outcome) left() int           { return o.stranded }
func (o *outcome) time() time.Duration { return o.most }

func (r outcomes) print(out io.Writer, t trace, contenders []contender.Contender) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tbound\tfit but not bound\tnine tenths bound after\t")
	for _, c := range contenders {
		fmt.Fprintf(table, "%s%s\t%d\t%d\t%.1f s\t\n",
			t.prefix, c, median(r[c], (*outcome).pods), median(r[c], (*outcome).left), median(r[c], (*outcome).time).Seconds())
	}
	table.Flush()
	fmt.Fprintln(out)
	for _, c := range contenders {
		fmt.Fprintf(out, "figure openb_%sbound_%s=%d\n", t.prefix, c, median(r[c], (*outcome).pods))
		fmt.Fprintf(out, "figure openb_%sunbound_fitting_%s=%d\n", t.prefix, c, median(r[c], (*outcome).left))
	}
	for _, c := range contenders {
		if c != contender.Stock && len(r[contender.Stock]) > 0 {
			fmt.Fprintf(out, "figure openb_%stime_vs_stock_%s=%.2f\n", t.prefix, c, r.speed(c))
		}
	}
}

// speed is how many times as fast as the stock scheduler a contender bound nine tenths of what it bound, as the median
// of the rounds.
func (r outcomes) speed(c contender.Contender) float64 {
	var ratios []float64
	for round, o := range r[c] {
		ratios = append(ratios, r[contender.Stock][round].most.Seconds()/o.most.Seconds())
	}
	return figures.Quantile(ratios, 50)
}

// judge compares muster's outcomes with the stock scheduler's.
func (r outcomes) judge() error {
	var errs []error
	for _, c := range []contender.Contender{contender.Scheduler, contender.Extender, contender.Nominate} {
		if len(r[c]) == 0 {
			continue
		}
		bound := median(r[c], (*outcome).pods)
		if stock := r[contender.Stock]; len(stock) > 0 && bound < median(stock, (*outcome).pods) {
			errs = append(errs, fmt.Errorf("%s bound %d pods, the stock scheduler alone %d", c, bound, median(stock, (*outcome).pods)))
		}
		if n := median(r[c], (*outcome).left); n > 0 {
			errs = append(errs, fmt.Errorf("%s left %d pods unbound that fit", c, n))
		}
	}
	return errors.Join(errs...)
}
