// Package network tells by which levels of labels nodes stand in a network, and how whole its domains are.
//
// Levels are in use where a gang names them or a Topology lists them. A gang is of a tenant, who may name anything: so what is told
// is bounded, each namespace has its turn, and what no node is labelled with is left out.
package network
