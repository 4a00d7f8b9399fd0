// Command gangfaults looks for what breaks gangs; see package gangfaults. SEEDS, SEED and
// LANES shape it. KIND=extender has the scheduler call muster, KIND=devices has it do so where members of
// gangs claim devices, KIND=native where gangs are Kubernetes' own groups, KIND=topology where nodes stand in racks and
// members have to be near each other, KIND=booking where small pods keep the cluster busy and large gangs have room booked,
// and KIND=plain has schedulers that know nothing of it; without it all come, one after the other. The exit status is 1 when
// it finds something.
package main

import (
	"fmt"
	"os"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/gangfaults"
)

func main() {
	kind := os.Getenv("KIND")
	var campaigns []faultcampaign.Campaign
	if kind == "" || kind == "extender" {
		campaigns = append(campaigns, gangfaults.Campaign())
	}
	if kind == "" || kind == "devices" {
		campaigns = append(campaigns, gangfaults.DeviceCampaign())
	}
	if kind == "" || kind == "native" {
		campaigns = append(campaigns, gangfaults.NativeCampaign())
	}
	if kind == "" || kind == "topology" {
		campaigns = append(campaigns, gangfaults.TopologyCampaign())
	}
	if kind == "" || kind == "booking" {
		campaigns = append(campaigns, gangfaults.BookingCampaign())
	}
	if kind == "" || kind == "plain" {
		campaigns = append(campaigns, gangfaults.AheadCampaign())
	}
	status := 0
	if len(campaigns) == 0 {
		fmt.Fprintf(os.Stderr, "KIND=%s: want extender, devices, native, topology, booking or plain\n", kind)
		status = 1
	}
	for _, c := range campaigns {
		status = max(status, c.Main())
	}
	os.Exit(status)
}
