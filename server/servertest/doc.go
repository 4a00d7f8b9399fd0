// Package servertest has what tests of the verbs and of the pages share: a cluster of the test's own, who
// asks about it over HTTP, and listeners in memory.
package servertest
