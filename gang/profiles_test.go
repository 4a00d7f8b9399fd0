package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/predicates"
)

// newStores has a store for each profile, all on the cluster of the process.
func (p *process) newStores(configs ...config.Profile) (all []*predicates.VerdictStore) {
	p.Helper()
	metrics := predicates.NewStoreMetrics(prometheus.NewRegistry())
	for i := range configs {
		profile, err := predicates.NewProfile(&configs[i])
		if err != nil {
			p.Fatal(err)
		}
		all = append(all, predicates.NewVerdictStore(profile, p.cluster, 1<<30, metrics, clock.RealClock{}))
	}
	return all
}

func TestAGangIsPlannedByTheProfileThatIsInForce(t *testing.T) {
	run(t, func(p *process) {
		a := node("a", "4")
		a.Spec.Unschedulable = true
		pods := members("g", 2, "1")
		p.set(a, podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		if got := p.filter(pods[0]); got != core.ReasonNoPlace {
			t.Fatalf("on a node that is unschedulable it is told %q", got)
		}
		cfg := config.Default().Profiles[0]
		cfg.Plugins.Filter.Disabled = []config.Plugin{{Name: config.NodeUnschedulable}}
		p.machine.view.profiles.Replace(p.newStores(cfg)...)
		p.after(10 * time.Second) // nothing of the cluster changes
		if got := p.filter(pods[0]); got != "a" {
			t.Errorf("by a profile that does not mind it is told %q", got)
		}
	})
}

func TestGangsOfAllProfilesStandInOneOrderAndHaveEventsOfTheirOwn(t *testing.T) {
	run(t, func(p *process) {
		one, other := config.Default().Profiles[0], config.Default().Profiles[0]
		one.SchedulerName, other.SchedulerName = "one", "other"
		p.machine.view.profiles.Replace(p.newStores(one, other)...)
		of := func(name string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.SchedulerName = name }
		}
		for _, g := range []struct {
			name, schedulerName string
			priority            int32
		}{{"low", "one", 1}, {"high", "other", 9}, {"lower", "other", 0}, {"higher", "one", 10}} {
			p.set(podGroup(g.name, 2))
			p.set(objects(members(g.name, 2, "1", of(g.schedulerName), ofPriority(g.priority)))...)
		}
		p.after(time.Second)
		for name, want := range map[string]string{"low": "one", "high": "other"} {
			if o, _ := p.Publisher.Observe(named(name)); o.SchedulerName != want {
				t.Errorf("events about %s are reported by %q, want %s", name, o.SchedulerName, want)
			}
		}
		p.machine.view.profiles.Replace(p.newStores(one)...)
		if o, _ := p.Publisher.Observe(named("high")); o.SchedulerName != "" {
			t.Errorf("without its profile, events about a group are reported by %q", o.SchedulerName)
		}
		var order []string
		for _, g := range p.Observer.Report() {
			order = append(order, g.Name)
		}
		if diff := cmp.Diff([]string{"default/higher", "default/high", "default/low", "default/lower"}, order); diff != "" {
			t.Errorf("order of gangs (-want +got):\n%s", diff)
		}
	})
}
