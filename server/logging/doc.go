// Package logging writes log lines for those who must not wait for them.
//
// A pipe that nobody reads fills up, and its writer stands still then, possibly with the lock of a
// handler, in the middle of a call of kube-scheduler. So a [Log] takes lines into bounded memory, and one
// goroutine writes them. When there is no room, lines are dropped and counted, and a line says so once
// there is room again. What a line says is bounded as well, as much of it comes from others.
//
// What the Go runtime says of a crash does not come this way: it goes to standard error at once.
package logging
