package backfill

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/runtimes"
)

// Outcome sums a forecast up.
type Outcome string

// The outcomes of forecasts.
const (
	// Goes says that it does not wait: its members have places, or start one by one.
	Goes Outcome = "Goes"
	// Now says that there is room for it.
	Now Outcome = "Now"
	// Later says that there is room once pods have ended that are expected to.
	Later Outcome = "Later"
	// NoPromise says that there is no room even once all pods have ended that are expected to.
	NoPromise Outcome = "NoPromise"
	// NotPlanned says that no place is looked for: members are missing, or held back, or choose with the groups of a tree.
	NotPlanned Outcome = "NotPlanned"
)

// Forecast says when a gang could start, if pods end as expected and nobody of higher priority comes.
type Forecast struct {
	Gang    string  `json:"gang"` // namespace/name
	Label   string  `json:"label"`
	Outcome Outcome `json:"outcome"`
	// At is when it could start, by the clock of muster, and InSeconds how long that is from now. Where ends are not certain, it is as
	// likely to be earlier as later. In nine of ten cases it is no later than By, as far as former forecasts tell.
	At        time.Time `json:"at,omitzero"`
	InSeconds float64   `json:"inSeconds,omitempty"`
	By        time.Time `json:"by,omitzero"`
	// Ends is how many pods have to end first on the nodes that the gang would have, and Last the last one, namespace/name. That one counts
	// on another node, too, as where members must not be near it.
	Ends int    `json:"ends,omitempty"`
	Last string `json:"last,omitempty"`
	// Booked says that others are kept off these nodes until then, and NotBooked in words why they are not.
	Booked    bool   `json:"booked,omitempty"`
	NotBooked string `json:"notBooked,omitempty"`
	// Expected is of how many pods an end is expected at all, of Running, and Learned of how many by former pods alone.
	Expected int `json:"expected"`
	Learned  int `json:"learned,omitempty"`
	Running  int `json:"running"`
	// Why it waits, in words.
	Why string `json:"why,omitempty"`

	lots time.Time // By, as far as draws tell
}

// Forecasts are of the gangs of one name: there may be one for each label.
type Forecasts struct {
	Gangs []Forecast `json:"gangs"`
}

// When forecasts when the gangs of a name start. There are none when there is no such gang. It reports false while it is asked about
// another one: each forecast plans a gang several times.
func (b *Booker) When(name types.NamespacedName) (*Forecasts, bool) {
	if !b.forecasting.TryLock() {
		return nil, false
	}
	defer b.forecasting.Unlock()
	all := b.report()
	forecasts := &Forecasts{Gangs: []Forecast{}}
	for i := range all {
		if all[i].Name == name.String() {
			forecasts.Gangs = append(forecasts.Gangs, b.forecast(&all[i]))
		}
	}
	return forecasts, true
}

func (b *Booker) forecast(s *core.Summary) Forecast {
	f := Forecast{Gang: s.Name, Label: s.Label, Outcome: Goes, Why: s.Why}
	if s.Lacking == 0 {
		return f
	}
	snap := b.cluster.Snapshot()
	ends := runtimes.See(snap, b.stamps, b.history)
	f.Expected, f.Learned, f.Running = len(ends.Of), ends.Learned, ends.Running
	f.Booked = b.Booked().Key == keyOf(s)
	outlook, ok := b.gangs.Outlook(keyOf(s), ends.Of, false)
	if ok && !f.Booked {
		f.NotBooked = cmp.Or(b.waits.whyNotYet(s, b.stamps.Now().Sub(s.Since)), tooLarge(&outlook))
	}
	switch {
	case !ok:
		f.Outcome = NotPlanned
	case !outlook.Fits():
		f.Outcome = NoPromise
	case len(outlook.Ends) == 0:
		f.Outcome = Now
	default:
		f.Outcome = Later
		f.At = b.from(keyOf(s), &outlook, b.clock.Now())
		f.lots = f.At
		if ends.Unsure {
			f.At, f.lots = b.drawn(keyOf(s), &ends, f.At)
		}
		if !f.lots.IsZero() {
			f.By = b.promises.by(keyOf(s).Namespace, b.clock.Now(), f.lots, !ends.Unsure)
			if f.By.Before(f.At) {
				f.At = f.By
			}
		}
		f.InSeconds = f.At.Sub(b.clock.Now()).Seconds()
		f.waitsFor(&outlook)
	}
	return f
}

