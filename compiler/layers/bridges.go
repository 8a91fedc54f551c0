package layers

import (
	"bytes"
	"slices"

	"github.com/ringd/ringd/schema"
)

// mergeBridges merges bridges. If the layer above has a list of bridges, no others are allowed. Each bridge
// has the settings that its owner chose.
func mergeBridges(s *step, own, above *schema.Spec, w site) {
	w = w.field("bridges")
	switch {
	case above.Bridges == nil:
		return
	case own.Bridges == nil:
		if !s.grants {
			own.Bridges = inherit(s, w, above.Bridges)
		}
		return
	}
	name := func(b *schema.Bridge) string { return b.Name }
	own.Bridges = mergeKeyed(s, w.own, own.Bridges, above.Bridges, name,
		func(b *schema.Bridge, i, j int, names []string) bool {
			if j < 0 {
				s.refuse(CodeWidens, site{index(w.own, i) + ".name", w.above}, s.instead(w.above, b.Name, names),
					"bridge %s is not offered by %s", clip(b.Name), s.shown(w.above))
				return false
			}
			s.mergeStruct(b, &above.Bridges[j], w.item(i, j))
			return true
		})
}

func mergeArguments(s *step, own, above *schema.Bridge, w site) {
	own.Arguments, own.Also = mergeSchemas(s, own.Arguments, above.Arguments, slices.Concat(own.Also, above.Also),
		w.field("arguments"))
}

func mergeResult(s *step, own, above *schema.Bridge, w site) {
	own.Result, own.AlsoResult = mergeSchemas(s, own.Result, above.Result,
		slices.Concat(own.AlsoResult, above.AlsoResult), w.field("result"))
}

// mergeSchemas merges JSON Schemas. A value must match the schemas of all layers. The schema of the lowest
// layer is the first result. The schemas of the other layers are in also, sorted.
func mergeSchemas(s *step, own, above []byte, also [][]byte, w site) ([]byte, [][]byte) {
	if own == nil && above != nil {
		own = inherit(s, w, above)
	} else if above != nil {
		also = append(also, above)
	}
	slices.SortFunc(also, bytes.Compare)
	also = slices.CompactFunc(also, bytes.Equal)
	also = slices.DeleteFunc(also, func(b []byte) bool { return bytes.Equal(b, own) })
	if len(also) == 0 {
		return own, nil
	}
	return own, also
}

// asks reports whether an approval is ever required.
func asks(a *schema.Approval) bool { return a != nil && (a.Required || a.When != "") }

// mergeApproval merges approvals. A child may require more approvers and more often, with shorter waits, but
// never less than the layer above.
func mergeApproval(s *step, own, above *schema.Bridge, w site) {
	w = w.field("approval")
	switch {
	case !asks(above.Approval):
	case own.Approval == nil:
		own.Approval = inherit(s, w, above.Approval)
	case !asks(own.Approval):
		s.refuse(CodeWidens, site{w.own + ".required", w.above}, "write required: true, or leave approval out",
			"requires no approval, and %s requires one", s.shown(w.above))
		schema.ForgetOrigins(s.child.Origins, w.own, own.Approval)
		own.Approval = inherit(s, w, above.Approval)
	default:
		own.Approval = copied(own.Approval)
		s.mergeStruct(own.Approval, above.Approval, w)
	}
}

// mergeCondition merges conditions. An approval without a condition covers every call, so a child may drop
// the condition.
func mergeCondition(s *step, own, above *schema.Approval, w site) {
	here := w.field("when")
	switch {
	case own.When == "" || own.When == above.When:
	case above.When == "":
		s.refuse(CodeWidens, site{here.own, w.above}, "leave when out: every call then needs an approval",
			"asks only if a condition holds, and %s always asks", s.shown(w.above))
		own.When, own.Required = "", true
	default:
		s.refuse(CodeWidens, here, "write the same condition, or leave when out: every call then needs an approval",
			"differs from the condition at %s", s.shown(here.above))
		own.When = inherit(s, here, above.When)
	}
}
