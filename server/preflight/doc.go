// Package preflight tells what a cluster allows of what muster needs there, and what muster does with it. It asks the
// API server as whoever runs it, and changes nothing.
package preflight
