// Package preflight tells what a cluster allows muster to do, and how muster uses it. It asks the API server with its
// user's rights, and changes nothing.
package preflight
