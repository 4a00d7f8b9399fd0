package evictions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// keeps is how long evictions are known here.
const keeps = time.Hour

// stored is the state of an API server.
type stored struct {
	text    string
	version int // 0 when there is no object
	fails   error
	lost    bool // answers of writes are
}

func (s *stored) Load(context.Context) (text, version string, err error) {
	if s.fails != nil || s.version == 0 {
		return "", "", s.fails
	}
	return s.text, fmt.Sprint(s.version), nil
}

func (s *stored) Save(_ context.Context, text, version string) (string, error) {
	resource := corev1.Resource("configmaps")
	switch {
	case s.fails != nil:
		return "", s.fails
	case version == "" && s.version != 0:
		return "", apierrors.NewAlreadyExists(resource, "c")
	case version != "" && s.version == 0:
		return "", apierrors.NewNotFound(resource, "c")
	case version != "" && version != fmt.Sprint(s.version):
		return "", apierrors.NewConflict(resource, "c", errors.New("changed"))
	}
	s.text, s.version = text, s.version+1
	if s.lost {
		return "", errors.New("no answer")
	}
	return fmt.Sprint(s.version), nil
}

// process is one that leads, with a clock of its own.
type process struct {
	*testing.T
	*Record

	clock *clocktesting.FakeClock
}

func begin(t *testing.T, s *stored, now time.Time) *process {
	clock := clocktesting.NewFakeClock(now)
	p := &process{t, New(Options{
		Logger: slog.New(slog.DiscardHandler), Clock: clock, Store: s, Remembers: func(Eviction) time.Duration { return keeps },
	}), clock}
	p.Sync(t.Context())
	return p
}

func (p *process) note(pod string) error {
	return p.Note(
		p.Context(),
		Eviction{Pod: types.UID(pod), Plan: "plan", Controller: "rs", Node: "n", Budgets: []string{"/a=b"}, At: p.clock.Now()},
	)
}

