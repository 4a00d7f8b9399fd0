package reservation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func TestWhatWasWrittenDoesNotHideWhatTheWatchHasShownSince(t *testing.T) {
	for name, test := range map[string]struct {
		shown func(k *Keeper, written *v1alpha1.ReschedulingPlan)
		want  string // the version that is known, "" for no plan
	}{
		"the watch is slower":                 {func(*Keeper, *v1alpha1.ReschedulingPlan) {}, "10"},
		"the watch has shown the same":        {func(k *Keeper, written *v1alpha1.ReschedulingPlan) { k.Set(written) }, "10"},
		"somebody else has written meanwhile": {func(k *Keeper, written *v1alpha1.ReschedulingPlan) { k.Set(version(written, "11")) }, "11"},
		"the plan is gone":                    {func(k *Keeper, written *v1alpha1.ReschedulingPlan) { k.Delete(written.Name) }, ""},
		"another plan has its name": {func(k *Keeper, written *v1alpha1.ReschedulingPlan) {
			other := version(written, "9")
			other.UID = "other"
			k.Set(other)
		}, "9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.keeper.Set(version(w.plan, "9"))
			written := version(w.plan, "10")
			test.shown(w.keeper, written)
			w.keeper.Wrote(written)
			got := ""
			for _, plan := range w.keeper.Plans() {
				got = plan.ResourceVersion
			}
			if got != test.want {
				t.Errorf("version %q is known, want %q", got, test.want)
			}
		})
	}
}

func TestTheWatchDoesNotHideWhatWasWrittenSince(t *testing.T) {
	w := newWorld(t)
	w.keeper.Set(version(w.plan, "9"))
	w.keeper.Wrote(version(w.plan, "11"))
	for _, shown := range []struct{ version, known string }{{"10", "11"}, {"11", "11"}, {"12", "12"}} {
		w.keeper.Set(version(w.plan, shown.version))
		if got := w.keeper.Plans()[0].ResourceVersion; got != shown.known {
			t.Errorf("version %s is known after the watch has shown %s, want %s", got, shown.version, shown.known)
		}
	}
}

// A watch shows plans and pods in any order.
func TestRoomIsKeptForAPodThatIsShownAfterItsPlan(t *testing.T) {
	w := newWorld(t)
	big := w.pod("big", "4")
	if err := w.cluster.Delete(big); err != nil {
		t.Fatal(err)
	}
	w.keeper.Set(w.plan)
	w.set(big)
	w.keeper.Refresh()
	for _, r := range w.keeper.Report() {
		if r.Node == "n1" {
			return
		}
	}
	t.Errorf("no room is kept on n1: %v", w.keeper.Report())
}

// The times of a plan are by the clock of the rescheduler, which may be any.
func TestRoomIsKeptForAsLongAsThePlanMayTakeByTheClockOfThisProcess(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"a day ahead": 24 * time.Hour, "a day behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			approved := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			clock := clocktesting.NewFakeClock(approved.Add(ahead))
			k := New(Options{Logger: w.keeper.log, Clock: clock, Cluster: w.cluster, Profiles: w.keeper.profiles})
			plan := w.plan.DeepCopy()
			plan.Status.Phase = v1alpha1.Pending
			plan.Status.Approved, plan.Status.Expires = new(metav1.NewTime(approved)), new(metav1.NewTime(approved.Add(10*time.Minute)))
			k.Set(plan)
			if kept := k.Report(); len(kept) > 0 {
				t.Errorf("room is kept for a plan that does not run: %v", kept)
			}
			clock.Step(time.Hour)
			running := plan.DeepCopy()
			running.Status.Phase = v1alpha1.Approved
			k.Set(running)
			clock.Step(10*time.Minute - time.Second)
			k.Refresh()
			if len(k.Report()) == 0 {
				t.Error("room is not kept until the time is up")
			}
			clock.Step(time.Second)
			k.Refresh()
			if kept := k.Report(); len(kept) > 0 {
				t.Errorf("room is kept after that: %v", kept)
			}
		})
	}
}

func version(of *v1alpha1.ReschedulingPlan, version string) *v1alpha1.ReschedulingPlan {
	plan := of.DeepCopy()
	plan.ResourceVersion = version
	return plan
}
