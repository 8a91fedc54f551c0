package compiler

import (
	"slices"
	"strconv"
	"time"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// exceptions compiles the exceptions of an agent, without what they grant. Each grant of an exception is an
// item of a list of the agent, and is compiled with that list.
func (d *document) exceptions() (out []profiles.Exception) {
	for i, e := range d.policy.Spec.Exceptions {
		end, _ := layers.ExceptionEnd(e.Expires) // an error here is already a finding
		x := profiles.Exception{ID: e.ID, Owner: e.Owner, ApprovedBy: e.ApprovedBy, Reason: e.Reason, Ticket: e.Ticket,
			Expires: end,
			Rule:    d.rule("spec.exceptions[" + strconv.Itoa(i) + "]"), Lifts: e.Lifts,
			Grants: profiles.Excepted{Imports: e.Grants.Imports, Binaries: e.Grants.Binaries}}
		for _, g := range e.Grants.Egress {
			x.Grants.Egress = append(x.Grants.Egress, hostAndPorts(g))
		}
		out = append(out, x)
	}
	return out
}

// hostAndPorts returns an entry in the form host:port, for people.
func hostAndPorts(e schema.Egress) string {
	text := e.Host
	for i, p := range e.Ports {
		sep := ","
		if i == 0 {
			sep = ":"
		}
		text += sep + strconv.Itoa(p)
	}
	return text
}

// grantingException returns the ID and the end of the exception that grants a list item, or "" and nil.
func (d *document) grantingException(path string) (id string, end *time.Time) {
	id, ok := d.policy.Excepted[path]
	if !ok {
		return "", nil
	}
	for _, e := range d.policy.Spec.Exceptions {
		if at, ok := layers.ExceptionEnd(e.Expires); ok && e.ID == id {
			return id, &at
		}
	}
	return id, &time.Time{} // already ended
}

// appended reports whether only an exception grants a list item.
func (d *document) appended(path string) bool { return slices.Contains(d.policy.Appended, path) }