// want checks the pods with known evictions, and how old these are.
func (p *process) want(ages map[string]time.Duration) {
	p.Helper()
	got := map[string]time.Duration{}
	for _, e := range p.Evictions() {
		got[string(e.Pod)] = p.clock.Since(e.At)
	}
	if diff := cmp.Diff(ages, got); diff != "" {
		p.Errorf("ages (-want +got):\n%s", diff)
	}
}

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestEvictionsOutliveAProcessByTheirAge(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"of the same clock": 0, "a clock ahead": 3 * time.Hour, "a clock behind": -3 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			s := &stored{}
			p := begin(t, s, noon)
			for _, pod := range []string{"a", "b"} {
				if err := p.note(pod); err != nil {
					t.Fatal(err)
				}
				p.clock.Step(10 * time.Minute)
			}
			next := begin(t, s, noon.Add(ahead))
			next.want(map[string]time.Duration{"a": 10 * time.Minute, "b": 0}) // as when they were written
			next.clock.Step(20 * time.Minute)
			if err := next.note("c"); err != nil {
				t.Fatal(err)
			}
			next.want(map[string]time.Duration{"a": 30 * time.Minute, "b": 20 * time.Minute, "c": 0})
			last := begin(t, s, noon.Add(-ahead))
			last.want(map[string]time.Duration{"a": 30 * time.Minute, "b": 20 * time.Minute, "c": 0})
			want := Eviction{Pod: "c", Plan: "plan", Controller: "rs", Node: "n", Budgets: []string{"/a=b"}, At: noon.Add(-ahead)}
			if diff := cmp.Diff(want, last.Evictions()[2]); diff != "" {
				t.Errorf("the last one (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingMayBeEvictedBeforeItIsKnownWhatWas(t *testing.T) {
	s := &stored{fails: errors.New("away")}
	p := begin(t, s, noon)
	if err := p.note("a"); p.Ready() || !errors.Is(err, ErrUnread) || s.version != 0 {
		t.Errorf("ready %t, %v, stored %q", p.Ready(), err, s.text)
	}
	s.fails = nil
	p.clock.Step(retry)
	p.Sync(t.Context())
	if err := p.note("a"); !p.Ready() || err != nil {
		t.Errorf("ready %t, %v", p.Ready(), err)
	}
}

func TestAnEvictionThatCannotBeStoredIsNotToBeAskedFor(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	s.fails = apierrors.NewForbidden(corev1.Resource("configmaps"), "c", errors.New("no"))
	if err := p.note("a"); !apierrors.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
	p.want(map[string]time.Duration{})
}

func TestNobodyLosesEvictions(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(p *process, s *stored)
		want    []string
	}{
		"somebody else has written": {func(_ *process, s *stored) {
			s.text = strings.Replace(s.text, `"pod":"a"`, `"pod":"x"`, 1)
			s.version++
		}, []string{"a", "x"}},
		"the object was deleted": {func(_ *process, s *stored) { *s = stored{} }, []string{"a"}},
		"an answer was lost": {func(p *process, s *stored) {
			s.lost = true
			if err := p.note("b"); err == nil {
				p.Error("no error")
			}
			s.lost = false
		}, []string{"a", "b"}},
		"it cannot be struck out": {func(p *process, s *stored) {
			s.fails = errors.New("away")
			p.Strike(p.Context(), "a")
			s.fails = nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stored{}
			p := begin(t, s, noon)
			if err := p.note("a"); err != nil {
				t.Fatal(err)
			}
			test.happens(p, s)
			if err := p.note("last"); err != nil { // which notices
				p.Sync(t.Context())
				if err := p.note("last"); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string]time.Duration{"last": 0}
			for _, pod := range test.want {
				want[pod] = 0
			}
			p.want(want)
			begin(t, s, noon).want(want)
		})
	}
}

func TestAChangeIsStoredAsSoonAsItCanBe(t *testing.T) {
	one := Eviction{Pod: "a", Plan: "plan", Controller: "rs", Node: "n", Budgets: []string{"/a=b"}, At: noon}
	differs := one
	differs.Differs = true
	for name, test := range map[string]struct {
		change func(*process)
		want   []Eviction
	}{
		"one is struck out":         {func(p *process) { p.Strike(p.Context(), "a") }, nil},
		"its replacement differs":   {func(p *process) { p.Differs(p.Context(), "a") }, []Eviction{differs}},
		"one that nobody has noted": {func(p *process) { p.Strike(p.Context(), "x"); p.Differs(p.Context(), "x") }, []Eviction{one}},
	} {
		for _, fails := range []error{nil, errors.New("away"), apierrors.NewForbidden(corev1.Resource("configmaps"), "c", errors.New("no"))} {
			t.Run(fmt.Sprintf("%s, %v", name, fails), func(t *testing.T) {
				s := &stored{}
				p := begin(t, s, noon)
				if err := p.note("a"); err != nil {
					t.Fatal(err)
				}
				s.fails = fails
				test.change(p)
				s.fails = nil
				p.clock.Step(retry)
				p.Sync(t.Context())
				for what, got := range map[string][]Eviction{"known": p.Evictions(), "stored": begin(t, s, p.clock.Now()).Evictions()} {
					if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Eviction{}, "At")); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			})
		}
	}
}

func TestNoMoreThanAMinuteOfAnAgeIsLostWithAProcess(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	if err := p.note("a"); err != nil {
		t.Fatal(err)
	}
	for range 10 * 60 {
		p.clock.Step(time.Second)
		p.Sync(t.Context())
	}
	if s.version != 11 {
		t.Errorf("it was stored %d times in ten minutes", s.version-1)
	}
	copied := *s
	begin(t, &copied, noon).want(map[string]time.Duration{"a": 10 * time.Minute})
	p.clock.Step(keeps)
	p.Sync(t.Context())
	last := s.version
	p.clock.Step(keeps)
	p.Sync(t.Context())
	if s.text != "[]" || s.version != last {
		t.Errorf("stored %d times once it is forgotten: %s", s.version-last, s.text)
	}
}

