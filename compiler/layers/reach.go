package layers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// reach is the indexed network of a policy.
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

// entries is a parsed list of hosts.
type entries struct {
	Path  string  // of the list
	List  []Entry // in its order
	index egress.PatternIndex
	at    []int // position in the list of each indexed pattern
}

// Entry is one host of a list. An invalid entry is not Readable: the compiler rejects it.
type Entry struct {
	*schema.Egress
	Readable bool
	Pattern  egress.Pattern
	Name     string // the host in its canonical form
	On       []int  // the ports
	Any      bool   // every port
	Gateway  bool   // it represents a gateway, whose requests are read on every port
}

func readAll(path string, list []schema.Egress, everyPort bool) entries {
	out := make([]Entry, len(list))
	for i := range list {
		out[i] = ReadEntry(&list[i], everyPort)
	}
	return indexEntries(path, out)
}

// indexEntries indexes entries by their position in the list.
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

// ReadEntry parses one host. If everyPort is true, a host without a port is for every port, otherwise for
// 443.
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

// Has reports whether an entry includes a port. The port 0 represents a port that no entry names.
func (e *Entry) Has(port int) bool { return e.Any || port != 0 && slices.Contains(e.On, port) }

// Within reports whether o includes each port of e.
func (e *Entry) Within(o *Entry) bool {
	return o.Any || !e.Any && !slices.ContainsFunc(e.On, func(p int) bool { return !slices.Contains(o.On, p) })
}

// Meets reports whether the two entries have a port in common.
func (e *Entry) Meets(o *Entry) bool {
	return e.Any || o.Any || slices.ContainsFunc(e.On, func(p int) bool { return slices.Contains(o.On, p) })
}

// Reads reports whether the entry requires that requests are read.
func (e *Entry) Reads() bool { return e.Methods != nil || e.Paths != nil }

// ShowPorts lists the ports for a message.
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

// Opaque reports whether the entry includes connections whose requests cannot be read.
func (e *Entry) Opaque() bool { return e.Any || slices.Contains(e.On, 443) }

// Covering lists the entries whose host covers that of e, the most specific first, in the order of a
// decision.
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

// Whole returns the index of a denied entry that covers all of e, or -1.
func (x *entries) Whole(e *Entry) int {
	for _, i := range x.index.Covering(e.Pattern) {
		if e.Within(&x.List[x.at[i]]) {
			return x.at[i]
		}
	}
	return -1
}

// First lists those entries of meets whose limits may apply to a target of e. Entries that do not require
// that requests are read come first, and within each kind the most specific. When an entry has expired, the
// next one applies.
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

// PortsOf lists the ports of e that the entries distinguish. The port 0 represents all ports that no entry
// names.
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

// Passes reports whether the limits of entry q never apply to the ports of e. That is so if q requires that
// requests are read, and another entry allows the same connections without that.
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
