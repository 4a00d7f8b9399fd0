// Command campaign looks for what nomination breaks; see package campaign. SEEDS, SEED, LANES, CAMPAIGN_LENGTH and
// CAMPAIGN_NODES shape it. The exit status is 1 when it finds something.
package main

import (
	"os"

	"muster.dev/muster/e2e/campaigns/campaign"
)

func main() { os.Exit(campaign.Campaign().Main()) }
