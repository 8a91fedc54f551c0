// Package violations makes visible what a guest was refused: it serves the seccomp
// listener of a guest, which answers its refused system calls, and it reads the
// kernel's audit log, where Landlock says what it refused. It grants nothing:
// no answer of a listener ever lets a call through that the filter refuses. The
// kernel ring calls it.
//
// What it cannot see: a path that is not mounted in a guest does not exist
// there, and nothing is reported of it; nor is a refused write to a mount that is
// read-only. Landlock's refusals are seen only where the daemon may read the
// audit log and the kernel keeps one: see Follow.
package violations

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/ringd/ringd/profiles/canonjson"
)

// Violation is something that a guest tried and was refused. It holds no
// argument but a path or a family of sockets, clipped to maxDetail bytes, and
// those are the guest's words.
type Violation struct {
	Layer  string // of package initproto: seccomp, exec, landlock, seal
	Call   string // "socket", or what Landlock blocked, "fs.read_file"
	Detail string // a path, "AF_NETLINK", or ""
	PID    int    // of the thread, as the host sees it; 0: not known
	Count  int    // how often this was seen: it is reported at 1, 10, 100, …
	End    bool   // the guest is to be ended: it had given all this up
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
	// Name is that of a system call of this machine: seccomp.Name. "" is not known.
	Name func(nr int) string
	// Report is given each violation, one at a time; the guest's thread waits
	// meanwhile. What cannot be reported ends the guest.
	Report func(Violation) error
	// End is called once, in a goroutine of its own, when a violation ends the
	// guest, could not be reported, or was one too many (ErrTooMany). No call is
	// answered after that.
	End func(Violation, error)
	// Sealed says that the guest gave up everything it asks for: the first
	// violation ends it.
	Sealed bool
	// Canary, when set, tells whether a sealed guest is still proving its seal:
	// what it is refused then is answered EPERM, and is no violation, for the first
	// maxCanaries calls.
	Canary func() bool
	// Granted tells whether the policy lets a program be started, by device and
	// inode. When set, exec calls are let go on to the layers that decide, and are
	// reported when the program is not granted. When nil they are refused as any
	// call.
	Granted func(device, inode uint64) bool
	// Shells says that a shell which is not there is a violation too: who looks for
	// one wants to start what its text names.
	Shells bool
	// Begun tells whether the guest's program runs: before that init starts it by a
	// descriptor, which is nobody's violation. nil: it runs.
	Begun func() bool
	// Errno is what a refused call returns; nil, or 0: EPERM, and EAFNOSUPPORT of
	// socket, and ENOSYS of clone3.
	Errno func(call string) syscall.Errno
}

// ErrTooMany ends a guest that was refused more calls than anybody looks at.
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
	// maxRefused is how many calls are refused before the listener is closed, after
	// which the kernel refuses them itself, with ENOSYS and unseen.
	maxRefused = 64
	// maxRefusedExec is how many of a guest whose exec calls pass here, and would
	// fail when the listener is closed: such a guest is ended.
	maxRefusedExec = 4096
	// maxCanaries is how many calls a guest may try to prove its seal.
	maxCanaries = 64
	// maxDetail bounds what a guest can put on record.
	maxDetail = 160
)

// kind is what is counted together.
type kind struct{ layer, call, detail string }

// tally counts violations, so that a guest that tries one thing for ever fills no
// log.
type tally struct {
	seen  map[kind]int
	total int
}

// add counts v and tells whether to report it, with its count.
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

// shell tells a shell by its path.
func shell(file string) bool {
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

// clip makes text of a guest fit for a record: short, valid, without control
// characters.
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
