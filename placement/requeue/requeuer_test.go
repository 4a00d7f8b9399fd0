package requeue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keeper is a pod that muster keeps all of node a for.
var keeper = newPod("keeper", "4")

func TestAPodIsWokenOnceWhenRoomThatMusterKeptIsFree(t *testing.T) {
	release := func(p *process) { p.cluster.Release(keeper.UID) }
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		then func(p *process)
		want []string
	}{
		{"the room is given up", newPod("p", "3", unschedulable), release, []string{"wake p"}},
		{"who had it is gone", newPod("p", "3", unschedulable), func(p *process) { p.remove(keeper) }, []string{"wake p"}},
		{
			"who had it is bound elsewhere", newPod("p", "3", unschedulable), func(p *process) { p.set(newPod("keeper", "4", on("b"))) },
			[]string{"wake p"},
		},
		{
			"nothing is heard of who had it", newPod("p", "3", unschedulable), func(p *process) { p.after(ttl - 2*time.Second) }, []string{"wake p"},
		},
		{"nothing", newPod("p", "3", unschedulable), func(*process) {}, nil},
		{"who had it is bound there", newPod("p", "3", unschedulable), func(p *process) { p.set(newPod("keeper", "4", on("a"))) }, nil},
		{"who had it runs and ends, which the scheduler sees", newPod("p", "3", unschedulable), func(p *process) {
			p.set(newPod("keeper", "4", on("a")))
			p.remove(keeper)
		}, nil},
		{"a pod is too large", newPod("p", "5", unschedulable), release, nil},
		{"a pod was not tried yet", newPod("p", "3"), release, nil},
		{"a pod is held back by a gate", newPod("p", "3", unschedulable, func(pod *corev1.Pod) {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
		}), release, nil},
		{
			"a pod is going",
			newPod("p", "3", unschedulable, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Now()} }), release, nil,
		},
		{
			"a pod is of another scheduler", newPod("p", "3", unschedulable, func(pod *corev1.Pod) { pod.Spec.SchedulerName = "other" }),
			release, nil,
		},
		{"the refusal shows after that", newPod("p", "3"), func(p *process) {
			release(p)
			p.after(3 * time.Second)
			p.set(newPod("p", "3", unschedulable))
		}, []string{"wake p"}},
		{"somebody else sees to the pod, and then not", newPod("p", "3", unschedulable), func(p *process) {
			p.seeTo(newPod("p", "1"), true)
			release(p)
			if writes := p.after(time.Minute); writes != nil {
				p.Fatal("it is woken though it is somebody else's:", writes)
			}
			p.seeTo(newPod("p", "1"), false)
		}, []string{"wake p"}},
		{"the pod has a place of its own, and loses it", newPod("p", "1", unschedulable), func(p *process) {
			release(p)
			p.keep(newPod("p", "1"), "a")
			if writes := p.after(10 * time.Second); writes != nil {
				p.Fatal("it is woken though it has a place:", writes)
			}
			p.cluster.Release("p")
		}, []string{"wake p"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(newNode("a", "4"), newNode("b", "0"), keeper, test.pod)
				p.keep(keeper, "a")
				test.then(p)
				if diff := cmp.Diff(test.want, p.after(5*time.Second)); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				p.remove(keeper)
			})
		})
	}
}

