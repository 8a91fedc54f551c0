package spawn

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sessionTries and sessionPause bound how long a start waits until the kernel lets an ordinary user set the weight of
// a session: it allows that ten times a second on the whole host.
const (
	sessionTries = 600
	sessionPause = 50 * time.Millisecond
)

// weigh gives the session of a new process the weight that this process has, if that is lower than the usual one.
//
// The scheduler gives each session a weight of its own (sched_autogroup). A new session has the usual weight, even if
// the session of its parent has less, or if its parent is in no session and has a higher nice value. So each guest of
// a daemon with a low weight would outweigh the daemon: at the nice value 14, sixteen guests with busy threads left
// it 0.8 % of one processor.
func weigh(process *os.Process) error {
	nice, err := sessionNice()
	if err != nil || nice <= 0 {
		return err
	}
	err = setSession(strconv.Itoa(process.Pid), nice)
	if err != nil && !ended(process) {
		return fmt.Errorf("give the session of a guest the weight of the daemon: %w", err)
	}
	return nil
}

// setSession sets the nice value of the session of a process, and waits until the kernel allows it.
func setSession(pid string, nice int) (err error) {
	for range sessionTries {
		err = os.WriteFile(autogroup(pid), []byte(strconv.Itoa(nice)), 0)
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
		<-time.After(sessionPause)
	}
	return err
}

// ended reports whether a process has ended, without waiting for it. An ended process has no file of its session.
func ended(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD) || err == nil && info.Signo != 0
}

// sessionNice returns the nice value of the session of this process. It is 0 on a kernel without weights of sessions.
func sessionNice() (int, error) {
	line, err := os.ReadFile(autogroup("self"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the weight of this session: %w", err)
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		return 0, fmt.Errorf("ask for the priority of this process: %w", err)
	}
	return parseSession(string(line), 20-raw) // the kernel returns 1 to 40
}

// parseSession returns the nice value in the line of a session, such as "/autogroup-17 nice 5". The line is empty for
// a process of no session. Then the result is the nice value of the process, own: its threads are weighed against
// whole sessions.
func parseSession(line string, own int) (int, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return own, nil
	}
	nice, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return 0, fmt.Errorf("read the weight of this session: %w", err)
	}
	return nice, nil
}

// autogroup returns the file of the session of a process.
func autogroup(pid string) string { return "/proc/" + pid + "/autogroup" }
