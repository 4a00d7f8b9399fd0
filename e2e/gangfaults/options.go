package gangfaults

import (
	"fmt"
	"strconv"
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

// OptionsFromEnv reads options from SEEDS, SEED, LANES and CAMPAIGN_MUSTER. With SEED alone
// there is one run.
func OptionsFromEnv(getenv func(string) string) (Options, error) {
	o := Options{Seeds: 50, First: 1, Lanes: 2, Muster: getenv(musterEnv)}
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
