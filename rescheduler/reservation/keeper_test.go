package reservation

import (
	"testing"

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

func version(of *v1alpha1.ReschedulingPlan, version string) *v1alpha1.ReschedulingPlan {
	plan := of.DeepCopy()
	plan.ResourceVersion = version
	return plan
}
