//go:build !unix

package process

import "errors"

// Pause stops the child where it is, until Resume: it answers nothing, and does not know.
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Resume has a paused child go on.
func (p *Process) Resume() error { return errors.ErrUnsupported }
