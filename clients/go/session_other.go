//go:build !unix

package toolcrib

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

func terminate(process *os.Process) error { return process.Kill() }
