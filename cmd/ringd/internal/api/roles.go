package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
)

// Role is what a caller may do. The zero Role may nothing.
type Role string

// The roles.
const (
	Harness  Role = "harness"
	Approver Role = "approver"
	Operator Role = "operator"
	Viewer   Role = "viewer"
)

// roleHeader lets a request name the one role it acts in.
const roleHeader = "Ringd-Role"

// peer is who sent a request.
type peer struct {
	uid, gid uint32
	pid      int32
	known    bool // false: no credentials, so no roles
}

// table is Roles, ready to be asked.
type table struct {
	uids map[uint32][]Role
	gids map[uint32][]Role
	self uint32
}

func newTable(r Roles, self uint32) (*table, error) {
	t := &table{uids: map[uint32][]Role{}, gids: map[uint32][]Role{}, self: self}
	for _, line := range []struct {
		role Role
		who  []string
	}{{Harness, r.Harness}, {Approver, r.Approver}, {Operator, r.Operator}, {Viewer, r.Viewer}} {
		for _, who := range line.who {
			if err := t.add(line.role, who); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *table) add(role Role, who string) error {
	kind, digits, _ := strings.Cut(who, ":")
	n, err := strconv.ParseUint(digits, 10, 32)
	into := t.uids
	switch {
	case err != nil, kind != "uid" && kind != "gid":
		return fmt.Errorf("roles: %s: %q: want uid:NUMBER or gid:NUMBER", role, who)
	case kind == "gid":
		into = t.gids
	}
	id := uint32(n)
	if !slices.Contains(into[id], role) {
		into[id] = append(into[id], role)
	}
	if slices.Contains(into[id], Harness) && slices.Contains(into[id], Approver) {
		return fmt.Errorf("roles: %s is harness and approver: a harness can never approve", who)
	}
	return nil
}

// roles returns what p may be. A harness is never an approver, also when one
// comes from its uid and the other from its gid.
func (t *table) roles(p peer) []Role {
	if !p.known {
		return nil
	}
	out := slices.Clone(t.uids[p.uid])
	if len(out) == 0 && (p.uid == 0 || p.uid == t.self) {
		out = []Role{Operator, Harness}
	}
	for _, r := range t.gids[p.gid] {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if slices.Contains(out, Harness) {
		out = slices.DeleteFunc(out, func(r Role) bool { return r == Approver })
	}
	return out
}

// actor is p in the words of the daemon. Only a mere harness is kept to its own
// runs.
func actor(p peer, roles []Role) daemon.Actor {
	a := daemon.Actor{Name: "uid:" + strconv.FormatUint(uint64(p.uid), 10)}
	for _, r := range roles {
		switch r {
		case Operator, Viewer, Approver:
			a.All = true
		case Harness:
		}
	}
	return a
}
