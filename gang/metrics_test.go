package gang

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/gang/record"
)

// total is the value of a metric that has no labels.
func (p *process) total(name string) (total float64) {
	families, err := p.registry.Gather()
	if err != nil {
		p.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			total += family.Metric[0].GetCounter().GetValue()
		}
	}
	return total
}

// measured are the values of a metric that are not 0, by its label.
func (p *process) measured(name string) map[string]float64 {
	p.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		p.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			if value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue(); family.GetName() == name && value != 0 {
				values[metric.Label[0].GetValue()] = value
			}
		}
	}
	return values
}

func TestGangsAndWhatTheyKeepFromOthersAreCounted(t *testing.T) {
	gpu := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("2")
	}
	run(t, func(p *process) {
		a := node("a", "8")
		a.Status.Allocatable["example.com/gpu"] = resource.MustParse("8")
		p.set(a, podGroup("planned", 2), podGroup("started", 2), podGroup("waiting", 2), members("unknown", 1, "1")[0])
		planned := members("planned", 2, "1500m", gpu)
		p.set(objects(planned)...)
		p.set(objects(members("started", 2, "1", on("a")))...)
		p.set(members("waiting", 1, "1")[0])
		p.after(time.Second)
		call := p.start(planned[0])[0]
		want := map[string]float64{"Pending": 2, "Scheduling": 1, "Scheduled": 1}
		if diff := cmp.Diff(want, p.measured("muster_gangs")); diff != "" {
			t.Errorf("gangs by phase (-want +got):\n%s", diff)
		}
		want = map[string]float64{"cpu": 3, "example.com/gpu": 4}
		if diff := cmp.Diff(want, p.measured("muster_gang_idle_resources")); diff != "" {
			t.Errorf("idle with one that is held and one that has a place (-want +got):\n%s", diff)
		}
		p.start(planned[1])
		if call.held() {
			t.Error("the gang has not started")
		}
		if diff := cmp.Diff(map[string]float64{}, p.measured("muster_gang_idle_resources")); diff != "" {
			t.Errorf("idle when it has started (-want +got):\n%s", diff)
		}
	})
}

func TestDenialsAreCountedByReason(t *testing.T) {
	planned := func(p *process) []*corev1.Pod {
		gang := members("g", 2, "2")
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		return gang
	}
	for reason, given := range map[string]func(p *process){
		"unschedulable": func(p *process) {
			p.set(node("a", "1"), podGroup("g", 2))
			p.set(objects(members("g", 2, "2"))...)
		},
		"outranked": func(p *process) {
			planned(p)
			single := members("single", 1, "1", ofPriority(5), alone)[0]
			p.set(single)
			p.Verbs.GiveWay(p.cluster.PendingPod(single.UID), p.machine.view.profiles.Of(corev1.DefaultSchedulerName))
		},
		"timeout": func(p *process) {
			planned(p)
			p.after(p.limits.Timeout)
		},
		"victims": func(p *process) {
			p.running(2)
			gang := members("g", 2, "3", ofPriority(1))
			p.set(podGroup("g", 2))
			p.set(objects(gang)...)
			p.after(time.Second)
			p.preempt(gang[0])
			p.after(2*time.Minute + p.limits.Timeout)
		},
		"invalid": func(p *process) {
			planned(p)
			p.set(podGroup("g", -1))
		},
		"unrecorded": func(p *process) {
			p.trouble = func(context.Context) error { return errors.New("the API server is away") }
			p.start(planned(p)...)
		},
		"fenced": func(p *process) {
			p.trouble = func(context.Context) error { return record.ErrFenced }
			p.start(planned(p)...)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			run(t, func(p *process) {
				given(p)
				p.after(time.Second)
				if got := p.measured("muster_gang_denials_total"); got[reason] == 0 {
					t.Errorf("denials: %v, want some of %s", got, reason)
				}
			})
		})
	}
}
