package faultcampaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestTroubleIsAFunctionOfTheCall(t *testing.T) {
	trouble := NewTrouble(1)
	trouble.Add("bind", apiBusy, 0.5)
	spoiled := 0
	for i := range 1000 {
		about := fmt.Sprint("pod-", i)
		s := trouble.Of(Call{"bind", about}, 0)
		if again := trouble.Of(Call{"bind", about}, 0); s != again {
			t.Fatalf("%+v, and then %+v", s, again)
		}
		if s.Fault == apiBusy {
			spoiled++
		}
		if s := trouble.Of(Call{"filter", about}, 0); s.Fault != "" {
			t.Fatalf("%q happens to another verb", s.Fault)
		}
	}
	if spoiled < 400 || spoiled > 600 {
		t.Errorf("%d of 1000 calls are spoiled, want half of them", spoiled)
	}
}

func TestWhatHappensToTheFirstCallDoesNotHappenAgain(t *testing.T) {
	trouble, call, kept := NewTrouble(1), Call{"bind", "p"}, Spoiled{"delayed", time.Second}
	trouble.First[call] = kept
	if s := trouble.Of(call, 0); s != kept {
		t.Errorf("%+v happens to the first call, want %+v", s, kept)
	}
	if s := trouble.Of(call, 1); s.Fault != "" {
		t.Errorf("%+v happens to the second call", s)
	}
}

func TestTroubleIsCountedUntilItIsOver(t *testing.T) {
	calm, quiet := context.WithCancel(t.Context())
	defer quiet()
	trouble := NewTrouble(1)
	trouble.Add("bind", apiBusy, 1)
	calls := NewCalls(calm, trouble)
	calls.Next("bind", "p")
	calls.Next("bind", "p")
	calls.Next("filter", "p")
	quiet()
	if s := calls.Next("bind", "p"); s.Fault != "" {
		t.Errorf("%q happens when all is calm", s.Fault)
	}
	if faults := calls.Faults(); len(faults) != 1 || faults["bind: 429"] != 2 {
		t.Errorf("%v were made, want two of a kind", faults)
	}
}

func TestAnUrnIsDrawnFromByWeight(t *testing.T) {
	var urn Urn
	drawn := [3]int{}
	for i, weight := range []int{1, 3, 0} {
		urn.Add(weight, func() { drawn[i]++ })
	}
	r := rand.New(rand.NewPCG(1, 0))
	for range 1000 {
		urn.Draw(r)
	}
	if drawn[0]+drawn[1] != 1000 || drawn[0] < 200 || drawn[0] > 300 {
		t.Errorf("%v are drawn of 1000, want a quarter, three quarters and none", drawn)
	}
}
