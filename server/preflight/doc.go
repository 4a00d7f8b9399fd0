// Package preflight tells what muster needs of a cluster, what the cluster allows, and what follows. It asks the API server with its
// user's rights, and changes nothing.
package preflight
