package egress

import (
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/egress/forward"
)

// Ask decides one more request to a target, for a connection of DialRequest that
// is used again, takes it from the limits of its rule and puts it on record. The
// error is a *profiles.Denial or a fault.
func (g *Guest) Ask(door string, d egress.Dest, method, path string) error {
	_, err := reader{guest: g}.Ask(forward.Request{Door: door, Dest: d, Method: method, Path: path})
	return err
}

// Refuse puts on record that something is no target, or not in strict form, and
// gives the denial that says so.
func (g *Guest) Refuse(door string, d egress.Dest, method, path string, why *egress.Refusal) *profiles.Denial {
	return denial(reader{guest: g}.Refuse(forward.Request{Door: door, Dest: d, Method: method, Path: path}, why))
}