const (
	// lots is how many times the ends are drawn for a forecast: one of ten starts alike is later than the last one of nine.
	lots = 9
	// drawing is how long they are drawn at most.
	drawing = 3 * time.Second
)

// drawn returns when a gang has its places by ends that are drawn: in the middle of the cases, and in the last one. Without the time to
// draw enough of them the last one is not known, and zero.
func (b *Booker) drawn(key membership.Key, ends *runtimes.Ends, expected time.Time) (at, by time.Time) {
	var cases []time.Time
	random, began := rand.New(rand.NewPCG(lots, 0)), b.clock.Now() // of the same ends the same is said
	for len(cases) < lots && b.clock.Since(began) < drawing {
		outlook, ok := b.gangs.Outlook(key, ends.Drawn(random), false)
		if !ok || !outlook.Fits() {
			break
		}
		cases = append(cases, b.from(key, &outlook, b.clock.Now()))
	}
	slices.SortFunc(cases, time.Time.Compare)
	if len(cases) < lots {
		return expected, time.Time{}
	}
	return cases[lots/2], cases[lots-1]
}

// waitsFor counts the pods that have to end: on the nodes of a gang, and the last one, without whose end there is no room.
func (f *Forecast) waitsFor(outlook *gang.Outlook) {
	ends := endsOnPlaces(outlook)
	if f.Ends = len(ends); f.Ends > 0 {
		f.Last = ends[f.Ends-1].Pod.FullName()
	}
}

// Text implements [inspect.Answer].
func (f *Forecasts) Text(t *inspect.Table) {
	for i := range f.Gangs {
		t.Row(f.Gangs[i].String())
	}
}

// Promises reports whether all of them start, or a time can be said at which they do.
func (f *Forecasts) Promises() bool {
	for i := range f.Gangs {
		if o := f.Gangs[i].Outcome; o == NoPromise || o == NotPlanned {
			return false
		}
	}
	return true
}

// Varies reports whether By is told apart from At: by more than a start takes.
func (f *Forecast) Varies() bool { return f.By.Sub(f.At) > starting }

// String says the forecast in words.
func (f *Forecast) String() string {
	switch f.Outcome {
	case Now:
		return f.Gang + " has room now"
	case Later:
		text := f.Gang + " starts " + f.Time()
		switch {
		case f.Booked:
			return text + "; room is booked for it"
		case f.NotBooked != "":
			return text + "; no room is booked for it, as " + f.NotBooked + ", so others may take it first"
		}
		return text + "; no room is booked for it, so others may take it first"
	case NoPromise:
		text := fmt.Sprintf("%s: no promise, as the ends of %d of %s that run are unknown, and there is no room after the others: %s",
			f.Gang, f.Running-f.Expected, pods(f.Running), f.Why)
		if f.NotBooked != "" {
			text += "; no room is booked for it, as " + f.NotBooked
		}
		return text
	case NotPlanned:
		return f.Gang + ": no promise: " + f.Why
	case Goes:
	}
	return f.Gang + " does not wait"
}

// Time says in words when pods have ended, of an outcome Later.
func (f *Forecast) Time() string {
	text := fmt.Sprintf("about %s, in %s", inspect.Time(f.At), max(inspect.Seconds(f.InSeconds), 0))
	if f.Varies() {
		text += ", in nine of ten cases by " + inspect.Time(f.By)
	}
	text += fmt.Sprintf(", when %s ended, ", have(f.Ends))
	if f.Ends > 1 {
		text += "the last one "
	}
	return text + f.Last
}
