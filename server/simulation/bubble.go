package simulation

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// InVirtualTime runs a function whose time, with that of all goroutines that it starts, passes only while all of them wait. So code with
// timers runs unchanged, a day in seconds. All goroutines must have ended when it returns, and it must wait for nothing outside.
//
// Package synctest has the only virtual time that Go has for unmodified code, and gives it to tests alone. A test that nobody runs is
// enough: it prints nothing, and flags of package testing are neither made nor read.
func InVirtualTime(do func() error) (err error) {
	err = errors.New("simulation: it was ended from inside")
	synctest.Test(new(testing.T), func(*testing.T) {
		defer func() {
			if panicked := recover(); panicked != nil {
				err = fmt.Errorf("simulation: %v", panicked)
			}
		}()
		err = do()
	})
	return err
}
