//go:build unix

package toolcrib

import (
	"os"
	"os/exec"
	"syscall"
)

// detach gives the sidecar a session of its own: an interrupt at the terminal is for the host.
func detach(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func terminate(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
