package gang

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func says(annotation, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[annotation] = value
	}
}

func createdAgo(ago time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-ago)) }
}

// patient has a gang of two members that leaves others alone for two minutes.
func (p *process) patient(cpu string) []*corev1.Pod {
	p.Helper()
	group := podGroup("g", 2)
	annotate(group, v1alpha1.AnnotationPreemptAfter, "2m")
	gang := members("g", 2, cpu, ofPriority(10))
	p.set(group)
	p.set(objects(gang)...)
	p.after(time.Second)
	return gang
}

func TestNobodyIsEvictedBeforeAGangHasWaitedForRoom(t *testing.T) {
	for name, asks := range map[string]func(p *process, gang []*corev1.Pod){
		"the scheduler asks whom to evict": func(p *process, gang []*corev1.Pod) {
			for _, pod := range gang {
				if got := p.preempt(pod); got != "" {
					p.Errorf("it is told to evict %s", got)
				}
			}
		},
		"it asks about nodes alone": func(p *process, gang []*corev1.Pod) { p.filter(gang[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.running(2)
				gang := p.patient("3")
				asks(p, gang)
				p.after(time.Minute + 58*time.Second)
				asks(p, gang)
				if got := p.evictions(); len(got) > 0 {
					t.Errorf("%v are evicted", got)
				}
				if got, want := p.why("g"), "; nobody is evicted for it before 2000-01-01T00:02:"; !strings.Contains(got, want) {
					t.Errorf("it waits because: %s", got)
				}
				p.after(4*time.Second + p.limits.EvictAfter)
				if diff := cmp.Diff([]string{"on-a-0", "on-b-0"}, p.evictions()); diff != "" {
					t.Errorf("evicted after its time (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRoomThatComesBeforeEndsTheWaitOfAGang(t *testing.T) {
	run(t, func(p *process) {
		p.running(2)
		gang := p.patient("3")
		p.filter(gang[0])
		p.after(time.Minute)
		p.set(node("c", "4"), node("d", "4"))
		p.after(time.Minute)
		if diff := cmp.Diff([]string{"c", "d"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
		if got := p.why("g"); strings.Contains(got, "nobody is evicted") {
			t.Errorf("it waits because: %s", got)
		}
		if got := p.evictions(); len(got) > 0 {
			t.Errorf("%v are evicted", got)
		}
	})
}

func TestAGangLeavesOthersAloneAgainAfterAnEviction(t *testing.T) {
	run(t, func(p *process) {
		victims := p.running(2)
		gang := p.patient("3")
		p.filter(gang[0])
		p.after(2*time.Minute + time.Second + p.limits.EvictAfter)
		if got := p.evictions(); len(got) != 2 {
			t.Fatalf("%v are evicted", got)
		}
		p.after(p.limits.Timeout + 32*time.Second) // they do not go in time
		if got := p.placesOf(gang); got[0] != "" {
			t.Fatalf("it has places still: %v", got)
		}
		p.evictions()
		p.delete(victims...)
		p.set(members("new-a", 1, "4", alone, on("a"))[0], members("new-b", 1, "4", alone, on("b"))[0])
		p.set(node("z", "1")) // so that it may evict others at all
		p.filter(gang[0])
		p.after(20 * time.Second)
		if got := p.evictions(); len(got) > 0 {
			t.Errorf("%v are evicted less than its time after the last eviction", got)
		}
		p.after(20 * time.Second)
		if diff := cmp.Diff([]string{"new-a-0", "new-b-0"}, p.evictions()); diff != "" {
			t.Errorf("evicted after its time (-want +got):\n%s", diff)
		}
	})
}

func TestAPodIsNoVictimBeforeItHasRunForAsLongAsItAsks(t *testing.T) {
	const critical = v1alpha1.SystemCritical
	for name, test := range map[string]struct {
		asks     string
		ago      time.Duration
		priority int32
		waits    bool
	}{
		"it has just come":             {asks: "10m", ago: time.Minute, priority: 10, waits: true},
		"it has run for long":          {asks: "10m", ago: 11 * time.Minute, priority: 10},
		"it asks for a year":           {asks: "8760h", ago: 61 * time.Minute, priority: 10},
		"and has just come":            {asks: "8760h", ago: 50 * time.Minute, priority: 10, waits: true},
		"nonsense":                     {asks: "long", ago: time.Minute, priority: 10},
		"for what the system needs":    {asks: "10m", ago: time.Minute, priority: critical},
		"for what is less than system": {asks: "10m", ago: time.Minute, priority: critical - 1, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.running(2, says(v1alpha1.AnnotationMinRuntime, test.asks), createdAgo(test.ago))
				gang := members("g", 2, "3", ofPriority(test.priority), tried)
				p.set(podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(time.Second)
				if got := p.preempt(gang[0]) == ""; got != test.waits {
					t.Errorf("it has to wait: %t, want %t", got, test.waits)
				}
				if !test.waits {
					return
				}
				for _, pod := range gang { // the scheduler asks about each
					if got := p.preempt(pod); got != "" {
						t.Errorf("it is told to evict %s", got)
					}
				}
				p.after(3 * time.Second)
				if got, want := p.why("g"), "have not run for as long as they ask to"; !strings.Contains(got, want) {
					t.Errorf("it waits because: %s", got)
				}
				if got := p.evictions(); len(got) > 0 {
					t.Errorf("%v are evicted", got)
				}
				p.after(10 * time.Minute) // nothing changes
				evicted := p.evictions()
				if diff := cmp.Diff([]string{"on-a-0", "on-b-0"}, evicted[:min(2, len(evicted))]); diff != "" {
					t.Errorf("evicted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAMemberIsNotTakenAlongBeforeItHasRunForAsLongAsItAsks(t *testing.T) {
	for name, test := range map[string]struct {
		least int64
		want  string
	}{
		"the gang can do without another one": {1, "b: on-b-0"},
		"it cannot":                           {2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				for i, pod := range p.running(2) {
					pod.Labels = map[string]string{v1alpha1.LabelX: "low"}
					if i == 0 {
						says(v1alpha1.AnnotationMinRuntime, "10m")(pod)
					}
					p.set(pod)
				}
				gang := members("g", 1, "3", ofPriority(10), tried)
				p.set(podGroup("low", test.least), podGroup("g", 1))
				p.set(objects(gang)...)
				p.after(time.Second)
				if got := p.preempt(gang[0]); got != test.want {
					t.Errorf("evicted: %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestOfEqualVictimsTheOneGoesThatLosesTheLeast(t *testing.T) {
	checkpoint := func(ago time.Duration) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			says(v1alpha1.AnnotationCheckpointedAt, time.Now().Add(-ago).Format(time.RFC3339))(pod)
		}
	}
	plain := func(*corev1.Pod) {}
	for name, test := range map[string]struct {
		old  func(*corev1.Pod) // has run for two hours
		cpu  string            // that the old one holds
		want string
	}{
		"the young one":                   {plain, "4", "b: on-b-0"},
		"one that has saved its work":     {checkpoint(time.Minute), "4", "a: on-a-0"},
		"not one that did so long ago":    {checkpoint(90 * time.Minute), "4", "b: on-b-0"},
		"one that says it did in a while": {checkpoint(-time.Hour), "4", "a: on-a-0"},
		"nor before it began":             {checkpoint(300 * time.Hour), "4", "b: on-b-0"},
		"nonsense says nothing":           {says(v1alpha1.AnnotationCheckpointedAt, "now"), "4", "b: on-b-0"},
		"one that holds little":           {plain, "1500m", "a: on-a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("a", "4"), node("b", "4"))
				p.set(members("on-a", 1, test.cpu, alone, on("a"), createdAgo(2*time.Hour), test.old)[0])
				p.set(members("on-b", 1, "4", alone, on("b"), createdAgo(time.Hour))[0])
				gang := members("g", 1, "3", ofPriority(10), tried)
				p.set(podGroup("g", 1))
				p.set(objects(gang)...)
				p.after(time.Second)
				if got := p.preempt(gang[0]); got != test.want {
					t.Errorf("evicted: %q, want %q", got, test.want)
				}
			})
		})
	}
}
