// Package trace reads jobs that were, or might be: from a table of ours, from Slurm's accounting, and from a dump of a cluster; and the
// nodes on which they are to run. What it reads is bounded, and an error names the place and the value.
package trace
