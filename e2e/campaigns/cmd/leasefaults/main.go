// Command leasefaults looks for two muster that lead at a time; see package leasefaults. SEEDS, SEED
// and LANES shape it. The exit status is 1 when it finds something.
package main

import (
	"os"

	"muster.dev/muster/e2e/campaigns/leasefaults"
)

func main() { os.Exit(leasefaults.Campaign().Main()) }
