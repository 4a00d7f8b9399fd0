// Package extender holds the end-to-end tests of the main job: a stock kube-scheduler
// schedules a real cluster through muster.
//
// Nothing is faked. One real control plane serves all tests; each has the cluster to
// itself, starts the muster of this checkout as a process and, where it needs one, the
// stock scheduler with what `muster scheduler-config` prints. What a test claims it reads
// from the API server, from muster's own pages or from the operating system.
package extender