func TestAnObjectThatIsDeletedIsMadeAnew(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	if err := p.note("a"); err != nil {
		t.Fatal(err)
	}
	*s = stored{}
	for range 2 {
		p.clock.Step(refresh)
		p.Sync(t.Context())
	}
	begin(t, s, noon).want(map[string]time.Duration{"a": 2 * refresh})
}

func TestWhatIsKnownOfAPodBeforeTheRecordIsReadCounts(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	for _, pod := range []string{"stays", "differs", "other"} {
		if err := p.note(pod); err != nil {
			t.Fatal(err)
		}
	}
	s.fails = errors.New("away")
	next := begin(t, s, noon)
	next.Strike(t.Context(), "stays")
	next.Differs(t.Context(), "differs")
	s.fails = nil
	next.clock.Step(retry)
	next.Sync(t.Context())
	for what, p := range map[string]*process{"known": next, "stored": begin(t, s, noon)} {
		got := map[types.UID]bool{}
		for _, e := range p.Evictions() {
			got[e.Pod] = e.Differs
		}
		if diff := cmp.Diff(map[types.UID]bool{"differs": true, "other": false}, got); diff != "" {
			t.Errorf("which of the %s evictions differ (-want +got):\n%s", what, diff)
		}
	}
}

func TestNothingIsStoredWhereNobodyIsEvicted(t *testing.T) {
	s := &stored{}
	if err := begin(t, s, noon).note("a"); err != nil {
		t.Fatal(err)
	}
	before := s.text
	p := begin(t, s, noon)
	p.ReadOnly = true
	p.Strike(t.Context(), "a")
	p.clock.Step(refresh)
	p.Sync(t.Context())
	p.want(map[string]time.Duration{})
	if s.text != before {
		t.Errorf("stored: %s", s.text)
	}
}

func TestOldEvictionsAreForgotten(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	for _, pod := range []string{"a", "b"} {
		if err := p.note(pod); err != nil {
			t.Fatal(err)
		}
		p.clock.Step(keeps / 2)
	}
	if err := p.note("c"); err != nil {
		t.Fatal(err)
	}
	p.want(map[string]time.Duration{"b": keeps / 2, "c": 0})
	if strings.Contains(s.text, `"a"`) {
		t.Errorf("stored: %s", s.text)
	}
}

func TestAFullRecordHoldsEvictionsBack(t *testing.T) {
	s := &stored{}
	p := begin(t, s, noon)
	long := strings.Repeat("x", 10_000)
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		err = p.Note(t.Context(), Eviction{Pod: types.UID(fmt.Sprint(n)), Node: long, At: p.clock.Now()})
		p.clock.Step(time.Second)
	}
	if !errors.Is(err, errFull) || len(s.text) > maxBytes || n < 80 {
		t.Errorf("after %d of ten kilobytes: %v; %d bytes are stored", n, err, len(s.text))
	}
	p.clock.Step(keeps)
	if err := p.note("last"); err != nil {
		t.Error(err)
	}
	p.want(map[string]time.Duration{"last": 0})
}

func TestATextThatNobodyCanHaveWrittenIsNotTakenForNone(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                              "evictions: json:",
		`[{"pod":"a","ageSeconds":-1}]`:   `evictions[0]: pod "a", ageSeconds -1: want a UID, and from 0 to`,
		`[{"pod":"a","ageSeconds":9e18}]`: "evictions",
		`[{"pod":"a","ageSeconds":0},{"node":"n"}]`:                       `evictions[1]: pod "", ageSeconds 0`,
		`[{"pod":"a","ageSeconds":` + fmt.Sprint(oldest+1) + `,"x":"y"}]`: "evictions[0]",
	} {
		s := &stored{text: text, version: 1}
		p := begin(t, s, noon)
		if err := p.note("b"); p.Ready() || err == nil || !strings.Contains(err.Error(), want) || s.text != text {
			t.Errorf("%s: ready %t, error %v", text, p.Ready(), err)
		}
	}
}
