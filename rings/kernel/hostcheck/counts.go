package hostcheck

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts is what the kernel bounds for a user, and files for all of them. 0 is no bound, or one not known.
type Counts struct {
	Watches     int    // of epoll
	Tasks       uint64 // as this process may have them
	PipePages   int    // with which no more pipe is made
	Descriptors int    // of this process
	Files       int    // open ones of the whole host, and no more than take some tenth of its memory
	Orphans     int    // sockets of TCP without an owner, of the whole host
	PagesTCP    int    // of memory of TCP with which the whole host is short of it
}

// What a guest has of tasks: those of its init, and those of a script beside them by
// default.
const (
	InitTasks  = 16
	shellTasks = 64 + 8
)

// ForGuests is how many tasks all guests may have at a time: a quarter is left to the
// daemon and to whatever else its user does. 0: as many as they like.
func (c Counts) ForGuests() uint64 { return c.Tasks / 4 * 3 }

// Connections is how many connections of guests this process has descriptors for, two
// for each: half of them are left to everything else. 0: as many as there are.
func (c Counts) Connections() int { return c.Descriptors / 4 }

// Counts reads what is bounded.
func (s Sources) Counts() (c Counts) {
	if s.Root == nil {
		return c
	}
	c.Watches, _ = strconv.Atoi(s.line("proc/sys/fs/epoll/max_user_watches"))
	c.PipePages, _ = strconv.Atoi(s.line("proc/sys/fs/pipe-user-pages-hard"))
	c.Files = s.files()
	// In a network of its own a host does not have these.
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

// files is how many open files the host may have. systemd lifts the kernel's bound, by
// default a file for each 10 KiB of memory, so that what they take is the bound.
func (s Sources) files() int {
	most, err := strconv.Atoi(s.line("proc/sys/fs/file-max"))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(s.text("proc/meminfo")) {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "MemTotal:" {
			kib, _ := strconv.Atoi(f[1]) // no number: no file is too few to look
			most = min(most, kib/10)
		}
	}
	return most
}

// OpenFiles is how many files are open on the host; 0 where it does not say.
func (s Sources) OpenFiles() int {
	if s.Root == nil {
		return 0
	}
	open, _, _ := strings.Cut(s.line("proc/sys/fs/file-nr"), "\t")
	n, _ := strconv.Atoi(strings.TrimSpace(open)) // none: nothing can be looked for
	return n
}

// usersLayer is the name of the layer of Users.
const usersLayer = "users"

// Users says whose the guests of this host are, and what they share.
func (s Sources) Users() Layer {
	l, c := Layer{Name: usersLayer}, s.Counts()
	fits := ""
	if most := c.ForGuests(); most > 0 {
		fits = fmt.Sprintf("; guests may have %d tasks in all: room for %d of %d", most, most/(InitTasks+shellTasks), InitTasks+shellTasks)
	}
	if s.UID == 0 {
		l.State = Enforced
		l.Reason = "the guests of each agent have a user of their own: what the kernel counts for a user is no other agent's nor ringd's" + fits
		return l
	}
	l.State = Partly
	l.Reason = fmt.Sprintf("guests have ringd's own user, %d: its watches of epoll, %d, are everybody's; when there are none left, guests with more than their share are ended",
		s.UID, c.Watches) + fits
	l.Fix = "run ringd as root, which gives the guests of each agent a user of their own (guests.uid, guests.count)"
	if c.PipePages > 0 {
		l.Reason += fmt.Sprintf("; its %d pages of pipes are everybody's too", c.PipePages)
		l.Fix += "; or at least: sudo sysctl -w fs.pipe-user-pages-hard=0"
	}
	return l
}
