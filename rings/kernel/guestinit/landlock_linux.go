package guestinit

import (
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// knownABI is the newest version of Landlock whose rights are handled here.
const knownABI = 10

// Rights that a mount grants. The kernel reads a program that it starts.
const (
	rightsRead  = ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsWrite = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeFifo |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile
	rightsExec = ll.AccessFSExecute | ll.AccessFSReadFile
	ofFiles    = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// handled are the rights that a ruleset controls on a kernel of this version: all of the version's. A newer
// version is treated as the newest known.
func handled(abi int, network string) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: 1<<13 - 1}
	if abi >= 2 {
		a.HandledAccessFS |= ll.AccessFSRefer
	}
	if abi >= 3 {
		a.HandledAccessFS |= ll.AccessFSTruncate
	}
	if abi >= 4 && network == initproto.NetworkOff {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 5 {
		a.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if abi >= 9 {
		a.HandledAccessFS |= ll.AccessFSResolveUnix
	}
	if abi >= 10 && network == initproto.NetworkOff {
		a.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	return a
}

// newRules makes an empty ruleset.
func (g *guest) newRules() error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return missing(initproto.LayerLandlock, "landlock_create_ruleset", err)
	}
	if abi < max(g.ABI, 1) {
		return missing(initproto.LayerLandlock, "compare versions",
			fmt.Errorf("this kernel has version %d of Landlock, and %d is needed", abi, g.ABI))
	}
	g.abi = min(abi, knownABI)
	a := handled(g.abi, g.Network)
	if g.rules, err = ll.LandlockCreateRuleset(&a, 0); err != nil {
		return missing(initproto.LayerLandlock, "landlock_create_ruleset", err)
	}
	return nil
}

// grant adds the rights of a mount to the ruleset. The rule applies to the file that was opened, not to its
// name.
func (g *guest) grant(fd int, m initproto.Mount) error {
	var rights uint64
	if m.Read || m.Map {
		rights |= rightsRead
	}
	if m.List {
		rights |= ll.AccessFSReadDir
	}
	if m.Write {
		rights |= rightsWrite
	}
	if m.Exec {
		rights |= rightsExec
	}
	if !m.Dir {
		rights &= ofFiles
	}
	rights &= handled(g.abi, g.Network).HandledAccessFS
	if rights == 0 {
		return nil
	}
	if err := ll.LandlockAddPathBeneathRule(
		g.rules, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0,
	); err != nil {
		return perhaps(initproto.LayerLandlock, "landlock_add_rule "+m.Path, err)
	}
	return nil
}

// landlockFlags log the denials of the program, but not those of init's attempts.
func landlockFlags(abi int) uint32 {
	if abi >= 7 {
		return ll.FlagRestrictSelfLogSameExecOff | ll.FlagRestrictSelfLogNewExecOn
	}
	return 0
}

// setLandlock enforces the ruleset on this thread.
func (g *guest) setLandlock() error {
	if err := ll.LandlockRestrictSelf(g.rules, landlockFlags(g.abi)); err != nil {
		return missing(initproto.LayerLandlock, "landlock_restrict_self", err)
	}
	unix.Close(g.rules)
	return nil
}
