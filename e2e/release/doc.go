// Package release makes what is published of muster beside its programs: the image, the charts that install it, where
// everything comes from, and checksums of all of it.
//
// The same commit gives the same image wherever it is built: it has no base image, its time is the commit's, and its root
// certificates are pinned in go.mod.
package release
