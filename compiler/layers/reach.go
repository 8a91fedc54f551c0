// This file owns how the hosts of one list lie within those of another, and which
// entries of a list count for a target as a decision takes them. It is pure, and keeps
// what it is given. Package layers calls it.

package layers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// reach is what a network lets reach, indexed.
type reach struct {
	Listed bool // there is a list of hosts
	Allow  entries
	Deny   entries
}

// readReach indexes a network.
func readReach(n *schema.Network) *reach {
	denied := make([]schema.Egress, len(n.Deny))
	for i, host := range n.Deny {
		denied[i] = schema.Egress{Host: host}
	}
	return &reach{Listed: n.Egress != nil, Allow: readAll("spec.network.egress", n.Egress, false),
		Deny: readAll("spec.network.deny", denied, true)}
}

// entries are a list of hosts that was read.
type entries struct {
	Path  string  // of the list
	List  []Entry // in its order
	index egress.PatternIndex
	at    []int // of each indexed pattern, its place in the list
}

// Entry is one host of a list. What cannot be read is left for the compiler to refuse.
type Entry struct {
	*schema.Egress
	Readable bool
	Pattern  egress.Pattern
	Name     string // the host as it is decided by
	On       []int  // the ports
	Any      bool   // every port
	Gateway  bool   // it stands for a gateway, whose requests are read on every port
}

func readAll(path string, list []schema.Egress, everyPort bool) entries {
	out := make([]Entry, len(list))
	for i := range list {
		out[i] = ReadEntry(&list[i], everyPort)
	}
	return indexEntries(path, out)
}

// indexEntries indexes entries by their place in the list.
func indexEntries(path string, list []Entry) entries {
	out := entries{Path: path, List: list}
	patterns := make([]egress.Pattern, 0, len(list))
	for i := range list {
		if list[i].Readable {
			patterns, out.at = append(patterns, list[i].Pattern), append(out.at, i)
		}
	}
	out.index = egress.NewPatternIndex(patterns)
	return out
}

// ReadEntry reads one host; everyPort says what one without a port is for.
func ReadEntry(e *schema.Egress, everyPort bool) Entry {
	out := Entry{Egress: e}
	text, err := egress.ReadEntry(e.Host)
	if err != nil {
		return out
	}
	if out.Pattern, err = egress.PatternOf(text); err != nil {
		return out
	}
	out.Readable, out.Any, out.Name = true, text.AnyPort, text.Host
	out.On = text.Ports
	if len(e.Ports) > 0 {
		out.On = append(slices.Clone(text.Ports), e.Ports...)
	}
	switch {
	case len(out.On) > 0 || out.Any:
	case everyPort:
		out.Any = true
	default:
		out.On = []int{443}
	}
	return out
}

// Has reports whether an entry is for a port; 0 is one that none names.
func (e *Entry) Has(port int) bool { return e.Any || port != 0 && slices.Contains(e.On, port) }

// Within reports whether each port of e is one of o.
func (e *Entry) Within(o *Entry) bool {
	return o.Any || !e.Any && !slices.ContainsFunc(e.On, func(p int) bool { return !slices.Contains(o.On, p) })
}

// Meets reports whether the two have a port in common.
func (e *Entry) Meets(o *Entry) bool {
	return e.Any || o.Any || slices.ContainsFunc(e.On, func(p int) bool { return slices.Contains(o.On, p) })
}

// Reads reports whether the entry is for requests that can be told apart.
func (e *Entry) Reads() bool { return e.Methods != nil || e.Paths != nil }

// ShowPorts names the ports.
func (e *Entry) ShowPorts() string {
	if e.Any {
		return "every port"
	}
	texts := make([]string, len(e.On))
	for i, p := range e.On {
		texts[i] = strconv.Itoa(p)
	}
	if len(texts) == 1 {
		return "port " + texts[0]
	}
	return "ports " + strings.Join(texts, ", ")
}

// Opaque reports whether the entry is for connections in which none can.
func (e *Entry) Opaque() bool { return e.Any || slices.Contains(e.On, 443) }

// Covering lists the entries whose host covers that of e, the closest first, as a
// decision looks at them.
func (x *entries) Covering(e *Entry) []int {
	out := x.index.Covering(e.Pattern)
	for i := range out {
		out[i] = x.at[out[i]]
	}
	slices.SortStableFunc(out, func(i, j int) int {
		a, b := &x.List[i], &x.List[j]
		switch above, below := a.Pattern.Covers(b.Pattern), b.Pattern.Covers(a.Pattern); {
		case above && !below:
			return 1
		case below && !above:
			return -1
		default:
			return 0
		}
	})
	return out
}

// Whole gives a denied entry that covers all of e; -1: none does.
func (x *entries) Whole(e *Entry) int {
	for _, i := range x.index.Covering(e.Pattern) {
		if e.Within(&x.List[x.at[i]]) {
			return x.at[i]
		}
	}
	return -1
}

// First lists the entries of meets whose limits may be the ones that count for a target
// of e: those that pass a connection as it is come before those that read its requests,
// the closest first, and the next counts when one has expired.
func (x *entries) First(e *Entry, meets []int) (out []int) {
	add := func(i int) {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	for _, port := range x.PortsOf(e, meets) {
		passed := false
		for _, i := range meets {
			if o := &x.List[i]; !o.Reads() && o.Has(port) && !passed {
				add(i)
				passed = o.Expires == ""
			}
		}
		for _, i := range meets {
			if o := &x.List[i]; o.Reads() && o.Has(port) && !passed && sharesMethod(e.Methods, o.Methods) {
				add(i)
			}
		}
	}
	return out
}

// PortsOf lists the ports of e that the entries tell apart; 0 is one that none names.
func (x *entries) PortsOf(e *Entry, of []int) []int {
	if !e.Any {
		return e.On
	}
	out := []int{0}
	for _, i := range of {
		out = append(out, x.List[i].On...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sharesMethod(a, b []string) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}

// Passes reports whether the limits of an entry that reads requests never count for the
// ports of e, since another one passes the connections as they are.
func (x *entries) Passes(q, e *Entry) bool {
	if !q.Reads() {
		return false
	}
	for _, port := range x.PortsOf(q, nil) {
		if !e.Has(port) {
			continue
		}
		if !slices.ContainsFunc(x.Covering(q), func(i int) bool {
			o := &x.List[i]
			return !o.Reads() && o.Has(port) && o.Expires == ""
		}) {
			return false
		}
	}
	return true
}
