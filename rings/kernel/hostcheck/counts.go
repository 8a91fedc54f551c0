package hostcheck

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts are limits of the kernel, those of a user and those of the whole host. 0 means that there is no limit,
// or that it is not known.
type Counts struct {
	Watches     int    // of epoll
	Tasks       uint64 // that this process may have
	PipePages   int    // above which no more pipes are made
	Descriptors int    // of this process
	Files       int    // open files of the whole host; they take no more than some tenth of its memory
	Orphans     int    // TCP sockets without an owner, of the whole host
	PagesTCP    int    // pages of TCP memory at which the whole host is short of it
}

// Tasks of a guest: those of its init, and in addition those of a script by default.
const (
	InitTasks  = 16
	shellTasks = 64 + 8
)

// ForGuests is how many tasks all guests together may have. A quarter is left to the daemon and to other
// processes of its user. 0 means no limit.
func (c Counts) ForGuests() uint64 { return c.Tasks / 4 * 3 }

// Connections is how many connections of guests this process has descriptors for, two for each. Half of the
// descriptors are left for other uses. 0 means no limit.
func (c Counts) Connections() int { return c.Descriptors / 4 }

// Counts reads the limits.
func (s Sources) Counts() (c Counts) {
	if s.Root == nil {
		return c
	}
	c.Watches, _ = strconv.Atoi(s.line("proc/sys/fs/epoll/max_user_watches"))
	c.PipePages, _ = strconv.Atoi(s.line("proc/sys/fs/pipe-user-pages-hard"))
	c.Files = s.files()
	// A host in a network namespace of its own does not have these.
	c.Orphans, _ = strconv.Atoi(s.line("proc/sys/net/ipv4/tcp_max_orphans"))
	if f := strings.Fields(s.line("proc/sys/net/ipv4/tcp_mem")); len(f) == 3 {
		c.PagesTCP, _ = strconv.Atoi(f[1])
	}
	for l := range strings.Lines(s.text("proc/self/limits")) {
		if rest, ok := strings.CutPrefix(l, "Max processes "); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				c.Tasks, _ = strconv.ParseUint(f[0], 10, 64) // "unlimited": 0
			}
		}
		if rest, ok := strings.CutPrefix(l, "Max open files "); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				c.Descriptors, _ = strconv.Atoi(f[0]) // "unlimited": 0
			}
		}
	}
	return c
}

// files is the limit of open files of the host. systemd raises the kernel's limit, by default a file for each
// 10 KiB of memory, so the memory that files take is the limit.
func (s Sources) files() int {
	most, err := strconv.Atoi(s.line("proc/sys/fs/file-max"))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(s.text("proc/meminfo")) {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "MemTotal:" {
			kib, _ := strconv.Atoi(f[1]) // no number: 0, so that no file is counted
			most = min(most, kib/10)
		}
	}
	return most
}

// OpenFiles is the number of open files of the host, or 0 if it is not known.
func (s Sources) OpenFiles() int {
	if s.Root == nil {
		return 0
	}
	open, _, _ := strings.Cut(s.line("proc/sys/fs/file-nr"), "\t")
	n, _ := strconv.Atoi(strings.TrimSpace(open)) // no number: 0, nothing is counted
	return n
}

// usersLayer is the name of the layer of Users.
const usersLayer = "users"

// Users returns the layer `users`: the users of the guests on this host, and the limits that they share.
func (s Sources) Users() Layer {
	l, c := Layer{Name: usersLayer}, s.Counts()
	fits := ""
	if most := c.ForGuests(); most > 0 {
		fits = fmt.Sprintf(
			"; guests may have %d tasks in all: room for %d of %d", most, most/(InitTasks+shellTasks),
			InitTasks+shellTasks,
		)
	}
	if s.UID == 0 {
		l.State = Enforced
		l.Reason = "the guests of each agent have a separate user, so no agent uses up the kernel's per-user limits " +
			"of another or of ringd" + fits
		return l
	}
	l.State = Partly
	l.Reason = fmt.Sprintf("guests run as ringd's own user, %d, and share its %d epoll watches; when none are left, "+
		"guests above their share are ended",
		s.UID, c.Watches) + fits
	l.Fix = "run ringd as root, which gives the guests of each agent a separate user (guests.uid, guests.count)"
	if c.PipePages > 0 {
		l.Reason += fmt.Sprintf("; they also share its %d pages of pipes", c.PipePages)
		l.Fix += "; or at least: sudo sysctl -w fs.pipe-user-pages-hard=0"
	}
	return l
}
