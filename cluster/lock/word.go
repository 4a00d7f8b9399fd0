//go:build lockorder && (amd64 || arm64)

package lock

// word returns what the runtime keeps of the calling goroutine at an offset in bytes.
func word(offset uintptr) uint64
