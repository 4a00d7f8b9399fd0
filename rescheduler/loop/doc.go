// Package loop is the process of the rescheduler ('muster reschedule'): it looks for something
// to plan every so often, and when a pod has been pending for long enough or a node has come;
// makes plans into objects; and has them carried out (package executor). One of several
// replicas does so, by a Lease.
package loop
