// Command reschedulerfaults looks for what breaks rescheduling; see package reschedulerfaults. SEEDS, SEED and
// LANES shape it. The exit status is 1 when it finds something.
package main

import (
	"os"

	"muster.dev/muster/e2e/campaigns/reschedulerfaults"
)

func main() { os.Exit(reschedulerfaults.Campaign().Main()) }
