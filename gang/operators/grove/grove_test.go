package grove_test

import (
	"testing"

	"muster.dev/muster/gang/operators/grove"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestAPodGangMayAskForATopology(t *testing.T) {
	operatorstest.Expect(t, grove.Kind(), "testdata/near.yaml", map[string]string{
		"both-decode-0":    "both/both-decode: 3 with both/both-prefill, one rack, one block, few hostname of both",
		"few-decode-0":     "few/few-decode: 3 with few/few-prefill, one rack, few rack of few",
		"none-decode-0":    "none/none-decode: 3 with none/none-prefill, one rack",
		"elastic-decode-0": "elastic/elastic-decode: 2 with elastic/elastic-prefill, one rack, one block of elastic",
		"layers-prefill-0": "layers/layers-prefill: 2 with layers/layers-leader, layers/layers-workers, few hostname, one block of layers",
		"layers-workers-0": "layers/layers-workers: 2 with layers/layers-leader, layers/layers-prefill" +
			", one block of layers, one rack of layers/decode",
		"deep-workers-0": "deep/deep-workers: 2, one rack of deep/group-0",
		"wrong-decode-0": "waits: wrong: metadata.annotations[muster.dev/required-topology]: Invalid value: \"no key\": " +
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
