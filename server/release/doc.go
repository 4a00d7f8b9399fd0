// Package release lifts muster's scheduling gates when muster does not: because it is gone, or away. It goes by
// what the API server says alone, so it needs nothing of muster, and can be repeated: a pod without a gate is left
// alone. Whether muster is away is judged by its Lease on one clock, the own one: no two machines' clocks are compared.
package release
