package view

import (
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/order"
)

// Resolve makes the tree of a guest of k with the given program: its path, or
// "/proc/self/exe", or "" for none. Errors are *Refusal, and faults.
func Resolve(k profiles.Kernel, program string, at Places) (Plan, error) {
	for _, list := range [][]profiles.PathRule{k.Read, k.Write, k.Deny, k.Exec, k.Libraries, at.Own} {
		for _, r := range list {
			return Plan{}, &Refusal{Path: r.Path, Rule: r.Rule, Reason: "cannot be granted: this build resolves the program alone"}
		}
	}
	plan := Plan{Kernel: k}
	if program == "" {
		return plan, nil
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return Plan{}, fmt.Errorf("resolve %s: %w", program, err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(real, &st); err != nil {
		return Plan{}, fmt.Errorf("resolve %s: %w", program, err)
	}
	plan.Program = real
	plan.Mounts = []order.Mount{{Path: real, Device: st.Dev, Inode: st.Ino, Read: true, Exec: true, Map: true}}
	return plan, nil
}
