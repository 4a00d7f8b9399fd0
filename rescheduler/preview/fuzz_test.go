package preview

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// FuzzDump plans for dumps, which somebody may have got from somebody else.
func FuzzDump(f *testing.F) {
	c, _, err := document.Decode([]byte("apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" +
		"profiles: [{plugins: {filter: {enabled: [{name: LoadAware}]}}}]\n"))
	if err != nil {
		f.Fatal(err)
	}
	policies := []v1alpha1.Policy{v1alpha1.MakeRoom, v1alpha1.Coalesce, v1alpha1.Respread, v1alpha1.Separate}
	for i, text := range append(boundedtest.Texts(), tight, `{"kind":"List","items":[{"apiVersion":"v1","kind":"Node",`+
		`"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1e30"}}}]}`,
		`{"kind":"PodList","apiVersion":"v1","items":[`+boundedtest.Times(100, `{"metadata":{"name":"p"}}`)+`]}`,
		`{"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n","labels":7},`+
			`"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1e-30000000"}}}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\u001b[2J\n"},"spec":{"nodeName":"n",`+
			`"containers":[{"resources":{"requests":{"cpu":"9e99"}}}]}}`,
	) {
		f.Add(byte(i), text)
	}
	f.Fuzz(func(t *testing.T, choice byte, text string) {
		run := func() {
			var out bytes.Buffer
			_, err := Run(t.Context(), Options{
				Config: c,
				Files:  []string{"-"},
				Stdin:  strings.NewReader(text),
				Policy: policies[int(choice)%len(policies)],
				Format: JSON,
				Out:    &out,
				Limits: planner.Limits{},
				Logger: slog.New(slog.DiscardHandler),
				Clock:  clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
			})
			if err != nil && len(err.Error()) > 16<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		}
		boundedtest.Bound{Times: 1000, Beside: 16 << 20}.Check(t, len(text), run)
	})
}
