package grove_test

import (
	"testing"

	"muster.dev/muster/gang/operators/grove"
	"muster.dev/muster/gang/operators/operatorstest"
)

func TestPodsOfAPodGangStartTogether(t *testing.T) {
	operatorstest.Expect(t, grove.Kind(), "testdata/podgangs.yaml", map[string]string{
		"elastic-0-decode-abcde":    "elastic-0/elastic-0-decode: 2 with elastic-0/elastic-0-prefill",
		"elastic-0-prefill-abcde":   "elastic-0/elastic-0-prefill: 1 with elastic-0/elastic-0-decode",
		"inference-0-decode-abcde":  "inference-0: 5",
		"inference-0-prefill-abcde": "inference-0: 5",
	})
}
