package layers

import (
	"strconv"

	"github.com/ringd/ringd/schema"
)

// measure reads and shows numbers of one kind. Text that it cannot read is left for
// the compiler to refuse.
type measure struct {
	read func(string) (int64, bool)
	show func(int64) string
}

// The measures.
func duration() measure { return measure{schema.Duration, schema.ShowDuration} }
func size() measure     { return measure{schema.Size, schema.ShowSize} }
func rate() measure {
	return measure{schema.Rate, func(n int64) string { return strconv.FormatInt(n, 10) + "/m" }}
}
func number() measure {
	return measure{func(text string) (int64, bool) {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}, func(n int64) string { return strconv.FormatInt(n, 10) }}
}

// atMost takes a limit; absent, it is that of the layer above.
func (s *step) atMost(kind func() measure, path, up string, own *string, above string) {
	m := kind()
	most, ok := m.read(above)
	switch {
	case above == "" || !ok:
	case *own == "":
		*own = inherit(s, path, up, above)
	default:
		if n, ok := m.read(*own); ok && n > most {
			s.tooMuch(path, up, *own, above)
			*own = inherit(s, path, up, above)
		}
	}
}

func (s *step) tooMuch(path, up, own, above string) {
	s.refuse(CodeWidens, path, up, "write at most "+above+", or leave it out", "%s is above the ceiling of %s at %s", clip(own), above, shown(s.above(up)))
}

// atMostN is atMost for a number.
func (s *step) atMostN(path, up string, own **int64, above *int64) {
	switch {
	case above == nil:
	case *own == nil:
		*own = inherit(s, path, up, above)
	case **own > *above:
		s.tooMuch(path, up, strconv.FormatInt(**own, 10), strconv.FormatInt(*above, 10))
		*own = inherit(s, path, up, above)
	}
}

// limitField is one field of a schema.Limits.
type limitField struct {
	name string
	kind func() measure
	text func(*schema.Limits) *string
	num  func(*schema.Limits) **int64
}

func limitFields() []limitField {
	return []limitField{
		{name: "cpu", kind: duration, text: func(l *schema.Limits) *string { return &l.CPU }},
		{name: "memory", kind: size, text: func(l *schema.Limits) *string { return &l.Memory }},
		{name: "wall", kind: duration, text: func(l *schema.Limits) *string { return &l.Wall }},
		{name: "output", kind: size, text: func(l *schema.Limits) *string { return &l.Output }},
		{name: "result", kind: size, text: func(l *schema.Limits) *string { return &l.Result }},
		{name: "stack", kind: size, text: func(l *schema.Limits) *string { return &l.Stack }},
		{name: "processes", kind: number, num: func(l *schema.Limits) **int64 { return &l.Processes }},
		{name: "files", kind: number, num: func(l *schema.Limits) **int64 { return &l.Files }},
		{name: "refusedCalls", kind: number, num: func(l *schema.Limits) **int64 { return &l.RefusedCalls }},
		{name: "pause", kind: duration, text: func(l *schema.Limits) *string { return &l.Pause }},
	}
}

// get reads a limit of l; false: it is absent, or cannot be read.
func (f limitField) get(l *schema.Limits) (int64, bool) {
	switch {
	case l == nil:
		return 0, false
	case f.num != nil:
		if n := *f.num(l); n != nil {
			return *n, true
		}
		return 0, false
	default:
		return f.kind().read(*f.text(l))
	}
}

func (f limitField) written(l *schema.Limits) bool {
	return l != nil && (f.num != nil && *f.num(l) != nil || f.text != nil && *f.text(l) != "")
}

// set takes the limit of another.
func (f limitField) set(l, from *schema.Limits) {
	if f.num != nil {
		*f.num(l) = *f.num(from)
	} else {
		*f.text(l) = *f.text(from)
	}
}

// limits puts limits under those above. Those of an executor, with overAt, are also
// under the limits above for all executors; what the child says there itself is the
// compiler's to compare.
func (s *step) limits(path string, own, above *schema.Limits, overAt string, over *schema.Limits) *schema.Limits {
	if above == nil && (own == nil || over == nil) {
		return own
	}
	if above == nil {
		above = &schema.Limits{}
	}
	was := own
	own = copied(own)
	for _, f := range limitFields() {
		here := path + "." + f.name
		n, there := f.get(own)
		most, bound := f.get(above)
		all, boundAll := f.get(over)
		switch {
		case there && bound && n > most && (!boundAll || most <= all):
			s.tooMuch(here, here, f.show(n), f.show(most))
			f.set(own, above)
			schema.MoveOrigins(s.child.Origins, here, s.parent.Origins, here, "")
		case there && boundAll && n > all:
			s.tooMuch(here, overAt+"."+f.name, f.show(n), f.show(all))
			f.set(own, over)
			schema.MoveOrigins(s.child.Origins, here, s.parent.Origins, overAt+"."+f.name, "")
		case !f.written(own) && bound && !s.lower(f, overAt, most):
			f.set(own, above)
			schema.MoveOrigins(s.child.Origins, here, s.parent.Origins, here, "")
		}
	}
	if was == nil && *own == (schema.Limits{}) {
		return nil
	}
	s.place(path, path)
	return own
}

func (f limitField) show(n int64) string { return f.kind().show(n) }

// lower reports whether the child has a limit for all executors that is below one of
// an executor above: then that of the executor is left out, and the lower one counts.
func (s *step) lower(f limitField, overAt string, most int64) bool {
	if overAt == "" {
		return false
	}
	n, ok := f.get(s.child.Spec.Limits)
	return ok && n < most
}
