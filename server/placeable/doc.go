// Package placeable answers Kueue's admission check muster.dev/placeable: a workload that has quota is admitted only once all of
// its pods have a place, which is kept until they come.
//
//	watch ──→ board ──Workload──→ clerk ──────→ writer ──→ status.admissionChecks
//	                                │
//	                              rooms: placement.Plan, reservation.Keeper
//
// A clerk decides what to say of each workload. It knows nothing but workloads and the port that finds room. Room is
// kept as a pod in the view, by [muster.dev/muster/rescheduler/reservation.Keeper.Hold]. Nothing else is remembered: after a
// restart workloads that were told Ready, and whose pods have not all come, get room again before others are looked at.
package placeable
