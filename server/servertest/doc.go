// Package servertest lets tests fill a cluster of their own, and ask the verbs and the pages about it.
//
// It has texts that were written to do harm, and listeners in memory as well. It imports neither the verbs
// nor the pages, so that their own tests can import it.
package servertest
