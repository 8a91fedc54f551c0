package kernel

import (
	"errors"
	"os"

	"github.com/ringd/ringd/rings/kernel/cgroup"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// findGroups looks for a delegated subtree of control groups, and records the layers that it gives.
func (r *Ring) findGroups() error {
	if !r.cfg.Groups {
		return nil
	}
	tree, err := cgroup.Find(cgroup.Config{UID: os.Getuid()})
	var none *cgroup.Unavailable
	switch {
	case errors.As(err, &none):
		r.ungrouped = none
		return nil
	case err != nil:
		return err
	}
	r.groups = tree
	r.grouped = map[string]string{initproto.LayerCgroups: enforced}
	for _, c := range []string{cgroup.Memory, cgroup.PIDs, cgroup.CPU} {
		state := enforced
		if tree.Missing(c) != "" {
			state = unavailable
			r.grouped[initproto.LayerCgroups] = partly // they can still freeze and end a guest
		}
		r.grouped[initproto.LayerCgroups+"_"+c] = state
		if c == cgroup.Memory && state == enforced {
			r.grouped[initproto.LayerHeld] = state
		}
	}
	return nil
}

// Groups returns why guests have no control groups of their own. It is nil if they have, or if they were not
// requested.
func (r *Ring) Groups() error {
	if r.ungrouped == nil {
		return nil
	}
	return r.ungrouped
}

// initThreads is the number of tasks in a group that init needs in addition to its program.
const initThreads = 32

// group makes the control group of one guest. It returns nil if there are none.
func (r *Ring) group(name string, c *recipe) (*cgroup.Group, error) {
	if r.groups == nil {
		return nil, nil
	}
	return r.groups.Make("guest-"+name, c.group)
}
