// Package gangmutants is the list of the ways in which package gang is broken on purpose; see package mutants.
package gangmutants
