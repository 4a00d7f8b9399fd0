package loadaware

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

func TestCollectorCountsNodesByUtilisation(t *testing.T) {
	c := newCluster()
	_, profile, _ := made(t, c, "resourceWeights: {cpu: 1}\nusageThresholds: {cpu: 65}")
	store := predicates.NewVerdictStore(profile, c, 1<<20, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	for name, cpu := range map[string]string{"a": "2", "b": "7", "c": "9"} {
		_ = c.Set(nodeObject(name))
		c.SetUsage(name, using(cpu, "0")())
	}
	_ = c.Set(nodeObject("old"))
	c.SetUsage("old", using("1", "0", neverReported)())
	_ = c.Set(nodeObject("unknown"))
	coming := cluster.NewPod(podObject("coming", asking("cpu", "2"))) // 1,700m
	c.Expect(coming, "a")
	defer c.Release(coming.UID)
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector(predicates.NewProfiles(store), c))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	refusing := map[string]float64{}
	sums, upTo70 := map[string]float64{}, map[string]uint64{}
	for _, family := range families {
		for _, m := range family.Metric {
			labels := ""
			for _, label := range m.Label {
				labels += " " + label.GetValue()
			}
			if h := m.Histogram; h != nil {
				for _, bucket := range h.Bucket {
					if count := bucket.GetCumulativeCount(); bucket.GetUpperBound() == 70 || bucket.GetUpperBound() == 0.7 {
						upTo70[family.GetName()+labels] = count
					}
				}
				sums[family.GetName()+labels] = h.GetSampleSum()
			} else if v := m.Gauge.GetValue(); v > 0 {
				refusing[labels] = v
			}
		}
	}
	// 20 + 70 + 90 + 10 %, and 17 more for the pod that is expected.
	for unit, scale := range map[string]float64{"_ratio": 1, "_percent": 100} {
		if got := sums["muster_load_node_utilization"+unit+" default-scheduler cpu"]; math.Abs(got-1.9*scale) > scale/1e9 {
			t.Errorf("measured%s %v, want %v", unit, got, 1.9*scale)
		}
		if got := sums["muster_load_node_estimate"+unit+" default-scheduler cpu"]; math.Abs(got-2.07*scale) > scale/1e9 {
			t.Errorf("estimated%s %v, want %v", unit, got, 2.07*scale)
		}
		if got := upTo70["muster_load_node_estimate"+unit+" default-scheduler cpu"]; got != 3 {
			t.Errorf("estimate%s: %d nodes use at most 70 %%, want 3 of 4", unit, got)
		}
	}
	if refusing[" default-scheduler node(s) cpu usage exceed threshold"] != 2 ||
		refusing[" default-scheduler node(s) nodeMetric expired"] != 1 ||
		len(refusing) != 2 {
		t.Errorf("refusing %v, want two for their usage and one that never reported", refusing)
	}
}
