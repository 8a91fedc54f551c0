//go:build !linux

package shellguest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

var errLinux = errors.New("guests need Linux")

func seal() error { return errLinux }

func newProcessGroup(*exec.Cmd) {}

func await(int) error { return errLinux }

func kill(int) error { return errLinux }

func signaled(*os.ProcessState) int { return 0 }

func openReal(string, int, fs.FileMode) (*os.File, error) { return nil, errLinux }

func access(string, uint32) error { return errLinux }
