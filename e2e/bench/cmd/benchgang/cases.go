package main

import (
	"context"
	"slices"

	"muster.dev/muster/e2e/bench/contender"
)

// benchCase is a situation of gangs, and who is compared in it.
type benchCase struct {
	name       string
	nodes      int
	gangs      gangs
	contenders []contender.Contender
	measure    func(context.Context, *cellRun) (measurement, error)
}

// Contenders that have muster.
const (
	withMuster = contender.Extender
	ahead      = contender.Ahead
	aheadAsked = contender.AheadExtender
	assisted   = contender.Assisted
	served     = contender.Served
)

// Names of the cases.
const (
	caseMany       = "many"
	caseThousand   = "thousand"
	caseStandoff   = "standoff"
	caseTurns      = "turns"
	caseNeighbours = "neighbours"
	caseMixed      = "mixed"
	caseRacks      = "racks"
)

func cases() []benchCase {
	everybody := []contender.Contender{contender.Stock, contender.Native, withMuster, ahead, aheadAsked}
	natives := []contender.Contender{contender.Native, assisted}
	also := append(slices.Clone(everybody), served)
	contending := []contender.Contender{contender.Native, withMuster, ahead, aheadAsked}
	rivals := gangs{count: 10, size: 30, contended: true}
	return []benchCase{
		{caseMany, 1000, gangs{count: 50, size: 20}, also, startAll},
		{caseThousand, 1000, gangs{count: 1, size: 1000}, everybody, startAll},
		{caseStandoff, 100, rivals, contending, standOff},
		{caseTurns, 100, gangs{count: 5, size: 60, contended: true}, contending, takeTurns},
		{caseNeighbours, 100, rivals, contending, besideWaiting},
		{caseRacks, 1000, gangs{count: 1, size: 512, racked: true}, []contender.Contender{withMuster, contender.Near}, startAll},
		{caseMixed, mixedGangs * nodesOfMixed, gangs{count: mixedGangs, mixed: true}, natives, placeMixed},
	}
}

// order of the contenders in a round, from 0. Rounds number twice the contenders. In them each contender is
// first, and follows each other one, twice (the design of Williams).
func (c benchCase) order(round int) []contender.Contender {
	count := len(c.contenders)
	turn := round % count
	if count%2 == 1 {
		turn = round / 2 % count
	}
	order := make([]contender.Contender, count)
	for i := range order {
		step := (i + 1) / 2 // 0, 1, -1, 2, -2, ...
		if i%2 == 0 {
			step = count - step
		}
		order[i] = c.contenders[(turn+step)%count]
	}
	if count%2 == 1 && round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
