package layers

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// Classes finds the bridges of a policy whose data class is above data.maxClass of the policy. The policy
// may be an effective policy or a single document. Bridges without a class are skipped.
func Classes(p *schema.Policy) (found schema.Diagnostics) {
	if p.Spec.Data == nil || p.Spec.Data.MaxClass == "" {
		return nil
	}
	order := fields.ByPolicy()["Bridge.DataClass"].Words
	most := slices.Index(order, p.Spec.Data.MaxClass)
	for i, b := range p.Spec.Bridges {
		if slices.Index(order, b.DataClass) <= most {
			continue
		}
		here, ceiling := schema.OriginOf(p, index("spec.bridges", i)+".dataClass"),
			schema.OriginOf(p, "spec.data.maxClass")
		if here.Layer != "" { // the class is the ceiling's; the author's part was to grant the bridge
			here = schema.OriginOf(p, index("spec.bridges", i)+".name")
		}
		found = append(found, schema.WithOrigin(here, schema.Diagnostic{Code: CodeClassAboveMax,
			Related: []schema.Pos{ceiling.Pos},
			Hint:    "leave the bridge out, or let data.maxClass be " + b.DataClass,
			Msg: fmt.Sprintf("bridge %s carries %s data, and data.maxClass at %s is %s", clip(b.Name), b.DataClass,
				shown(ceiling), p.Spec.Data.MaxClass)}))
	}
	return found
}
