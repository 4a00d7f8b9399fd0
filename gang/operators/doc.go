// Package operators says which gangs the controllers of others make, so that nobody has to edit a template.
//
// A [Kind] is how one of them has its pods belong together, and has a folder of its own. A [Set] is the kinds that are
// switched on (gangs.kinds). It tells the view of the cluster what to follow, and to what each pod belongs:
//
//	watch ──Owner──→ cluster.Owner ┐
//	watch ──────────────→ pod ─────┴─Affiliate──→ cluster.Pod.Affiliation ──→ membership.Of
//
// An owner counts as the watch shows it. A pod's own words count only where the controller of its
// kind has no object to read, as in a plain group of Kueue.
package operators
