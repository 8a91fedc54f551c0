// Package violations reports the denied attempts of a guest. It serves the seccomp listener of a guest, which
// answers its denied system calls, and it reads the denials of Landlock from the kernel's audit log. It grants
// nothing: no answer of a listener allows a call that the filter denies. The kernel ring calls it.
//
// Some attempts are not visible. A path that is not mounted in a guest does not exist there, so nothing is
// reported. The same holds for a write to a read-only mount. Denials of Landlock are visible only if the daemon
// may read the audit log and the kernel keeps one: see Follow.
package violations

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/ringd/ringd/profiles/canonjson"
)

// Violation is a denied attempt of a guest. Of the arguments it holds only a path or a family of sockets,
// truncated to maxDetail bytes. That text comes from the guest.
type Violation struct {
	Layer  string // of package initproto: seccomp, exec, landlock, seal
	Call   string // "socket", or the right that Landlock denied, "fs.read_file"
	Detail string // a path, "AF_NETLINK", or empty
	PID    int    // of the thread, as the host sees it; 0 if not known
	Count  int    // number of equal attempts: it is reported at 1, 10, 100, …
	End    bool   // the guest has to be ended: it had given all this up
}

// String is one line.
func (v Violation) String() string {
	s := v.Layer + ": " + v.Call
	if v.Detail != "" {
		s += " " + v.Detail
	}
	if v.Count > 1 {
		s += fmt.Sprintf(" (%d times)", v.Count)
	}
	return s
}

// Config is what a Listener needs.
type Config struct {
	// Go starts the goroutine of the listener, and End.
	Go func(func())
	// Name returns the name of a system call of this machine: seccomp.Name. It is empty if not known.
	Name func(nr int) string
	// Report is called with each violation, one at a time. The guest's thread waits meanwhile. A guest whose
	// violation cannot be reported is ended.
	Report func(Violation) error
	// End is called once, in a goroutine of its own, if a violation ends the guest, could not be reported, or
	// was one too many (ErrTooMany). No call is answered after that.
	End func(Violation, error)
	// Sealed says that the guest has given up everything that a call could ask for: the first violation ends
	// it.
	Sealed bool
	// Canary, if set, reports whether a sealed guest is still proving its seal. Its denied calls are then
	// answered with EPERM, and are no violations, up to maxCanaries calls.
	Canary func() bool
	// Granted reports whether the policy allows starting a program, by device and inode. If it is set, exec
	// calls go on to the layers that decide, and are reported if the program is not granted. If it is nil they
	// are denied like any call.
	Granted func(device, inode uint64) bool
	// Shells says that looking for a shell that does not exist is a violation too: the caller wants to start
	// programs that a text names.
	Shells bool
	// Begun reports whether the guest's program runs. Before that, init starts it by a descriptor, which is no
	// violation. If nil, it runs.
	Begun func() bool
	// Errno is the result of a denied call. If it is nil or returns 0, the result is EPERM, but EAFNOSUPPORT of
	// socket, and ENOSYS of clone3.
	Errno func(call string) syscall.Errno
}

// ErrTooMany ends a guest with more denied calls than are examined.
var ErrTooMany = fmt.Errorf("%d of its system calls were refused", maxRefusedExec)

func (c Config) check() error {
	switch {
	case c.Go == nil, c.Name == nil, c.Report == nil, c.End == nil:
		return errors.New("watch a guest: the configuration is incomplete")
	default:
		return nil
	}
}

const (
	// maxKinds is how many different violations of one guest are reported.
	maxKinds = 64
	// maxRefused is how many calls are denied before the listener is closed. Then the kernel denies them
	// itself, with ENOSYS and without a report.
	maxRefused = 64
	// maxRefusedExec is the same limit for a guest whose exec calls go through the listener, and would fail if
	// it was closed: such a guest is ended.
	maxRefusedExec = 4096
	// maxCanaries is how many calls a guest may try to prove its seal.
	maxCanaries = 64
	// maxDetail limits the text of a guest in a record.
	maxDetail = 160
)

// kind identifies violations that are counted together.
type kind struct{ layer, call, detail string }

// tally counts violations, so that a guest that repeats one attempt does not fill the log.
type tally struct {
	seen  map[kind]int
	total int
}

// add counts v. It returns v with its count, and whether to report it.
func (t *tally) add(v Violation) (Violation, bool) {
	t.total++
	k := kind{v.Layer, v.Call, v.Detail}
	if _, ok := t.seen[k]; !ok && len(t.seen) >= maxKinds {
		return v, false
	}
	if t.seen == nil {
		t.seen = map[kind]int{}
	}
	t.seen[k]++
	v.Count = t.seen[k]
	return v, powerOfTen(v.Count)
}

// isShell reports whether a path is that of a shell.
func isShell(file string) bool {
	switch path.Base(file) {
	case "sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "fish", "csh", "tcsh", "busybox", "toybox":
		return true
	default:
		return false
	}
}

func powerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// clip makes text of a guest suitable for a record: short, valid, without control characters.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
	return canonjson.Truncate(s, maxDetail-len("…"))
}
