package reschedulerfaults

import (
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/relay"
)

// verb is a kind of calls to the API server that something may happen to.
type verb string

// The verbs: the first five are the rescheduler's, and all are muster's.
const (
	evictionCall verb = "eviction"
	planCreated  verb = "creation of a plan"
	planStatus   verb = "status of a plan"
	lease        verb = "lease"
	nomination   verb = "nomination"
	binding      verb = "binding"
)

// What happens to calls.
const (
	apiConflict    fault = "409"
	apiBusy        fault = "429"
	apiError       fault = "500"
	apiUnavailable fault = "503"
	apiSilent      fault = "no answer"
	apiLost        fault = "answer lost"
)

// answers are what the API server says in trouble, for the faults of which it says something.
func answers() map[fault]relay.Decide {
	some := schema.GroupResource{Resource: "things"}
	return map[fault]relay.Decide{
		apiConflict:    relay.Failure(apierrors.NewConflict(some, "p", errors.New("it changed"))),
		apiBusy:        relay.Failure(apierrors.NewTooManyRequests("later", 1)),
		apiError:       relay.Failure(apierrors.NewInternalError(errors.New("etcd is away"))),
		apiUnavailable: relay.Failure(apierrors.NewServiceUnavailable("starting")),
	}
}

// trouble says what happens to which call. It is a function of the seed and of the call: of
// its verb, the object that it is about, and how many like it were before.
type trouble struct {
	seed uint64
	odds map[verb]map[fault]float64
}

func newTrouble(seed uint64) trouble {
	return trouble{seed: seed, odds: map[verb]map[fault]float64{}}
}

func (t *trouble) add(v verb, f fault, odds float64) {
	if t.odds[v] == nil {
		t.odds[v] = map[fault]float64{}
	}
	t.odds[v][f] = odds
}

// of draws what happens to a call, "" for nothing.
func (t *trouble) of(v verb, about string, before int) fault {
	hash := fnv.New64a()
	for _, text := range []string{string(v), about} {
		_, _ = hash.Write(append([]byte(text), 0)) // never fails
	}
	drawn := rand.New(rand.NewPCG(t.seed, hash.Sum64()+uint64(before))).Float64()
	for _, f := range slices.Sorted(maps.Keys(t.odds[v])) {
		if drawn -= t.odds[v][f]; drawn < 0 {
			return f
		}
	}
	return ""
}

// callFaults are the faults of calls.
func callFaults() []row {
	var rows []row
	for _, f := range []fault{apiConflict, apiBusy, apiError, apiUnavailable, apiSilent, apiLost} {
		rows = append(rows, row{4, func(w *writer) {
			v := []verb{evictionCall, evictionCall, evictionCall, planStatus, planStatus, planStatus, planCreated, lease, nomination, binding}[w.rand.IntN(10)]
			w.trouble.add(v, f, 0.1+0.7*w.rand.Float64())
		}})
	}
	return rows
}
