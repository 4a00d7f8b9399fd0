//go:build lockorder && !amd64 && !arm64

package lock

// word returns nothing: on this processor goroutines are known by their stacks.
func word(uintptr) uint64 { return 0 }
