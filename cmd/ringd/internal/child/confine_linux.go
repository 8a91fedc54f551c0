package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// maxOpen is how many files a child may hold: its pipes and what the Go runtime
// waits with.
const maxOpen = 16

// confine makes the child the leader of a group that dies as a whole, and with
// its parent.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}

// limited does work under limits of the kernel.
func limited(h header, work func() error) error {
	if err := limitSelf(h); err != nil {
		return fmt.Errorf("take limits: %w", err)
	}
	return work()
}

// limitSelf puts this process under its limits, for good. Data is what counts
// as memory here: Go reserves address space that it never touches.
func limitSelf(h header) error {
	for _, l := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"processor time", syscall.RLIMIT_CPU, h.two},
		{"memory", syscall.RLIMIT_DATA, dataLimit(h)},
		{"files", syscall.RLIMIT_NOFILE, maxOpen},
		{"file size", syscall.RLIMIT_FSIZE, 0},
		{"core", syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func dataLimit(h header) uint64 {
	limit := memoryLimit(h)
	if mapped {
		limit += status("VmData:")
	}
	return limit
}

// peakBytes is the peak of this process alone. What the parent learns from the
// kernel also counts the parent, whose memory a child has until it is started.
func peakBytes() uint64 { return status("VmHWM:") }

// status reads one figure about this process, in bytes; 0 when it is not there.
func status(name string) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, err := strconv.ParseUint(number, 10, 50)
	if err != nil {
		return 0
	}
	return kib * 1024
}

func usageOf(state *os.ProcessState) Usage {
	if state == nil {
		return Usage{}
	}
	u := Usage{CPU: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.PeakBytes = r.Maxrss * 1024
	}
	return u
}
