package requeue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// refusePod has muster say that a pod fits nowhere, as its view is now.
func (p *process) refusePod(name string) {
	p.Refused(newPod(name, "1").UID, p.cluster.Snapshot().Generation)
}

func cordoned(node *corev1.Node) *corev1.Node {
	node.Spec.Unschedulable = true
	return node
}

// kube-scheduler may see a change before muster does: it asks about the pod, muster refuses it, and no event follows.
func TestAPodThatWasRefusedBeforeAChangeWasSeenIsWoken(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *process)
		want   []string
	}{
		"a node comes":         {func(p *process) { p.set(newNode("b", "4")) }, []string{"wake p"}},
		"a node is uncordoned": {func(p *process) { p.set(newNode("a", "4")) }, []string{"wake p"}},
		"a node grows": {func(p *process) {
			p.set(cordoned(newNode("a", "8")))
		}, nil},
		"the load of a node is measured": {func(p *process) { p.cluster.SetUsage("a", &cluster.Usage{}) }, nil},
		"nothing":                        {func(*process) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(cordoned(newNode("a", "4")), newPod("p", "1", unschedulable))
				p.after(3 * time.Second)
				p.refusePod("p")
				test.change(p)
				if diff := cmp.Diff(test.want, p.after(2*time.Second)); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if writes := p.after(time.Hour); len(writes) > 1 {
					t.Errorf("writes later: %v", writes)
				}
			})
		})
	}
}

// Without offload kube-scheduler refuses such a pod by itself, and no write reaches it (docs/limitations.md).
func TestAPodThatWaitsForTheLabelOfANamespaceIsWokenByOneWrite(t *testing.T) {
	namespace := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	near := func(pod *corev1.Pod) {
		unschedulable(pod)
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey:       corev1.LabelHostname,
				LabelSelector:     &metav1.LabelSelector{},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
			}},
		}}
	}
	run(t, func(p *process) {
		a := newNode("a", "4")
		a.Labels = map[string]string{corev1.LabelHostname: "a"}
		p.set(a, namespace(nil), newPod("till", "1", on("a"), func(pod *corev1.Pod) { pod.Namespace = "shop" }), newPod("p", "1", near))
		p.after(3 * time.Second)
		p.refusePod("p")
		if writes := p.after(time.Minute); len(writes) > 0 {
			t.Errorf("without the label: %v", writes)
		}
		p.set(namespace(map[string]string{"team": "red"}))
		if diff := cmp.Diff([]string{"wake p"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes after the label came (-want +got):\n%s", diff)
		}
	})
}

// The watch may show a pod late, and what kept its answer from being right with it.
func TestAPodThatWasRefusedBeforeTheWatchShowedItIsWoken(t *testing.T) {
	for name, test := range map[string]struct {
		refused int // other refused pods
		late    time.Duration
		want    []string
	}{
		"soon":          {0, 5 * time.Second, []string{"wake p"}},
		"long ago":      {0, time.Hour, nil},
		"with too many": {2 * mostStrangers, 5 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(newNode("a", "4"))
				p.after(3 * time.Second)
				for i := range test.refused {
					p.Refused(types.UID(fmt.Sprint(i)), 1)
				}
				p.refusePod("p")
				p.after(test.late)
				p.set(newPod("p", "1"))
				p.set(newPod("p", "1", unschedulable))
				if diff := cmp.Diff(test.want, p.after(2*time.Second)); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if got := p.strangers.ItemCount(); got > mostStrangers {
					t.Errorf("%d pods are remembered", got)
				}
			})
		})
	}
}

