package layers

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/ringd/ringd/schema"
)

// bridges: a list above offers the only ones there are, each with what its owner says.
func (s *step) bridges(own, above *schema.Spec) {
	const at = "spec.bridges"
	switch {
	case above.Bridges == nil:
		return
	case own.Bridges == nil:
		if !s.grants {
			own.Bridges = inherit(s, at, at, above.Bridges)
		}
		return
	}
	offered := map[string]int{}
	var names []string
	for i, b := range above.Bridges {
		offered[b.Name] = i
		names = append(names, b.Name)
	}
	own.Bridges = slices.Clone(own.Bridges)
	refused := map[int]bool{}
	for i := range own.Bridges {
		b := &own.Bridges[i]
		j, ok := offered[b.Name]
		if !ok {
			s.refuse(CodeWidens, index(at, i)+".name", at, s.instead(at, b.Name, names), "bridge %s is not offered by %s", clip(b.Name), shown(s.above(at)))
			refused[i] = true
			continue
		}
		s.bridge(index(at, i), index(at, j), b, &above.Bridges[j])
	}
	own.Bridges = keep(s, at, own.Bridges, refused)
}

func (s *step) bridge(path, up string, own, above *schema.Bridge) {
	s.powers(path+".powers", up+".powers", &own.Powers, above.Powers)
	s.word(path+".dataClass", up+".dataClass", &own.DataClass, above.DataClass, bridgeClass()...)
	own.Executors = s.subset(path+".executors", up+".executors", own.Executors, above.Executors, true)
	own.Arguments, own.Also = s.schemas(path+".arguments", up+".arguments", own.Arguments, above.Arguments, own.Also, above.Also)
	own.Result, own.AlsoResult = s.schemas(path+".result", up+".result", own.Result, above.Result, own.AlsoResult, above.AlsoResult)
	own.Limits = s.bridgeLimits(path+".limits", up+".limits", own.Limits, above.Limits)
	own.Approval = s.approval(path+".approval", up+".approval", own.Approval, above.Approval)
	s.word(path+".audit", up+".audit", &own.Audit, above.Audit, audits()...)
}

// powers are the owner's: the rule of two counts them.
func (s *step) powers(path, up string, own *schema.Powers, above schema.Powers) {
	for _, f := range []struct {
		name  string
		own   *bool
		above bool
	}{{"sensitive", &own.Sensitive, above.Sensitive}, {"untrusted", &own.Untrusted, above.Untrusted}, {"external", &own.External, above.External}} {
		if *f.own == f.above {
			continue
		}
		here, there := path+"."+f.name, up+"."+f.name
		s.refuse(CodePowerMismatch, here, there, fmt.Sprintf("write %s: %t, as the owner does: powers are a property of the bridge", f.name, f.above), "is %t, and %s says %t", *f.own, shown(s.above(there)), f.above)
		*f.own = f.above
	}
}

// schemas: what a value has to fit is all that the layers say. That of the lowest layer
// stands in its place, the others beside it, sorted.
func (s *step) schemas(path, up string, own, above []byte, also, alsoAbove [][]byte) ([]byte, [][]byte) {
	more := slices.Concat(also, alsoAbove)
	if own == nil && above != nil {
		own = inherit(s, path, up, above)
	} else if above != nil {
		more = append(more, above)
	}
	slices.SortFunc(more, bytes.Compare)
	more = slices.CompactFunc(more, bytes.Equal)
	more = slices.DeleteFunc(more, func(b []byte) bool { return bytes.Equal(b, own) })
	if len(more) == 0 {
		return own, nil
	}
	return own, more
}

func (s *step) bridgeLimits(path, up string, own, above *schema.BridgeLimits) *schema.BridgeLimits {
	if above == nil {
		return own
	}
	s.place(path, up)
	own = copied(own)
	for _, f := range []struct {
		name  string
		own   **int64
		above *int64
	}{
		{"callsPerRun", &own.CallsPerRun, above.CallsPerRun}, {"concurrent", &own.Concurrent, above.Concurrent},
		{"spawnPerCall", &own.SpawnPerCall, above.SpawnPerCall}, {"depth", &own.Depth, above.Depth}, {"totalSpawn", &own.TotalSpawn, above.TotalSpawn},
	} {
		s.atMostN(path+"."+f.name, up+"."+f.name, f.own, f.above)
	}
	s.atMost(size, path+".requestBytes", up+".requestBytes", &own.RequestBytes, above.RequestBytes)
	s.atMost(size, path+".responseBytes", up+".responseBytes", &own.ResponseBytes, above.ResponseBytes)
	s.atMost(duration, path+".timeout", up+".timeout", &own.Timeout, above.Timeout)
	return own
}

// asks reports whether an approval asks anybody.
func asks(a *schema.Approval) bool { return a != nil && (a.Required || a.When != "") }

// approval: a child may ask more people, sooner and more often than the layer above,
// and never less. Leaving the condition out asks always.
func (s *step) approval(path, up string, own, above *schema.Approval) *schema.Approval {
	switch {
	case !asks(above):
		return own
	case own == nil:
		return inherit(s, path, up, above)
	case !asks(own):
		s.refuse(CodeWidens, path+".required", up, "write required: true, or leave approval out", "asks nobody, and %s asks people", shown(s.above(up)))
		schema.ForgetOrigins(s.child.Origins, path, own)
		return inherit(s, path, up, above)
	}
	own = copied(own)
	own.From = s.subset(path+".from", up+".from", own.From, above.From, true)
	s.atLeast(path+".count", up+".count", &own.Count, above.Count)
	s.atMost(duration, path+".expiresAfter", up+".expiresAfter", &own.ExpiresAfter, above.ExpiresAfter)
	s.atMost(duration, path+".hold", up+".hold", &own.Hold, above.Hold)
	switch {
	case own.When == "" || own.When == above.When:
	case above.When == "":
		s.refuse(CodeWidens, path+".when", up, "leave it out: every call is approved", "asks only on a condition, and %s asks always", shown(s.above(up)))
		own.When, own.Required = "", true
	default:
		s.refuse(CodeWidens, path+".when", up+".when", "write the same condition, or leave it out to ask always", "is another condition than at %s", shown(s.above(up+".when")))
		own.When = inherit(s, path+".when", up+".when", above.When)
	}
	return own
}

// atLeast takes a number of people; absent, it is that of the layer above.
func (s *step) atLeast(path, up string, own **int64, above *int64) {
	switch {
	case above == nil:
	case *own == nil:
		*own = inherit(s, path, up, above)
	case **own < *above:
		s.refuse(CodeWidens, path, up, "write at least "+number().show(*above)+", or leave it out", "%d is below the %d of %s", **own, *above, shown(s.above(up)))
		*own = inherit(s, path, up, above)
	}
}
