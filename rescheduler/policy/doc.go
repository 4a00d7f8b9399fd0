// Package policy holds the reasons to move pods. A [Policy] looks at a cluster, says who should
// get a place, leave one or give one up, and has the planner work out how. The rescheduler's
// loop and its preview run the same ones.
package policy
