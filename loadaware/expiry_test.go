package loadaware

import (
	"testing"
	"time"
)

// TestExpiryAndThresholdsAreSwitchesOfTheirOwn has each combination of the two switches, with and
// without leave to go to nodes whose figures have expired. The node offers 10 CPUs. 9 are busy, 1 is idle.
func TestExpiryAndThresholdsAreSwitchesOfTheirOwn(t *testing.T) {
	const (
		filters, believes, leave = "filterExpiredNodeMetrics: true\n", "filterExpiredNodeMetrics: false\n",
			"enableScheduleWhenNodeMetricsExpired: true\n"
		with, without = "usageThresholds: {cpu: 65}\n", "usageThresholds: {cpu: 0}\n"
	)
	states := map[string]figuresOf{
		"idle": using("1", "0"), "busy": using("9", "0"),
		"idle, expired": using("1", "0", aged(time.Hour)), "busy, expired": using("9", "0", aged(time.Hour)),
		"silent": using("0", "0", neverReported), "never measured": nil,
	}
	for _, test := range []struct {
		name, args string
		refused    map[string]string // the reasons, by the state of the node; the others fit
	}{
		{"both off", believes + without, nil},
		{"expiry alone", filters + without, map[string]string{
			"idle, expired": metricExpired, "busy, expired": metricExpired, "silent": metricExpired,
		}},
		{"thresholds alone", believes + with, map[string]string{"busy": cpuExceeds, "busy, expired": cpuExceeds}},
		{"both on", filters + with, map[string]string{
			"busy": cpuExceeds, "idle, expired": metricExpired, "busy, expired": metricExpired, "silent": metricExpired,
		}},
		{"expiry is left out, with thresholds", with, map[string]string{
			"busy": cpuExceeds, "idle, expired": metricExpired, "busy, expired": metricExpired, "silent": metricExpired,
		}},
		{"expiry is left out, without thresholds", without, map[string]string{
			"idle, expired": metricExpired, "busy, expired": metricExpired, "silent": metricExpired,
		}},
		{"no leave is given, without thresholds", "enableScheduleWhenNodeMetricsExpired: false\n" + without, map[string]string{
			"idle, expired": metricExpired, "busy, expired": metricExpired, "silent": metricExpired,
		}},
		{"leave goes before expiry", leave + filters + without, nil},
		{"leave goes before the last figures where expiry is on", leave + filters + with, map[string]string{"busy": cpuExceeds}},
		{"leave says nothing where expiry is off", leave + believes + with, map[string]string{
			"busy": cpuExceeds, "busy, expired": cpuExceeds,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for state, usage := range states {
				r := scene{args: test.args, usage: usage, pod: podObject("new")}.raise(t)
				verdict := r.profile.Judge(r.pod, r.cluster.Snapshot()).Verdict(r.node)
				if got := r.profile.Reason(verdict, r.pod); got != test.refused[state] {
					t.Errorf("%s: reason %q, want %q", state, got, test.refused[state])
				}
				e := r.load.Explain(r.node, r.pod)
				if e.Reason != test.refused[state] {
					t.Errorf("%s: explained by %q, want %q", state, e.Reason, test.refused[state])
				}
				if lately := e.Measured == "lately"; (e.Score > 0) != lately {
					t.Errorf("%s: measured %s, with a score of %d: only what was measured lately has one", state, e.Measured, e.Score)
				}
			}
		})
	}
}
