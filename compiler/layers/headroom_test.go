package layers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/compiler/headroom"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// TestEveryFieldHasHeadroom: what would be wider than a ceiling raises it when the ceiling
// says it itself, so does what a ceiling no longer says, and what is narrower does not.
// The proofs are those of the merge, so a field that has one and no comparison fails.
func TestEveryFieldHasHeadroom(t *testing.T) {
	org, _ := full(t)
	compare := func(change func(*schema.Spec, *schema.Policy), back bool) []diff.Change {
		old, now := read(t, "org.yaml", org), read(t, "org.yaml", org)
		change(&now[0].Spec, &now[0])
		if back {
			old, now = now, old
		}
		return headroom.Compare(old, now)[0].Changes
	}
	raises := func(changes []diff.Change) bool { return diff.ClassOf(changes) == diff.Headroom }
	proved := map[string]bool{}
	for _, p := range proofs() {
		told := false
		check := func(what string, change func(*schema.Spec, *schema.Policy), back, want bool) {
			if change == nil {
				return
			}
			got := compare(change, back)
			if want && !raises(got) && slices.Contains(stricter(), p.field) {
				got = compare(change, true)
			}
			if raises(got) != want {
				t.Errorf("%s: %s: headroom %t, want %t: %+v", p.field, what, !want, want, got)
			}
			for _, ch := range got {
				if ch.Says == "" || ch.Layer != "OrgPolicy acme" || ch.OldRule == nil && ch.NewRule == nil {
					t.Errorf("%s: %s: lacks words or a place: %+v", p.field, what, ch)
				}
			}
			told = told || want
		}
		switch {
		case p.field == "Metadata.Name" || p.field == "Guardrail.OnError": // a name, and deny or deny
			told = true
		case p.wide == nil && p.drop != nil && p.narrow != nil: // a denial more: without it again there is headroom
			check("taken back", p.narrow, true, true)
			check("left out", p.drop, false, true)
			check("more denied", p.narrow, false, false)
		case p.code == "denied-by-parent": // of an item that another list denies: of the item there is more
			check("wider", p.wide, false, true)
		case p.wide == nil:
			check("left out", p.drop, false, true)
		default:
			check("wider", p.wide, false, true)
			if !slices.Contains(gone(), p.field) {
				check("narrower", p.narrow, false, false)
			}
		}
		proved[p.field] = proved[p.field] || told
	}
	exempt := []fields.Order{fields.Parts, fields.Annotation, fields.Own, fields.Filled}
	for _, f := range fields.Table() {
		if !proved[f.Policy] && !slices.Contains(exempt, f.Order) && !strings.HasPrefix(f.Policy, "Policy.") {
			t.Errorf("%s: nothing proves that a ceiling of it is compared", f.Policy)
		}
	}
}

// stricter are fields of which one of the proofs makes a ceiling bound more: powers that
// count, a list for which another one was left out, a limit where there was none.
func stricter() []string {
	return []string{"Touches.External", "Powers.Untrusted", "Filesystem.Deny", "Limits.Wall"}
}

// gone are fields of which an agent has what is above where it leaves them out, or nothing:
// a ceiling that leaves them out bounds nothing. Of env and upstream the texts differ, and
// nothing says what they give.
func gone() []string {
	return []string{"Environment.Digest", "Python.JIT", "Shell.Env", "Shell.AllowPipes", "Shell.AllowRedirects",
		"Shell.AllowSubstitution", "Shell.JIT",
		"Binary.Env", "Binary.Network", "Approval.Required", "Gateway.Upstream"}
}