// kube-scheduler asks which pods to evict for a pod of a gang, and the watch does not show that yet.
func TestAPodThatMayEvictOthersOnceTheWatchShowsItIsWokenThen(t *testing.T) {
	run(t, func(p *process) {
		low, late := newPod("low", "4"), newPod("p", "4", unschedulable)
		low.Spec.NodeName = "a"
		p.set(newNode("a", "4"), low)
		p.after(3 * time.Second)
		p.Refused(late.UID, p.cluster.Snapshot().Generation)
		p.Postponed(late.UID, "a", p.cluster.Snapshot().Generation, 0)
		p.set(late)
		if diff := cmp.Diff([]string{"wake all by p on a"}, p.after(time.Hour)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestOfPodsThatMusterRefusedNoMoreAreWokenThanFit(t *testing.T) {
	run(t, func(p *process) {
		p.set(cordoned(newNode("a", "4")))
		p.set(several(10, "1")...)
		p.after(3 * time.Second)
		for i := range 10 {
			p.refusePod(fmt.Sprintf("p%03d", i))
		}
		p.set(newNode("a", "4"))
		if diff := cmp.Diff([]string{"wake p000", "wake p001", "wake p002", "wake p003"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodThatMusterRefusesEachTimeIsWokenAgainAfterARest(t *testing.T) {
	run(t, func(p *process) {
		p.set(cordoned(newNode("a", "4")), newPod("p", "1", unschedulable))
		p.after(3 * time.Second)
		again := func() { // before muster has seen what would have helped
			p.set(cordoned(newNode("a", "4")))
			p.refusePod("p")
			p.set(newNode("a", "4"))
		}
		var all []string
		again()
		for range 600 {
			if writes := p.after(time.Second); len(writes) > 0 {
				all = append(all, writes...)
				again()
			}
		}
		if len(all) < 10 || len(all) > 15 { // as often as its rest allows
			t.Errorf("it is woken %d times in ten minutes", len(all))
		}
		if strings.Contains(fmt.Sprint(all), "wake all") {
			t.Errorf("it hears, and others are woken with it: %v", all)
		}
	})
}

func TestOfManyPodsThatWereRefusedEachClassHasItsTurnAtOnce(t *testing.T) {
	run(t, func(p *process) {
		p.set(cordoned(newNode("a", "4")), newPod("small", "1", unschedulable, ofPriority(-1)))
		p.set(several(5*mostLookedAt, "5")...)
		p.after(3 * time.Second)
		p.refusePod("small")
		for i := range 5 * mostLookedAt {
			p.refusePod(fmt.Sprintf("p%03d", i))
		}
		p.set(newNode("a", "4"))
		if diff := cmp.Diff([]string{"wake small"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodThatKubeSchedulerAloneRefusesIsNotWokenForEachChange(t *testing.T) {
	run(t, func(p *process) {
		p.set(cordoned(newNode("a", "4")), newPod("p", "1", unschedulable))
		p.after(3 * time.Second)
		p.refusePod("p")
		var all []string
		for i := range 600 {
			p.set(newNode("a", fmt.Sprint(4+i)))
			all = append(all, p.after(time.Second)...)
		}
		if diff := cmp.Diff([]string{"wake p", "wake all by p on a"}, all); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestPodsOfAClassThatIsFullAreNotLookedAtOneByOne(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"))
		p.set(several(5*mostLookedAt, "5")...)
		p.lookAnew()
		p.after(time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		for name, w := range p.waiting {
			if w.heard != nothing {
				t.Fatalf("%s is still to be looked at", name)
			}
		}
	})
}

// measured is a predicate that wants figures of a node.
type measured struct{ unmeasured predicates.Verdict }

func (measured) Name() string { return config.LoadAware }

func (measured) Aspects() cluster.Aspect { return cluster.AspectUsage }

func (m measured) For(*cluster.Pod, *cluster.Snapshot) predicates.Check {
	return predicates.CheckFunc(func(node *cluster.Node) predicates.Verdict {
		if node.Usage == nil {
			return m.unmeasured
		}
		return predicates.Fits
	})
}

// kube-scheduler does not hear of the usage of nodes.
func TestAPodThatWasRefusedForTheLoadOfNodesIsWokenWhenThatChanges(t *testing.T) {
	run(t, func(p *process) {
		cfg := config.Default().Profiles[0]
		cfg.Plugins.Filter.Enabled = append(cfg.Plugins.Filter.Enabled, config.Plugin{Name: config.LoadAware})
		profile, err := predicates.NewProfile(&cfg, predicates.Plugin{
			Name: config.LoadAware, Reasons: []string{"nothing is known of its load"}, Reads: func(*cluster.Pod) string { return "" },
			Filter: func(first predicates.Verdict) predicates.Predicate { return measured{first} },
		})
		if err != nil {
			t.Fatal(err)
		}
		p.profiles.Replace(predicates.NewVerdictStore(
			profile, p.cluster, 1<<30, predicates.NewStoreMetrics(prometheus.NewRegistry()), p.clock,
		))
		p.set(newNode("a", "4"), newPod("p", "1", unschedulable))
		p.after(3 * time.Second)
		p.refusePod("p")
		if writes := p.after(10 * time.Second); writes != nil {
			t.Errorf("it is woken before: %v", writes)
		}
		p.cluster.SetUsage("a", &cluster.Usage{})
		if diff := cmp.Diff([]string{"wake p"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodThatMayEvictOthersLaterIsWokenThen(t *testing.T) {
	for name, test := range map[string]struct {
		before bool // something was freed before it was told to wait
		fail   bool // the first write
		again  bool // it is told once more to wait
		after  time.Duration
		freed  int
		want   []string
	}{
		"nothing is freed":  {},
		"something was":     {before: true},
		"something is":      {freed: 1, want: []string{"wake all by p on a"}},
		"more is":           {freed: 2, want: []string{"wake all by p on a"}},
		"the write fails":   {fail: true, freed: 1, want: []string{"wake all by p on a", "wake all by p on a"}},
		"its time has come": {after: 10 * time.Minute, want: []string{"wake all by p on a"}},
		"once more":         {again: true, freed: 2, want: []string{"wake all by p on a", "wake all by p on a"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				low, rival := newPod("low", "4"), newPod("p", "4", unschedulable)
				low.Spec.NodeName = "a"
				p.set(newNode("a", "4"), low, rival)
				p.after(3 * time.Second)
				var writes []string
				postpone := func() { p.Postponed(rival.UID, "a", p.cluster.Snapshot().Generation, test.after) }
				if test.before {
					p.cluster.NoteFreed()
				}
				postpone()
				writes = append(writes, p.after(2*time.Second)...)
				p.refuse(test.fail)
				for range test.freed {
					p.cluster.NoteFreed()
					writes = append(writes, p.after(2*time.Second)...)
					p.refuse(false)
					if test.again {
						postpone()
					}
					writes = append(writes, p.after(mostRest)...)
				}
				if diff := cmp.Diff(test.want, append(writes, p.after(time.Hour)...)); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			})
		})
	}
}
