package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// said is an error in the ring's own words, which name nothing of the host.
type said string

// Error returns the words.
func (s said) Error() string { return string(s) }

// why is whyNot without the daemon's own paths: an error that names one is described in general.
func (r *Ring) why(err error) string {
	text := whyNot(err)
	for _, own := range r.cfg.Private {
		if own != "" && strings.Contains(text, own) {
			return "it could not be started: the daemon's files cannot be separated from the granted paths"
		}
	}
	return text
}

// whyNot says in plain words why no guest was started: the layer, the step and the errno; the rule that this
// host cannot enforce; or the message of the first process. It is empty if only the record and the daemon's log
// may have the reason.
func whyNot(err error) string {
	const start = "it could not be started: "
	var (
		reason  *executors.Reason
		lack    *Lack
		refusal *rootfs.Refusal
		moved   *changedError
		own     said
		errno   syscall.Errno
	)
	switch {
	case errors.As(err, &reason):
		return start + reason.Text
	case errors.Is(err, ErrClosed):
		return start + "the daemon is ending"
	case errors.Is(err, executors.ErrRevoked), errors.Is(err, executors.ErrOwn):
		return "" // these have words of their own
	case errors.As(err, &refusal):
		return start + refusal.Error()
	case errors.As(err, &lack):
		return start + lack.Error()
	case errors.As(err, &moved):
		return start + moved.Error()
	case errors.As(err, &own):
		return start + own.Error()
	case errors.As(err, &errno):
		return start + "a call of the host failed: " + errno.Error()
	default:
		return ""
	}
}

// Fell implements executors.Fallen.
func (g *guest) Fell() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit, held, code, signal := g.limit, g.held, g.status.ExitStatus(), syscall.Signal(0)
	if g.status.Signaled() {
		signal = g.status.Signal()
	}
	if g.lastTold != nil {
		limit, code, signal = cmp.Or(limit, g.lastTold.Limit), g.lastTold.Code, syscall.Signal(g.lastTold.Signal)
	}
	switch {
	case !g.dead:
		return ""
	case held != "":
		return "its process reached the limit of " + limit + ": it " + held
	case limit != "":
		return "its process reached the limit of " + limit
	case signal == unix.SIGKILL:
		return "its process was killed: by the host, for example for lack of memory, or by ringd, because its " +
			"connection had ended"
	case signal == unix.SIGSYS:
		return "its process made a forbidden system call and was ended"
	case signal == unix.SIGXCPU:
		return "its process reached the limit of processor time"
	case signal != 0:
		return fmt.Sprintf("its process was ended by signal %d (%s)", signal, signal)
	default:
		return fmt.Sprintf("its process exited with code %d", code)
	}
}
