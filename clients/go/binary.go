package toolcrib

import (
	"fmt"
	"os"
	"os/exec"
)

// FindBinary returns the program to start: the one given, else TOOLCRIB_BINARY, else toolcrib on
// the PATH. A Go module cannot hold a program, so there is no packaged one.
func FindBinary(given string) (string, error) {
	if given != "" {
		return existing(given, "Options.Binary")
	}
	if variable := os.Getenv("TOOLCRIB_BINARY"); variable != "" {
		return existing(variable, "the variable TOOLCRIB_BINARY")
	}
	found, err := exec.LookPath("toolcrib")
	if err != nil {
		return "", fmt.Errorf("%w: put toolcrib on the PATH, set TOOLCRIB_BINARY, or set Options.Binary", ErrBinaryNotFound)
	}
	return found, nil
}

func existing(path, source string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("%w: %s names %s, which is not a program", ErrBinaryNotFound, source, path)
	}
	return found, nil
}
