package layers

import (
	"reflect"

	"github.com/ringd/ringd/schema"
)

const atLimits = "spec.limits"

func mergeSpecLimits(s *step, own, above *schema.Spec, w site) {
	own.Limits = mergeLimits(s, own.Limits, above.Limits, nil, w.field("limits"))
}

func mergeJSLimits(s *step, own, above *schema.JS, w site) {
	own.Limits = mergeLimits(s, own.Limits, above.Limits, s.parent.Spec.Limits, w.field("limits"))
}

func mergePythonLimits(s *step, own, above *schema.Python, w site) {
	own.Limits = mergeLimits(s, own.Limits, above.Limits, s.parent.Spec.Limits, w.field("limits"))
}

func mergeShellLimits(s *step, own, above *schema.Shell, w site) {
	own.Limits = mergeLimits(s, own.Limits, above.Limits, s.parent.Spec.Limits, w.field("limits"))
}

// mergeLimits merges limits with the limits of the layer above. The limits of one executor are also bounded
// by over, the limits for all executors in the layer above. The compiler compares an executor's limits with
// the child's own limits for all executors.
func mergeLimits(s *step, own, above, over *schema.Limits, w site) *schema.Limits {
	if above == nil && (own == nil || over == nil) {
		return own
	}
	out := copied(own)
	mine, theirs, all := reflect.ValueOf(out).Elem(), reflect.ValueOf(copied(above)).Elem(),
		reflect.ValueOf(copied(over)).Elem()
	for _, f := range s.rules.of(mine.Type()) {
		o, a, of := mine.Field(f.index), theirs.Field(f.index), all.Field(f.index)
		here := w.field(f.name)
		total := site{here.own, atLimits + "." + f.name}
		n, there := number(f.Unit, o)
		most, bound := number(f.Unit, a)
		mostOfAll, boundAll := number(f.Unit, of)
		switch {
		case there && bound && n > most && (!boundAll || most <= mostOfAll):
			s.tooMuch(here, showUnit(f.Unit, n), showUnit(f.Unit, most))
			s.take(o, a, here)
		case there && boundAll && n > mostOfAll:
			s.tooMuch(total, showUnit(f.Unit, n), showUnit(f.Unit, mostOfAll))
			s.take(o, of, total)
		case o.IsZero() && bound && (w.own == atLimits || !lowerForAll(s, f, most)):
			s.take(o, a, here)
		}
	}
	if own == nil && mine.IsZero() {
		return nil
	}
	s.inheritOrigin(w)
	return out
}

// lowerForAll reports whether the child's limit for all executors is lower than a limit of one executor in
// the layer above. If so, the limit of that executor is dropped, and the lower one applies.
func lowerForAll(s *step, f rule, most int64) bool {
	if s.child.Spec.Limits == nil {
		return false
	}
	n, ok := number(f.Unit, reflect.ValueOf(s.child.Spec.Limits).Elem().Field(f.index))
	return ok && n < most
}
