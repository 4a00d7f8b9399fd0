// Package testtimes tells how long packages and tests took, from what go test -json wrote, and holds packages to
// the seconds that they may take.
package testtimes
