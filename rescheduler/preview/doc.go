// Package preview plans for a cluster as it is at one moment, live or from a dump, and
// prints the plan. It changes nothing.
package preview
