package grove_test

import (
	"testing"

	"muster.dev/muster/gang/operators/grove"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestAPodGangMayAskForATopology(t *testing.T) {
	operatorstest.Expect(t, grove.Kind(), "testdata/near.yaml", map[string]string{
		"both-decode-0":    "both: 5, one block, few hostname",
		"few-decode-0":     "few: 5, few rack",
		"none-decode-0":    "none: 5",
		"elastic-decode-0": "elastic/elastic-decode: 2 with elastic/elastic-prefill, one block of elastic",
		"wrong-decode-0": "waits: metadata.annotations[muster.dev/required-topology]: Invalid value: \"no key\": " +
			"must be the key of a label of nodes, such as topology.kubernetes.io/zone",
	})
}

func TestPodsOfAPodGangStartTogether(t *testing.T) {
	operatorstest.Expect(t, grove.Kind(), "testdata/podgangs.yaml", map[string]string{
		"elastic-0-decode-abcde":    "elastic-0/elastic-0-decode: 2 with elastic-0/elastic-0-prefill",
		"elastic-0-prefill-abcde":   "elastic-0/elastic-0-prefill: 1 with elastic-0/elastic-0-decode",
		"inference-0-decode-abcde":  "inference-0: 5",
		"inference-0-prefill-abcde": "inference-0: 5",
	})
}
