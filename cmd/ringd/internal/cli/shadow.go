package cli

import (
	"fmt"

	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// shadow prints the decisions of a candidate that would differ.
func (p Page) shadow(s *wire.Shadow) {
	if s == nil {
		return
	}
	switch {
	case s.State == wire.ShadowNone && s.Reason == "":
		fmt.Fprintln(p.W, "candidate: none yet")
	case s.State != wire.ShadowReady:
		p.printHanging("candidate: ", "candidate: ", Clean(s.State)+", "+Block(s.Reason), "    ")
	default:
		fmt.Fprintf(p.W, "candidate: %s decides in parallel, enforces nothing\n", Clean(Short(s.Revision)))
		fmt.Fprintf(p.W, "  of %s: %d would_allow, %d would_deny, %d would_ask\n",
			Count(int(s.Decided), "decision"), s.WouldAllow, s.WouldDeny, s.WouldAsk)
	}
	for _, e := range s.Examples {
		fmt.Fprintf(p.W, "  %s: %s %s, now %s (%s)\n", Clean(e.Outcome), Clean(e.Agent), Clean(e.Capability),
			Clean(fmt.Sprint(e.Enforced)), Clean(fmt.Sprint(e.Code)))
	}
	p.findings(s.Findings)
}

// findings prints the findings about a push. Warnings are marked, and the hint and the related places are
// below.
func (p Page) findings(all []wire.Diagnostic) {
	for _, d := range all {
		code := Clean(d.Code)
		if d.Severity == "warning" {
			code += ": warning"
		}
		fmt.Fprintf(p.W, "  %s:%d:%d: %s: %s\n", Clean(d.File), d.Line, d.Column, code, indentFurther(d.Message))
		if d.Hint != "" {
			fmt.Fprintf(p.W, "      hint: %s\n", indentFurther(d.Hint))
		}
		var related []schema.Pos
		for _, other := range d.Related {
			related = append(related, schema.Pos{File: other.File, Line: other.Line, Column: other.Column})
		}
		at := schema.Pos{File: d.File, Line: d.Line, Column: d.Column}
		if also := otherPlaces(at, d.Message, related); also != "" {
			fmt.Fprintln(p.W, "      also: "+also)
		}
	}
}
