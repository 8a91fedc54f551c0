// Package rootfs turns the profile of a guest into the tree of files that it will see. It resolves the links of
// every granted path and records the identity of the file. For each program it lists the loader and the
// libraries, one by one, so that no folder of the guest holds a file that starts but was not granted. It reads
// the host and changes nothing. The init of a guest builds the tree, and rejects files that have changed since.
//
// It rejects, with the line of the policy, rules that it cannot enforce: a path that does not exist, a denial
// that hides nothing, a program that others may change. The kernel ring calls it when a policy is prepared.
package rootfs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Places are the paths of the host against which a profile is resolved.
type Places struct {
	Home      string // value of ~, absolute and clean; if empty, a rule that names it is rejected
	Workspace string // value of $WORKSPACE, likewise

	// Own are the paths that the executor lets its guest read, see executors.Spec.
	Own []profiles.PathRule
	// Code are the paths that its program loads as code, likewise.
	Code []profiles.PathRule
	// List names folders in which its guest may list its entries, likewise.
	List []profiles.PathRule
	// Room is the folder that it lets its guest read and write, or empty.
	Room string
	// Written lists the real paths that guests may write into, including those of other agents (see Real). A
	// link there must not lead to anything, and a program there is not trusted.
	Written []string
	// Private lists the daemon's own folders and sockets: no grant reaches them. In a granted folder above one,
	// it is hidden.
	Private []string

	// Links is the folder in which a guest has a link to each of its programs, if its profile has Path. If
	// empty, there is none. No grant reaches it.
	Links string

	// Root is the folder that is used as /; if empty, it is /. Mounts is the text of mountinfo; if nil, that of
	// this process is read. Arch is a GOARCH; if empty, it is the host's. Tests set them.
	Root   string
	Mounts []byte
	Arch   string
}

// RefusesOwn reports whether err rejects a path of the executor, as opposed to one that a policy grants.
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
	// Mounts are sorted so that a path comes after those above it.
	Mounts []initproto.Mount
	// Program is the real path of the program, or empty if none was named.
	Program string
	// Kernel is the profile with real paths and without placeholders. Kernel.Within compares it for a live
	// guest.
	Kernel profiles.Kernel
	// Skipped lists the files in folders of helpers that do not start, sorted.
	Skipped []Skipped
}

// Skipped is a file in a folder of helpers that guests cannot start.
type Skipped struct{ Path, Reason string }

// Refusal is a rule that this host cannot enforce as it is meant.
type Refusal struct {
	Path   string        // as the rule names it
	Rule   profiles.Rule // if zero, the daemon's own
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

// Error says which path, why, where the rule is and what to do.
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
