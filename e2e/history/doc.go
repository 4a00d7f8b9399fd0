// Package history keeps what an API server tells of a cluster, and judges it afterwards: a
// watch misses nothing that a list might.
package history
