package simulation

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/server/simulation/trace"
)

// What is decided before a job ends does not hang on when it does.
func TestNothingIsDecidedByTheTrueRuntimeOfAJobThatRuns(t *testing.T) {
	in, other := busy(t), busy(t)
	var differ time.Duration // when an end may differ first
	for _, cfg := range []time.Duration{0, 30 * time.Second} {
		for _, j := range other.Trace.Jobs {
			if j.At > 150*time.Second {
				j.SetRuns(j.Runs(trace.Ender{}) * 3)
			}
		}
		a, b := replayed(t, in, booking(cfg)), replayed(t, other, booking(cfg))
		differ = in.For
		for _, j := range in.Trace.Jobs {
			if fate := a.Jobs[j.Number]; j.At > 150*time.Second && fate.Started {
				differ = min(differ, fate.At+j.Runs(trace.Ender{}))
			}
		}
		count := 0
		for i := range a.Jobs {
			for at, pod := range a.Jobs[i].Pods {
				if pod.At >= differ {
					continue
				}
				count++
				if at >= len(b.Jobs[i].Pods) || b.Jobs[i].Pods[at] != pod {
					t.Fatalf("%s is bound to %+v before %s, and not if others run for longer then", in.Trace.Jobs[i].Name, pod, differ)
				}
			}
		}
		if count < 90 || differ == in.For {
			t.Fatalf("%d pods are bound before %s: the test shows nothing", count, differ)
		}
	}
}

// finder looks for values in all that an object holds.
type finder struct {
	t       *testing.T
	seen    map[any]bool
	numbers map[int64]bool
	text    string
	values  int
}

func (f *finder) find(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return
		}
		key := [3]any{v.Pointer(), v.Type(), v.Kind() == reflect.Slice && v.Len() > 0}
		if f.seen[key] {
			return
		}
		f.seen[key] = true
	}
	if v.Type() == reflect.TypeFor[World]() { // which ends pods, and is no part of muster
		return
	}
	f.values++
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			f.find(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.find(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			f.find(v.Index(i), path+"[]")
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			f.find(entries.Key(), path+"[key]")
			f.find(entries.Value(), path+"[]")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if f.numbers[v.Int()] {
			f.t.Errorf("%s has %d", path, v.Int())
		}
	case reflect.String:
		if strings.Contains(v.String(), f.text) {
			f.t.Errorf("%s has %q", path, v.String())
		}
	}
}

// Of a pod that runs, no part of muster holds when it ends, or anything that this follows from.
func TestNoPartOfMusterHoldsATrueRuntime(t *testing.T) {
	const runs = 7919 * time.Second // a number that is nowhere else
	err := InVirtualTime(func() error {
		w, err := New(Options{Config: booking(time.Second), Learns: true})
		if err != nil {
			return err
		}
		defer w.Close()
		w.Nodes(4, 2)
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			w.Queue(Pod(name, time.Minute))
		}
		none, long := func(int) {}, func(*corev1.Pod) time.Duration { return runs }
		w.Pass(1, none, long)
		w.Queue(Pod("g-0", 0, InGang("g", 3)), Pod("g-1", 0, InGang("g", 3)), Pod("g-2", 0, InGang("g", 3)))
		w.Pass(20, none, long)
		if len(w.Running()) != 6 || w.Booker.Booked().Pods != 3 {
			t.Errorf("%v run, and room is booked for %+v: the test shows nothing", w.Running(), w.Booker.Booked())
		}
		f := &finder{t: t, seen: map[any]bool{}, text: "7919", numbers: map[int64]bool{7919: true, int64(runs): true, runs.Milliseconds(): true}}
		for _, r := range w.running {
			for _, at := range []time.Time{r.to, r.to.Add(skew)} {
				f.numbers[at.Unix()], f.numbers[at.UnixNano()] = true, true
				f.numbers[reflect.ValueOf(at).FieldByName("ext").Int()] = true
			}
		}
		for name, part := range map[string]any{
			"cluster": w.Cluster, "booker": w.Booker, "history": w.History, "gangs": w.gangs, "keeper": w.keeper, "profiles": w.profiles,
			"rated": w.rated, "waiting": w.waiting,
		} {
			f.find(reflect.ValueOf(part), name)
		}
		if f.values < 10_000 {
			t.Errorf("%d values were looked at: the test shows nothing", f.values)
		}
		return w.Err()
	})
	if err != nil {
		t.Error(err)
	}
}