func TestAPodForWhichRoomWasMadeIsWokenWhenTheSchedulerMissedIt(t *testing.T) {
	victim := newPod("victim", "4", on("a"))
	nominated := func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "a" }
	for _, test := range []struct {
		name string
		then func(p *process)
		want []string
	}{
		{"it is not tried again", func(*process) {}, []string{"wake p"}},
		{"it is deaf", func(p *process) { p.after(victimRest) }, []string{"wake all by p on a"}},
		{"it is bound", func(p *process) { p.set(newPod("p", "3", on("a"))) }, nil},
		{"somebody else has the room", func(p *process) { p.set(newPod("other", "4", on("a"))) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(newNode("a", "4"), victim, newPod("p", "3", unschedulable, nominated))
				if writes := p.after(time.Minute); writes != nil {
					t.Fatal("it is woken while its victim is there:", writes)
				}
				p.remove(victim)
				test.then(p)
				if diff := cmp.Diff(test.want, p.after(firstRest)); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestNoMorePodsAreWokenThanThereIsRoomFor(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("urgent", "2", unschedulable, ofPriority(5)))
		p.set(several(5, "1")...)
		p.keep(keeper, "a")
		p.cluster.Release(keeper.UID)
		if diff := cmp.Diff([]string{"wake p000", "wake p001", "wake urgent"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodThatIsDeafToAnAnnotationIsWokenByANomination(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("urgent", "1", unschedulable, ofPriority(5)))
		p.set(several(2, "1")...)
		p.keep(keeper, "a")
		p.cluster.Release(keeper.UID)
		if diff := cmp.Diff([]string{"wake p000", "wake p001", "wake urgent"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("first writes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"wake all by urgent on a"}, p.after(firstRest)); diff != "" {
			t.Errorf("writes after a rest (-want +got):\n%s", diff)
		}
		p.remove(newPod("p000", "1"), newPod("p001", "1"), newPod("urgent", "1")) // they are bound
		if writes := p.after(time.Hour); writes != nil {
			t.Errorf("writes later: %v", writes)
		}
	})
}

func TestAPodThatMusterAloneThinksFitsIsNotWokenForEver(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("p", "1", unschedulable))
		p.keep(keeper, "a")
		p.cluster.Release(keeper.UID)
		if diff := cmp.Diff([]string{"wake all by p on a", "wake p"}, p.after(time.Hour)); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestAPodRestsThoughRoomIsFreedAllTheTime(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("p", "1", unschedulable))
		wakes := 0
		for range 600 {
			p.keep(keeper, "a")
			p.cluster.Release(keeper.UID)
			wakes += len(p.after(time.Second))
		}
		if wakes < 10 || wakes > 15 { // after 5 s, 10 s, 20 s, 40 s, and a minute each time
			t.Errorf("it is woken %d times in ten minutes", wakes)
		}
	})
}

func TestAWakeThatFailedIsRepeated(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("p", "1", unschedulable))
		p.keep(keeper, "a")
		p.refuse(true)
		p.cluster.Release(keeper.UID)
		if diff := cmp.Diff([]string{"wake p"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes that fail (-want +got):\n%s", diff)
		}
		p.refuse(false)
		if diff := cmp.Diff([]string{"wake p"}, p.after(firstRest)); diff != "" {
			t.Errorf("writes after that (-want +got):\n%s", diff)
		}
	})
}

func TestOfManyPodsEachHasItsTurn(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "4"), keeper, newPod("small", "1", unschedulable, ofPriority(-1)))
		p.set(several(3*mostLookedAt, "5")...)
		for range 5 { // the others come first, and room is freed all the time
			p.keep(keeper, "a")
			p.cluster.Release(keeper.UID)
			if writes := p.after(time.Second); len(writes) > 0 {
				return
			}
		}
		t.Error("the pod behind the others is not woken")
	})
}

func TestFewPodsAreWokenInOneGo(t *testing.T) {
	run(t, func(p *process) {
		p.set(newNode("a", "400"), newPod("keeper", "400"))
		p.set(several(2*mostLookedAt+20, "1")...)
		p.keep(keeper, "a")
		p.after(time.Second)
		p.cluster.Release(keeper.UID)
		for _, want := range []int{mostLookedAt, mostLookedAt, 20, 0} {
			if got := len(p.after(time.Second)); got != want {
				t.Errorf("%d pods are woken in a second, want %d", got, want)
			}
		}
	})
}

func TestALookThatRunsOutOfTimeWakesThoseThatItPlaced(t *testing.T) {
	run(t, func(p *process) {
		p.profiles.Replace(newStore(t, p.cluster, &slow{each: lookTime / 10}))
		p.set(newNode("a", "400"), newPod("keeper", "400"))
		p.set(several(30, "1")...)
		p.keep(keeper, "a")
		p.after(time.Second)
		p.cluster.Release(keeper.UID)
		woken := map[string]bool{}
		for range 5 {
			for _, write := range p.after(time.Second) {
				woken[write] = true
			}
		}
		if len(woken) != 30 {
			t.Errorf("%d of 30 pods are woken", len(woken))
		}
	})
}

func TestWhatOthersRefusedIsLookedAtOnce(t *testing.T) {
	run(t, func(p *process) {
		p.stop()
		p.set(newNode("a", "4"), newPod("p", "1", unschedulable))
		p.start() // a process that leads now
		if diff := cmp.Diff([]string{"wake p"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes of a new process (-want +got):\n%s", diff)
		}
		p.after(time.Hour)
		p.profiles.Replace(newStore(t, p.cluster, p.clock))
		if diff := cmp.Diff([]string{"wake p"}, p.after(2*time.Second)); diff != "" {
			t.Errorf("writes when profiles were replaced (-want +got):\n%s", diff)
		}
	})
}
