// Package mutants breaks packages of muster on purpose, in one place at a time, and looks who notices.
//
// A [Mutant] replaces a text that is in one file once, so that a list that no longer fits the code fails. The
// tree is not touched: the go command reads the broken file in place of the one that there is (-overlay), and
// what it has compiled of all else is cached. First the tests of the packages are run, those of the package of
// the file before the others. What they do not notice, a campaign of faults may: a few seeds of it are run with a muster
// that is broken likewise.
//
// A mutant that survives lacks a test, a fault or an invariant.
package mutants
