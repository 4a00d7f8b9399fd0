// Command campaign looks for what nomination breaks; see package campaign.
// CAMPAIGN_ROUNDS, CAMPAIGN_LENGTH, CAMPAIGN_SEED and CAMPAIGN_NODES shape it. The exit
// status is 1 when it finds something, or when too little happened to find anything.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/e2e/campaigns/campaign"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := campaign.OptionsFromEnv(os.Getenv)
	if err == nil {
		err = campaign.Run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
}
