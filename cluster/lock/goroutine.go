//go:build lockorder

package lock

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// numbered is where the runtime keeps the number of a goroutine, -1 where it was not found.
var numbered = find() //nolint:gochecknoglobals // it belongs to the Go that the program was built with

// mostLooked is how far find looks, in bytes: less than the runtime keeps of a goroutine.
const mostLooked = 256

// goroutine returns the number of the calling goroutine. Its stack begins with it, but the runtime writes down the whole
// stack to tell, which takes longer than most tests that take locks do without.
func goroutine() uint64 {
	if numbered < 0 {
		return told()
	}
	return word(uintptr(numbered))
}

// find returns the one place that has the number of each of several goroutines.
func find() int {
	const goroutines = 8
	var places []int
	for at := 0; at < mostLooked; at += 8 {
		places = append(places, at)
	}
	var mu sync.Mutex
	var looking sync.WaitGroup
	for range goroutines {
		looking.Go(func() {
			number := told()
			mu.Lock()
			defer mu.Unlock()
			places = slices.DeleteFunc(places, func(at int) bool { return word(uintptr(at)) != number })
		})
	}
	looking.Wait()
	if len(places) != 1 {
		return -1
	}
	return places[0]
}

// told returns the number with which the stack of the calling goroutine begins.
func told() uint64 {
	var stack [64]byte
	fields := bytes.Fields(stack[:runtime.Stack(stack[:], false)])
	number, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("lock: a stack begins with %q", stack))
	}
	return number
}
