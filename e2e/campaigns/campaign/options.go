package campaign

import (
	"fmt"
	"strconv"
	"time"
)

// Environment variables that change the campaign.
const (
	roundsEnv = "CAMPAIGN_ROUNDS"
	lengthEnv = "CAMPAIGN_LENGTH"
	seedEnv   = "CAMPAIGN_SEED"
	nodesEnv  = "CAMPAIGN_NODES"
	musterEnv = "CAMPAIGN_MUSTER"
)

// Options of a campaign.
type Options struct {
	// Rounds is how many streams of events there are, with seeds from Seed on.
	Rounds int
	Seed   uint64
	// Length is how long a stream takes. Each is run five times.
	Length time.Duration
	Nodes  int
	// Muster is the path of the muster to judge; that of this checkout is built when empty.
	Muster string
}

// OptionsFromEnv reads options from CAMPAIGN_ROUNDS, CAMPAIGN_SEED, CAMPAIGN_LENGTH,
// CAMPAIGN_NODES and CAMPAIGN_MUSTER. Unless told otherwise a campaign takes about
// half an hour.
func OptionsFromEnv(getenv func(string) string) (Options, error) {
	o := Options{Rounds: 3, Seed: 1, Length: 90 * time.Second, Nodes: 120, Muster: getenv(musterEnv)}
	var err error
	if text := getenv(roundsEnv); text != "" {
		if o.Rounds, err = strconv.Atoi(text); err != nil || o.Rounds < 1 {
			return o, fmt.Errorf("%s=%s: want a number from 1 on", roundsEnv, text)
		}
	}
	if text := getenv(seedEnv); text != "" {
		if o.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return o, fmt.Errorf("%s=%s: want a number from 0 on", seedEnv, text)
		}
	}
	if text := getenv(lengthEnv); text != "" {
		if o.Length, err = time.ParseDuration(text); err != nil || o.Length < shortest {
			return o, fmt.Errorf("%s=%s: want a duration such as 2m, %s at least", lengthEnv, text, shortest)
		}
	}
	if text := getenv(nodesEnv); text != "" {
		if o.Nodes, err = strconv.Atoi(text); err != nil || o.Nodes < fewest {
			return o, fmt.Errorf("%s=%s: want a number from %d on", nodesEnv, text, fewest)
		}
	}
	return o, nil
}

// Less than that proves nothing.
const (
	shortest = 10 * time.Second
	fewest   = 10
)
