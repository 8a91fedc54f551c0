// Package cgroup gives each guest a control group of its own (version 2), if the host has delegated a subtree
// to the daemon: one limit for all processes of a guest together, and one way to end or freeze them. It uses
// only a subtree that was delegated: as root, one counts as delegated only if it is marked so. The kernel ring
// calls it.
package cgroup

import "fmt"

// Config says where to look. The zero Config is this host.
type Config struct {
	Cgroup string // if empty, /proc/self/cgroup
	Mounts string // if empty, /proc/self/mountinfo
	UID    int    // of this process
}

// Unavailable says why there are no control groups here, and what would provide them.
type Unavailable struct{ Reason, Remedy string }

// Error returns both.
func (u *Unavailable) Error() string {
	if u.Remedy == "" {
		return "control groups: " + u.Reason
	}
	return fmt.Sprintf("control groups: %s; %s", u.Reason, u.Remedy)
}

// Limits of a group. 0 is no limit.
type Limits struct {
	MemoryBytes int64
	Processes   int64 // including threads
}

// The controllers that a Tree uses.
const (
	Memory = "memory"
	PIDs   = "pids"
	CPU    = "cpu"
)

func controllers() []string { return []string{Memory, PIDs, CPU} }

const (
	// leaf is the group of the daemon itself: a group with members may have no controlled groups below it.
	leaf = "ringd-daemon"
	// weight of a guest; that of the daemon is 100.
	weight = 50

	remedy = "let systemd delegate its group: Delegate=yes in the unit of ringd"
)
