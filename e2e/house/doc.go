// Package house measures the structure of the main module by its source: how large types are, which
// packages import which against what the table in docs/design.md lets them, how far versions of the
// configuration reach, and how long lines are. It also counts listed words in the prose of all modules.
// Generated files and tests count only where that is said.
package house
