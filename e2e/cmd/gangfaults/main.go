// Command gangfaults looks for what breaks gangs; see package gangfaults. SEEDS, SEED and
// LANES shape it. The exit status is 1 when it finds something.
package main

import (
	"os"

	"muster.dev/muster/e2e/gangfaults"
)

func main() { os.Exit(gangfaults.Campaign().Main()) }
