// Package cgroup gives each guest a control group of its own (version 2), where
// the host has delegated a subtree to the daemon: one bound for all processes of
// a guest together, and one way to end or freeze them. It takes nothing that was
// not given: as root a subtree counts as delegated only when it is marked so. The
// kernel ring calls it.
package cgroup

import "fmt"

// Config says where to look; the zero Config is this host.
type Config struct {
	Cgroup string // "" is /proc/self/cgroup
	Mounts string // "" is /proc/self/mountinfo
	UID    int    // of this process
}

// Unavailable says why there are no control groups here, and what gives them.
type Unavailable struct{ Reason, Remedy string }

// Error returns both.
func (u *Unavailable) Error() string {
	if u.Remedy == "" {
		return "control groups: " + u.Reason
	}
	return fmt.Sprintf("control groups: %s; %s", u.Reason, u.Remedy)
}

// Limits of a group; 0 is none.
type Limits struct {
	MemoryBytes int64
	Processes   int64 // with threads
}

// The controllers that a Tree uses.
const (
	Memory = "memory"
	PIDs   = "pids"
	CPU    = "cpu"
)

func controllers() []string { return []string{Memory, PIDs, CPU} }

const (
	// leaf is the group of the daemon itself: one with members may have none below
	// it that is controlled.
	leaf = "ringd-daemon"
	// weight of a guest; that of the daemon is 100.
	weight = 50

	remedy = "let systemd delegate its group: Delegate=yes in the unit of ringd"
)
