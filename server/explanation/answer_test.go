package explanation

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/status"
)

// TestEachFieldIsToldOrKeptBack fails for a field if nobody has said whether people of one namespace may be told it.
func TestEachFieldIsToldOrKeptBack(t *testing.T) {
	for of, kept := range map[reflect.Type][]string{
		reflect.TypeFor[Pod]():        {"Summary", "Class", "Standby", "Nodes"},
		reflect.TypeFor[Membership](): {"brief"},
		reflect.TypeFor[Nodes]():      {},
		reflect.TypeFor[Gap]():        {"Node"},
		reflect.TypeFor[Gang]():       {},
		reflect.TypeFor[Seeking]():    {},
		reflect.TypeFor[Places]():     {"Lacks"}, // it names racks and nodes
		reflect.TypeFor[core.Summary](): {
			"Priority", "Planned", "Reason", "Wrong", "SchedulerName", "ReserveAfter",
		},
	} {
		told := toldOf(of)
		for field := range of.Fields() {
			name := field.Name
			if is := slices.Contains(kept, name); is == told[name] {
				t.Errorf("%s.%s: told %t, kept back %t: say which in brief.go or here", of.Name(), name, told[name], is)
			}
		}
	}
}

// toldOf names the fields that are not empty in brief, of a value in which none is.
func toldOf(of reflect.Type) map[string]bool {
	pod, gang := &Pod{}, &Gang{}
	fill(reflect.ValueOf(pod).Elem())
	fill(reflect.ValueOf(gang).Elem())
	pod.First = []string{"ns/gang"}
	brief, briefGang := pod.brief("ns"), gang.brief()
	var value reflect.Value
	for _, v := range []any{
		brief.Pod, *brief.Gang, brief.Room, *brief.Room.Nearest, briefGang, briefGang.Seeking[0], *briefGang.Places, briefGang.Summary,
	} {
		if reflect.TypeOf(v) == of {
			value = reflect.ValueOf(v)
		}
	}
	told := map[string]bool{}
	for i := range of.NumField() {
		told[of.Field(i).Name] = !value.Field(i).IsZero()
	}
	return told
}

// fill gives all exported fields of a value a value that is not empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type().String() == "time.Time" {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		if m, is := reflect.TypeAssert[*Membership](v.Addr()); is {
			m.brief = "x"
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	default:
		panic("a field of a kind that the test does not know: " + v.Type().String())
	}
}

func TestWhyAGangWaitsIsToldByItsReason(t *testing.T) {
	const words = "its places were needed by others/train"
	seen := map[string]status.Reason{}
	for _, reason := range append(status.Reasons(), status.None) {
		why := briefly(&core.Summary{Why: words, Reason: reason, Account: core.Account{Lacking: 2}, MinMember: 3})
		if why == "" || strings.Contains(why, "others/") {
			t.Errorf("%v: %q", reason, why)
		}
		seen[why] = reason
	}
	if len(seen) < 10 {
		t.Errorf("reasons are told alike: %v", seen)
	}
	for want, of := range map[string]core.Summary{
		"": {Reason: status.Unschedulable},
		"minMember: must be 1 or more": {
			Why: words, Reason: status.PodGroupInvalid, Wrong: "minMember: must be 1 or more",
		},
		"waiting for 2 more of 3 members": {
			Why: words, Reason: status.MembersMissing, Account: core.Account{Lacking: 3, Ready: 1}, MinMember: 3,
		},
		"waiting for members of a gang that starts together with it": {Why: words, Reason: status.MembersMissing, MinMember: 3},
	} {
		if got := briefly(&of); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A gang may have lost its places to one of another namespace, or be to start with one.
func TestTheWordsOfWhyAGangWaitsAreNotTold(t *testing.T) {
	const words = "its places were needed by others/train, which has a higher priority"
	for _, places := range []*Places{nil, {Wanted: 2, Found: 2}, {Wanted: 2, Found: 1, Short: 1}} {
		gangs := &Gangs{Gangs: []Gang{{
			Details: core.Details{Summary: core.Summary{Name: "lab/train", Why: words, Reason: status.Unschedulable}}, Places: places,
		}}}
		if text := printed(gangs.brief()); !strings.Contains(text, "gang lab/train waits: ") || strings.Contains(text, "others/") {
			t.Errorf("with places %+v:\n%s", places, text)
		}
	}
	summary := core.Summary{Name: "lab/train", Why: words, Reason: status.Unschedulable}
	pod := &Pod{Pod: "lab/a", Gang: &Membership{Gang: "lab/train", Stage: "pending", Why: words, brief: briefly(&summary)}}
	if text := printed(pod.brief("lab")); !strings.Contains(text, "pending: no places were found") || strings.Contains(text, "others/") {
		t.Errorf("of a pod:\n%s", text)
	}
}

func TestAnAnswerHasABound(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"one\ntwo\nthree\n", 12, "one\ntwo\n…\n"},
		{"onelongline", 8, "onel…"},
		{"äöüäöü", 10, "äöü…"},
	} {
		got := cut(test.text, test.most)
		if got != test.want || len(got) > test.most || !utf8.ValidString(got) {
			t.Errorf("%q in %d bytes is %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
