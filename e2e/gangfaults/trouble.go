package gangfaults

import (
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/relay"
)

// verb is a kind of calls that something may happen to.
type verb string

// Calls of the scheduler to muster, and of muster to the API server.
const (
	filterCall verb = "filter"
	bindCall   verb = "bind"

	binding    verb = "binding"
	nomination verb = "nomination"
	podChange  verb = "change of a pod"
	groupState verb = "PodGroup status"
	startOf    verb = "record of a start"
)

// What happens to calls of the scheduler.
const (
	callDelayed   fault = "delayed"
	callTooLate   fault = "later than the deadline"
	callCut       fault = "cut"
	answerLost    fault = "answer lost"
	callRepeated  fault = "repeated"
	callElsewhere fault = "repeated for another node"
)

// What happens to calls to the API server.
const (
	apiConflict    fault = "409"
	apiBusy        fault = "429"
	apiError       fault = "500"
	apiUnavailable fault = "503"
	apiSilent      fault = "no answer"
	apiLost        fault = "answer of the API server lost"
)

// answers are what the API server says in trouble, for the faults of which it says something.
func answers() map[fault]relay.Decide {
	pods := schema.GroupResource{Resource: "pods"}
	return map[fault]relay.Decide{
		apiConflict:    relay.Failure(apierrors.NewConflict(pods, "p", errors.New("it changed"))),
		apiBusy:        relay.Failure(apierrors.NewTooManyRequests("later", 1)),
		apiError:       relay.Failure(apierrors.NewInternalError(errors.New("etcd is away"))),
		apiUnavailable: relay.Failure(apierrors.NewServiceUnavailable("starting")),
	}
}

// trouble says what happens to which call. It is a function of the seed and of the call: of
// its verb, the pod or group that it is about, and how many like it were before.
type trouble struct {
	seed uint64
	odds map[verb]map[fault]float64
	// kept is for how long the first bind calls about pods are delayed; slow are gangs whose
	// bindings take their time on the way to the API server.
	kept map[string]delay
	slow map[string]bool
}

func newTrouble(seed uint64) trouble {
	return trouble{seed: seed, odds: map[verb]map[fault]float64{}, kept: map[string]delay{}, slow: map[string]bool{}}
}

// delay is for how long a call is kept, and as which fault that counts.
type delay struct {
	fault fault
	time  time.Duration
}

func (t *trouble) keep(pod string, as fault, d time.Duration) { t.kept[pod] = delay{as, d} }

func (t *trouble) slowBindings(gang string) { t.slow[gang] = true }

func (t *trouble) add(v verb, f fault, odds float64) {
	if t.odds[v] == nil {
		t.odds[v] = map[fault]float64{}
	}
	t.odds[v][f] = odds
}

// of draws what happens to a call, "" for nothing, and for how long if it is about time.
func (t *trouble) of(v verb, about string, before int) (fault, time.Duration) {
	hash := fnv.New64a()
	for _, text := range []string{string(v), about} {
		_, _ = hash.Write(append([]byte(text), 0)) // never fails
	}
	r := rand.New(rand.NewPCG(t.seed, hash.Sum64()+uint64(before)))
	drawn, d := r.Float64(), time.Duration(r.Int64N(int64(300*time.Millisecond)))
	if kept, is := t.kept[about]; is && v == bindCall && before == 0 {
		return kept.fault, kept.time
	}
	for _, f := range slices.Sorted(maps.Keys(t.odds[v])) {
		if drawn -= t.odds[v][f]; drawn < 0 {
			return f, d
		}
	}
	return "", d
}

// callFaults are the faults of calls.
func callFaults() []row {
	var rows []row
	for _, f := range []fault{callDelayed, callCut, answerLost, callRepeated, callElsewhere} {
		rows = append(rows, row{4, func(w *writer) {
			v := bindCall
			if f != callRepeated && f != callElsewhere && w.rand.IntN(3) == 0 {
				v = filterCall
			}
			w.trouble.add(v, f, 0.1+0.3*w.rand.Float64())
		}})
	}
	for _, f := range []fault{apiConflict, apiBusy, apiError, apiUnavailable, apiSilent, apiLost} {
		rows = append(rows, row{4, func(w *writer) {
			v := []verb{binding, binding, nomination, podChange, groupState, startOf}[w.rand.IntN(6)]
			w.trouble.add(v, f, 0.1+0.4*w.rand.Float64())
		}})
	}
	return rows
}
