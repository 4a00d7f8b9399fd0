package faultcampaign

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// Environment variables that shape the campaign.
const (
	seedsEnv  = "SEEDS"
	seedEnv   = "SEED"
	lanesEnv  = "LANES"
	musterEnv = "CAMPAIGN_MUSTER"
)

// Options of a campaign.
type Options struct {
	// Seeds is how many runs there are, with seeds from First on.
	Seeds int
	First uint64
	// Lanes is how many control planes there are, each for one run at a time.
	Lanes int
	// Muster is the path of the muster to judge; that of this checkout is built when empty.
	Muster string
}

// OptionsFromEnv reads options from SEEDS, SEED, LANES and CAMPAIGN_MUSTER. SEED is the first one. With SEED alone
// there is one run; without SEEDS and LANES their defaults hold.
func OptionsFromEnv(getenv func(string) string, seeds, lanes int) (Options, error) {
	o := Options{Seeds: seeds, First: 1, Lanes: lanes, Muster: getenv(musterEnv)}
	var err error
	if text := getenv(seedEnv); text != "" {
		if o.First, err = strconv.ParseUint(text, 10, 64); err != nil {
			return o, fmt.Errorf("%s=%s: want a number from 0 on", seedEnv, text)
		}
		o.Seeds = 1
	}
	for _, number := range []struct {
		name string
		into *int
	}{{seedsEnv, &o.Seeds}, {lanesEnv, &o.Lanes}} {
		if text := getenv(number.name); text != "" {
			if *number.into, err = strconv.Atoi(text); err != nil || *number.into < 1 {
				return o, fmt.Errorf("%s=%s: want a number from 1 on", number.name, text)
			}
		}
	}
	o.Lanes = min(o.Lanes, o.Seeds)
	return o, nil
}

// OverLanes has each lane run the seeds that it gets until there are no more. It returns the
// first error of a lane, with which the others are told to end.
func (o Options) OverLanes(ctx context.Context, run func(ctx context.Context, lane int, seeds <-chan uint64) error) error {
	seeds := make(chan uint64)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer close(seeds)
		for i := range o.Seeds {
			select {
			case seeds <- o.First + uint64(i):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for lane := range o.Lanes {
		all.Go(func() error { return run(ctx, lane, seeds) })
	}
	return all.Wait()
}
