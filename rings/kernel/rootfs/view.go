// Package rootfs turns the profile of a guest into the tree of files that it will
// see: every granted path with the links on the way to it taken out, what the
// file was when it was looked at, and for each program the loader and the
// libraries it needs, one by one, so that no folder of the guest holds anything
// that starts but what was granted. It reads the host and changes nothing; the
// init of a guest builds what it says, and refuses what has changed since.
//
// It refuses, with the line of the policy, what it cannot hold: a path that is
// not there, a denial that hides nothing, a program that others may change. The
// kernel ring calls it when a policy is prepared.
package rootfs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Places is what of the host a profile is resolved against.
type Places struct {
	Home      string // what ~ stands for: absolute and clean; "": nothing, and a rule that names it is refused
	Workspace string // what $WORKSPACE stands for, likewise

	// Own is what the executor lets its guest read, see executors.Spec.
	Own []profiles.PathRule
	// Code is what its program loads as code, likewise.
	Code []profiles.PathRule
	// List names folders in which its guest may list what it has, likewise.
	List []profiles.PathRule
	// Room is what it lets its guest read and write; "" is nothing.
	Room string
	// Written lists what guests may write into, those of other agents as well, by
	// its real paths (see Real): a link there is no way to anything, and a program
	// there is nobody's.
	Written []string
	// Private lists the daemon's own folders and sockets: no grant reaches them. A
	// granted folder above one has it hidden.
	Private []string

	// Links is where a guest has a link to each of its programs, when its profile
	// has Path; "" is nowhere. No grant reaches it.
	Links string

	// Root is the folder that stands for /; "" is / itself. Mounts is the text of
	// mountinfo; nil reads that of this process. Arch is a GOARCH; "" is the host's.
	// Tests set them.
	Root   string
	Mounts []byte
	Arch   string
}

// RefusesOwn tells whether err refuses what the executor added, as opposed to what
// a policy grants.
func (p Places) RefusesOwn(err error) bool {
	var no *Refusal
	if !errors.As(err, &no) {
		return false
	}
	for _, own := range slices.Concat(p.Own, p.Code, p.List) {
		if no.Path == own.Path && no.Rule == own.Rule {
			return true
		}
	}
	return p.Room != "" && no.Path == p.Room
}

// Plan is the tree of a guest. It is immutable.
type Plan struct {
	// Mounts are in an order in which what lies below something comes after it.
	Mounts []initproto.Mount
	// Program is the real path of the program; "" when none was named.
	Program string
	// Kernel is the profile with real paths and nothing that stands for a place:
	// what Kernel.Within compares for a guest that lives.
	Kernel profiles.Kernel
	// Skipped lists what of the folders of helpers does not start, sorted.
	Skipped []Skipped
}

// Skipped is a file in a folder of helpers that guests cannot start.
type Skipped struct{ Path, Reason string }

// Refusal is a rule that this host cannot hold as it is meant.
type Refusal struct {
	Path   string        // as the rule names it
	Rule   profiles.Rule // zero: the daemon's own
	Reason string
	Remedy string
}

// Refusals are those that err joins.
func Refusals(err error) (out []*Refusal) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			out = append(out, Refusals(one)...)
		}
		return out
	}
	var no *Refusal
	if errors.As(err, &no) {
		out = append(out, no)
	}
	return out
}

// Error says which path, why, where it stands and what to do.
func (r *Refusal) Error() string {
	at := ""
	if r.Rule != (profiles.Rule{}) {
		at = fmt.Sprintf(" (%s:%d: %s)", r.Rule.File, r.Rule.Line, r.Rule.Path)
	}
	remedy := ""
	if r.Remedy != "" {
		remedy = "; " + r.Remedy
	}
	return fmt.Sprintf("%s %s%s%s", r.Path, r.Reason, at, remedy)
}
