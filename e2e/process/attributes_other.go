//go:build !linux

package process

import "syscall"

// Only Linux can tie a child to its parent's life.
func attributes() *syscall.SysProcAttr { return nil }
