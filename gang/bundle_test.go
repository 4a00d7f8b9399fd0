package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// Groups that start together share their fate, and a user who may write in one namespace must not hold up the
// groups of another.
func TestAGroupOfAnotherNamespaceHasToAgreeToStartTogether(t *testing.T) {
	for _, test := range []struct{ agreed, want string }{
		{`["other/guests"]`, core.ReasonInvalid},
		{`["default/hosts"]`, "a"},
	} {
		t.Run(fmt.Sprintf("the other one names %s", test.agreed), func(t *testing.T) {
			run(t, func(p *process) {
				hosts, guests := podGroup("hosts", 1), podGroup("guests", 1)
				annotate(hosts, v1alpha1.AnnotationGroups, `["other/guests"]`)
				annotate(guests, v1alpha1.AnnotationGroups, test.agreed)
				guest := members("guests", 1, "1")[0]
				for _, object := range []interface{ SetNamespace(string) }{guests, guest} {
					object.SetNamespace("other")
				}
				host := members("hosts", 1, "1")[0]
				p.set(node("a", "2"), hosts, guests, guest, host)
				p.after(time.Second)
				if got := p.filter(host); got != test.want {
					t.Errorf("the host is told %q, want %q", got, test.want)
				}
				if test.want == core.ReasonInvalid {
					if why := p.why("hosts"); !strings.Contains(why, "other/guests") {
						t.Errorf("people are told %q, which does not name the other one", why)
					}
				}
				if got := p.filter(guest); test.want == core.ReasonInvalid && got != "a" {
					t.Errorf("the guest, which has not agreed, is told %q and does not start", got)
				}
			})
		})
	}
}

func TestMoreGroupsThanMayHavePlacesDoNotStartTogether(t *testing.T) {
	for most, want := range map[int]string{1: core.ReasonHolding, 2: "a"} {
		t.Run(fmt.Sprintf("%d may have places", most), func(t *testing.T) {
			run(t, func(p *process) {
				p.limit(func(l *Limits) { l.MaxHolding = most })
				hosts, guests := podGroup("hosts", 1), podGroup("guests", 1)
				annotate(hosts, v1alpha1.AnnotationGroups, `["default/guests"]`)
				annotate(guests, v1alpha1.AnnotationGroups, `["default/hosts"]`)
				host, guest := members("hosts", 1, "1")[0], members("guests", 1, "1")[0]
				p.set(node("a", "2"), hosts, guests, guest, host)
				p.after(time.Second)
				if got := p.filter(host); got != want {
					t.Errorf("the host is told %q, want %q", got, want)
				}
				const why = "2 gangs of namespace default start together, and 1 may have places before they start " +
					"(gangs.maxHoldingPerNamespace)"
				if got := p.why("hosts"); want == core.ReasonHolding && got != why {
					t.Errorf("people are told %q, want %q", got, why)
				}
			})
		})
	}
}

func TestGroupsThatStartTogetherHaveToNameTheSameOnes(t *testing.T) {
	for _, test := range []struct {
		name  string
		named map[string]string // by who names them
		want  map[string]string
		why   string // of the masters
	}{
		{
			"all name all",
			map[string]string{
				"masters": `["default/workers", "default/servers"]`, "workers": `["default/masters", "default/servers"]`,
				"servers": `["default/masters", "default/servers", "default/workers"]`,
			},
			map[string]string{"masters": "a", "workers": "a", "servers": "a"},
			"",
		},
		{
			"one names another that says nothing",
			map[string]string{"masters": `["default/workers"]`},
			map[string]string{"masters": core.ReasonInvalid, "workers": "a", "servers": "a"},
			"default/workers, with which it is to start together, does not name default/masters",
		},
		{
			"a chain",
			map[string]string{
				"masters": `["default/workers"]`, "workers": `["default/masters", "default/servers"]`, "servers": `["default/workers"]`,
			},
			map[string]string{"masters": core.ReasonInvalid, "workers": core.ReasonInvalid, "servers": core.ReasonInvalid},
			"default/workers, with which it is to start together, also names default/servers",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				for name := range test.want {
					group := podGroup(name, 1)
					if named := test.named[name]; named != "" {
						annotate(group, v1alpha1.AnnotationGroups, named)
					}
					p.set(group, members(name, 1, "1")[0])
				}
				p.set(node("a", "3"))
				p.after(time.Second)
				for name, want := range test.want {
					if got := p.filter(members(name, 1, "1")[0]); got != want {
						t.Errorf("%s are told %q, want %q", name, got, want)
					}
				}
				if got := p.why("masters"); !strings.HasPrefix(got, test.why) {
					t.Errorf("the masters wait because: %s", got)
				}
			})
		})
	}
}

func TestNoGroupTakesMoreThanItMustFromThoseItStartsWith(t *testing.T) {
	run(t, func(p *process) {
		masters, workers := podGroup("masters", 1), podGroup("workers", 1)
		annotate(masters, v1alpha1.AnnotationGroups, `["default/workers"]`)
		annotate(workers, v1alpha1.AnnotationGroups, `["default/masters"]`)
		worker := members("workers", 1, "1")[0]
		p.set(node("a", "2"), masters, workers, worker)
		p.set(objects(members("masters", 3, "1"))...)
		p.after(time.Second)
		if got := p.filter(worker); got != "a" {
			t.Errorf("the worker is told %q beside three masters, where one is enough, on a node with room for two", got)
		}
	})
}

func TestNoStartIsRecordedBeforeAllGroupsOfABundleHaveCome(t *testing.T) {
	run(t, func(p *process) {
		masters, workers := podGroup("masters", 1), podGroup("workers", 1)
		annotate(masters, v1alpha1.AnnotationGroups, `["default/workers"]`)
		annotate(workers, v1alpha1.AnnotationGroups, `["default/masters"]`)
		master, worker := members("masters", 1, "1")[0], members("workers", 1, "1")[0]
		p.set(node("a", "2"), masters, workers, master, worker)
		p.after(time.Second)
		first := p.start(master)
		p.after(time.Second)
		p.wantRecords()
		p.wantHeld("with the worker", false, append(first, p.start(worker)...)...)
		p.wantRecords(record.Record{Members: 1, MinMember: 1}, record.Record{Members: 1, MinMember: 1})
	})
}
