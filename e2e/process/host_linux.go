package process

import (
	"os/exec"
	"syscall"
)

// rename gives the host of a namespace its name, and goes on with the program.
const rename = `echo "$0" > /proc/sys/kernel/hostname && exec "$@"`

// onHost has a command run in a namespace of host names of its own.
func onHost(host string, cmd *exec.Cmd) (*exec.Cmd, error) {
	renamed := exec.Command("sh", append([]string{"-c", rename, host, cmd.Path}, cmd.Args[1:]...)...)
	renamed.SysProcAttr = cmd.SysProcAttr
	renamed.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUTS
	return renamed, nil
}

// Hosts is why this process cannot start others on hosts of other names, nil when it can. It needs the right to make
// namespaces.
func Hosts() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = attributes()
	cmd, err := onHost("trial", cmd)
	if err != nil {
		return err
	}
	return cmd.Run()
}
