package main

import (
	"context"
	"slices"

	"muster.dev/muster/e2e/contender"
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
	withGates  = contender.Gates // and gangs that are gated until they have a place
)

// Names of the cases.
const (
	caseMany       = "many"
	caseThousand   = "thousand"
	caseStandoff   = "standoff"
	caseTurns      = "turns"
	caseNeighbours = "neighbours"
)

func cases() []benchCase {
	everybody := []contender.Contender{contender.Stock, contender.Native, withMuster}
	contending := []contender.Contender{contender.Native, withMuster, withGates}
	rivals := gangs{count: 10, size: 30, contended: true}
	return []benchCase{
		{caseMany, 1000, gangs{count: 50, size: 20}, everybody, startAll},
		{caseThousand, 1000, gangs{count: 1, size: 1000}, everybody, startAll},
		{caseStandoff, 100, rivals, contending, standOff},
		{caseTurns, 100, gangs{count: 5, size: 60, contended: true}, contending, takeTurns},
		{caseNeighbours, 100, rivals, contending, besideWaiting},
	}
}

// order of the contenders in a round, from 0.
func (c benchCase) order(round int) []contender.Contender {
	first := round / 2 % len(c.contenders)
	order := slices.Concat(c.contenders[first:], c.contenders[:first])
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
