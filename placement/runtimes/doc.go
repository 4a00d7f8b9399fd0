// Package runtimes estimates when running pods end.
//
// How long a pod runs is told by the first of these that says it: spec.activeDeadlineSeconds, after which the kubelet ends it; the
// annotation muster.dev/expected-runtime, a duration as in 90s or 2h30m; and how long former pods of its workload ran ([History]). The
// end of other pods is unknown. An estimate moves plans to another time; nobody is evicted for it.
//
// A pod runs from the moment when the API server stamped it as scheduled. How long ago that is no clock of this machine says: stamps are
// held against the newest stamp that was seen ([Clock]).
package runtimes
