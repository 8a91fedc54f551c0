package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/schema/wire"
)

// Role is what a caller may do. The zero Role may do nothing.
type Role string

// Roles.
const (
	Harness  Role = "harness"
	Approver Role = "approver"
	Operator Role = "operator"
	Viewer   Role = "viewer"
)

// roleHeader names the one role in which a request acts.
const roleHeader = "Ringd-Role"

// peer is the sender of a request.
type peer struct {
	uid, gid uint32
	groups   []uint32 // supplementary groups: it can make each of them its gid
	pid      int32
	known    bool // false means no credentials, and so no roles

	tcp   bool   // connected over TCP: the ids have no meaning
	token string // name of the token; set with tcp
}

// roleTable is Roles as maps.
type roleTable struct {
	uids map[uint32][]Role
	gids map[uint32][]Role
	self uint32
	// Owners that a uid or gid stands for, sorted.
	uidOwners, gidOwners map[uint32][]string

	tokens      map[string][]Role // by name
	tokenOwners map[string][]string
}

func newTable(r Roles, approvers map[string][]string, callers []Token, self uint32) (*roleTable, error) {
	t := &roleTable{uids: map[uint32][]Role{}, gids: map[uint32][]Role{}, self: self,
		uidOwners: map[uint32][]string{}, gidOwners: map[uint32][]string{},
		tokens: map[string][]Role{}, tokenOwners: map[string][]string{}}
	for _, c := range callers {
		if err := t.addToken(c); err != nil {
			return nil, err
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(approvers)) {
		for _, who := range approvers[owner] {
			if token, ok := strings.CutPrefix(who, "token:"); ok {
				if !slices.Contains(t.tokens[token], Approver) {
					return nil, fmt.Errorf("approvers: %s: %s is not the token of an approver", owner, who)
				}
				t.tokenOwners[token] = append(t.tokenOwners[token], owner)
				continue
			}
			group, id, err := principal(who)
			if err != nil {
				return nil, fmt.Errorf("approvers: %s: %w", owner, err)
			}
			into := t.uidOwners
			if group {
				into = t.gidOwners
			}
			into[id] = append(into[id], owner)
		}
	}
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

// addToken adds a caller over TCP.
func (t *roleTable) addToken(c Token) error {
	if len(c.Roles) == 0 {
		return fmt.Errorf("tokens: %s has no role", c.Name)
	}
	for _, r := range c.Roles {
		switch r {
		case Harness, Approver, Operator, Viewer:
		default:
			return fmt.Errorf("tokens: %s: %q is not a role", c.Name, r)
		}
	}
	approves := slices.Contains(c.Roles, Approver)
	switch {
	case approves && slices.Contains(c.Roles, Harness):
		return fmt.Errorf("tokens: %s is harness and approver: a harness can never approve", c.Name)
	case len(c.Owners) > 0 && !approves:
		return fmt.Errorf("tokens: %s has owners but is not an approver", c.Name)
	}
	t.tokens[c.Name] = slices.Clone(c.Roles)
	t.tokenOwners[c.Name] = slices.Clone(c.Owners)
	return nil
}

// principal parses "uid:NUMBER" or "gid:NUMBER".
func principal(who string) (group bool, id uint32, err error) {
	kind, digits, _ := strings.Cut(who, ":")
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || (kind != "uid" && kind != "gid") {
		return false, 0, fmt.Errorf("%q: want uid:NUMBER or gid:NUMBER", who)
	}
	return kind == "gid", uint32(n), nil
}

func (t *roleTable) add(role Role, who string) error {
	group, id, err := principal(who)
	if err != nil {
		return fmt.Errorf("roles: %s: %w", role, err)
	}
	into := t.uids
	if group {
		into = t.gids
	}
	if !slices.Contains(into[id], role) {
		into[id] = append(into[id], role)
	}
	if slices.Contains(into[id], Harness) && slices.Contains(into[id], Approver) {
		return fmt.Errorf("roles: %s is harness and approver: a harness can never approve", who)
	}
	return nil
}

// stands returns the owners that p stands for, sorted.
func (t *roleTable) stands(p peer) []string {
	if !p.known {
		return nil
	}
	if p.tcp {
		return slices.Compact(slices.Sorted(slices.Values(t.tokenOwners[p.token])))
	}
	out := append(slices.Clone(t.uidOwners[p.uid]), t.gidOwners[p.gid]...)
	slices.Sort(out)
	return slices.Compact(out)
}

// roles returns the roles of p, by its uid and its gid. A harness is never an approver. This holds even if
// one role comes from its uid and the other from its gid, or from a group that it could have used to connect.
func (t *roleTable) roles(p peer) []Role {
	if !p.known {
		return nil
	}
	if p.tcp {
		return slices.Clone(t.tokens[p.token])
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
	if slices.Contains(out, Harness) || slices.ContainsFunc(
		p.groups, func(g uint32) bool { return slices.Contains(t.gids[g], Harness) }) {
		out = slices.DeleteFunc(out, func(r Role) bool { return r == Approver })
	}
	return out
}

// actor returns p as the daemon's actor. A caller that is only a harness sees only its own runs.
func actor(p peer, roles []Role) daemon.Actor {
	a := daemon.Actor{Name: "uid:" + strconv.FormatUint(uint64(p.uid), 10)}
	if p.tcp {
		a.Name = "token:" + p.token
	}
	for _, r := range roles {
		switch r {
		case Operator, Viewer, Approver:
			a.All = true
		case Harness:
		}
	}
	return a
}

// forbidden denies a route to a caller without a role for it. The error has the caller's identity and where
// roles are configured, and nothing about others.
func forbidden(route Route, p peer, roles []Role) error {
	who, as := "a caller without a known uid", "without a role"
	if p.known {
		who = actor(p, roles).Name
	}
	if len(roles) > 0 {
		as = "as " + join(roles)
	}
	text := fmt.Sprintf("%s is for %s only, and %s calls it %s", route.Path, join(route.Roles), who, as)
	if len(route.Roles) > 0 {
		text += "; " + roleSource(route.Roles, p.tcp)
	}
	return &codedError{http.StatusForbidden, wire.CodeForbidden, text}
}

// roleSource returns which part of the daemon's configuration assigns the roles.
func roleSource(roles []Role, tcp bool) string {
	keys := make([]string, len(roles))
	for i, r := range roles {
		keys[i] = "roles." + string(r)
	}
	who, whom := "under "+strings.Join(keys, " or "), "under approvers"
	if tcp {
		who, whom = "by the roles of an entry of tokens", "by its owners"
	}
	text := "the daemon's configuration grants this " + who
	if slices.Equal(roles, []Role{Approver}) {
		text += ", and for whom, " + whom + "; a harness never approves"
	}
	return text
}
