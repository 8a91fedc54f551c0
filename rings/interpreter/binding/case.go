package binding

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// Case is what is known and decided about one call. Its owner guards it.
type Case struct {
	Bridge string
	Args   json.RawMessage // as a provider gets them
	Size   int64           // of the arguments as the guest sent them
	Marked bool            // they use the tagged encoding
	Agents int64           // subagents they ask for

	// Held: its program cannot be written down, and waits in its guest while the call
	// is open; HeldFor is how long people then have to approve it.
	Held    bool
	HeldFor time.Duration

	// Action is set of an act: what a guest wants to do itself. Args are that action
	// then, and Bridge its name. Ahead: its program has not begun. Allowed is the
	// decision that the guest gets once all policies allow the act.
	Action  *profiles.Action
	Ahead   bool
	Allowed profiles.Decision

	Own      []*Grant    // of all policies that bind the run
	Other    *Grant      // of the generation in force when it was decided last
	Gen      *Generation // that generation
	Limits   profiles.BridgeLimits
	External bool
	Full     bool // its record holds the arguments
	Revoked  bool // a policy in force at a pause no longer granted it

	Grown    ruleoftwo.Grown // what the tree of its run had not touched before it
	Two      string          // why the rule of two has people asked about it; "": it has not
	Terms    *pause.Terms    // of the approval that it needs; nil: none
	Unasked  map[string]bool // conditions of approvals that do not hold for it
	Approved bool            // it has that approval
	By       string          // who approved it last

	guards map[guard]*Refusal // what the guardrails on calls said of it; nil: it may happen
}

// Used is what a run has used when a call is decided again.
type Used struct {
	Calls, Open int64 // of the call's bridge
	Depth       int64
	Tree        *budget.Tree
}

// MaxFull bounds the arguments of a record, as JSON text. A call whose arguments
// take more is refused.
const MaxFull = 1<<20 - 64<<10

// auditFull is the value of profiles.Bridge.Audit that records arguments.
const auditFull = "full"

// Refusal is a call that does not happen.
type Refusal struct {
	Name     string // of the error the program gets
	Decision profiles.Decision
	Text     string // of the error the program gets
}

// TextRevoked is what a program reads of a call that is no longer granted.
const TextRevoked = "the policy now in force no longer grants it"

// Decide decides the call under all that binds the run and under g, the
// generation in force, and notes what they grant. Nil: all allow, or ask for an
// approval.
func (k *Case) Decide(b *Binding, g *Generation) *Refusal {
	if k.IsAct() {
		if no := k.prepare(b); no != nil {
			return no
		}
	}
	own, d, later := k.own(b)
	if own == nil {
		name := profiles.ErrorCapabilityDenied
		if later {
			name = profiles.ErrorCapabilityRevoked
		}
		return refusalOf(d, name)
	}
	k.Own, k.Limits = own, own[0].Limits
	other, no := k.under(b, g)
	if no != nil {
		return no
	}
	k.Gen, k.Other = g, other
	if k.IsAct() {
		if no := k.allow(); no != nil {
			return no
		}
	}
	for _, gr := range k.Grants() {
		k.Limits = budget.Stricter(k.Limits, gr.Limits)
		k.External = k.External || gr.Powers.External
		k.Full = k.Full || gr.Audit == auditFull
	}
	return nil
}

// Grants are all grants that the call was decided under.
func (k *Case) Grants() []*Grant {
	if k.Other == nil || len(k.Own) > 0 && k.Other == k.Own[0] {
		return k.Own[:len(k.Own):len(k.Own)]
	}
	return append(k.Own[:len(k.Own):len(k.Own)], k.Other)
}

// under decides the call under a generation that the run is not bound by.
func (k *Case) under(b *Binding, g *Generation) (*Grant, *Refusal) {
	gr, d := k.Now(b, g)
	if gr == nil {
		return nil, refusalOf(d, profiles.ErrorCapabilityRevoked)
	}
	if len(k.Own) > 0 && g.Agent(b.agent) == b.First() {
		return k.Own[0], nil
	}
	if d := g.Agent(b.agent).tier(b.host); d != nil { // raised since the run began
		return nil, refusalOf(*d, profiles.ErrorCapabilityRevoked)
	}
	return gr, nil
}

// refusalOf is the refusal that a decision without a grant is.
func refusalOf(d profiles.Decision, name string) *Refusal {
	d.Verdict = profiles.Deny
	no := &Refusal{Name: name, Decision: d, Text: d.Reason}
	switch {
	case d.Code == profiles.CodeBridgeArgumentsBytes:
		no.Name = profiles.ErrorArgument
	case d.Code == profiles.CodeClosed:
		no.Text = "the executor is closed"
	case name == profiles.ErrorCapabilityRevoked:
		no.Decision.Reason = "the policy now in force refuses it: " + d.Reason
		no.Decision.Code = revokedCode(d.Code)
		no.Text = TextRevoked
	}
	return no
}

// revokedCode keeps the codes that say more than "revoked".
func revokedCode(c profiles.Code) profiles.Code {
	switch c {
	case profiles.CodeBridgeNotGranted, profiles.CodeUnknownAgent, profiles.CodeExecutorNotGranted, profiles.CodeTierUnavailable:
		return profiles.CodeBridgeRevoked
	default:
		return c
	}
}

// Deny makes a decision that refuses the call, with the rule of its grant.
func (k *Case) Deny(b *Binding, code profiles.Code, reason string) profiles.Decision {
	d := profiles.Decision{Code: code, Reason: reason, Revision: b.First().Revision}
	if len(k.Own) > 0 {
		rule := k.Own[0].Rule
		d.Rule = &rule
	}
	return d
}

// Check reads the arguments, checks them against the schemas and counts the
// subagents they ask for. tagged checks a value that uses the tagged encoding.
func (k *Case) Check(args json.RawMessage, tagged func(json.RawMessage) error) *Refusal {
	if k.IsAct() {
		return nil // it was checked when it was decoded
	}
	refuse := func(code profiles.Code, text, reason string) *Refusal {
		rule := k.Own[0].Rule
		return &Refusal{Name: profiles.ErrorArgument, Text: text,
			Decision: profiles.Decision{Code: code, Reason: reason, Rule: &rule, Revision: k.Gen.Revision}}
	}
	bad := func(text, reason string) *Refusal { return refuse(profiles.CodeBridgeArguments, text, reason) }
	s, err := jsonvalue.Scan(args)
	if err == nil && !s.List {
		err = errors.New("not a list")
	}
	if err == nil && s.Marked {
		err = tagged(args)
	}
	if err != nil {
		return bad("the arguments are no valid values", "the arguments of "+k.Bridge+" are no valid values")
	}
	k.Args, k.Marked = args, s.Marked
	if s.Count == 1 {
		k.Args = s.First
	}
	if schemas := arguments(k.Grants()...); len(schemas) > 0 {
		if s.Count != 1 {
			return bad(fmt.Sprintf("takes exactly one argument, got %d", s.Count), fmt.Sprintf("%s takes exactly one argument, got %d", k.Bridge, s.Count))
		}
		// The value a schema has seen is the value a provider gets.
		if k.Args, err = jsonvalue.Validate(k.Args, k.Marked, schemas...); err != nil {
			return bad(err.Error(), "the argument of "+k.Bridge+" does not fit its schema")
		}
	}
	// What cannot be recorded must not happen, and is no fault of the record.
	if k.Full {
		if text, err := json.Marshal(k.Args); err != nil || len(text) > MaxFull {
			return refuse(profiles.CodeBridgeArgumentsBytes, fmt.Sprintf("its arguments are recorded in full, and the record of these is larger than %d bytes", MaxFull),
				fmt.Sprintf("%s is audited in full, and its arguments have more than %d bytes in the record", k.Bridge, MaxFull))
		}
	}
	if budget.Spawns(k.Limits) {
		if k.Agents, err = budget.AgentsOf(k.Args); err == nil && s.Count > 1 {
			var first int64
			first, err = budget.AgentsOf(s.First)
			k.Agents = max(k.Agents, first)
		}
		if err != nil {
			return bad(err.Error(), "the subagents that "+k.Bridge+" is asked for cannot be counted")
		}
	}
	// Without a schema it gets the text that the guest sent.
	if err := jsonvalue.Once(k.Args); err != nil {
		return bad(err.Error(), "the arguments of "+k.Bridge+" can be read in two ways")
	}
	return nil
}

// Again decides an admitted call under a newer generation. Its budgets are taken;
// what it asks for must fit the newer limits too, and a call that would need a
// record or an approval that it does not have is refused.
func (k *Case) Again(b *Binding, g *Generation, used Used) *Refusal {
	other, no := k.Still(b, g)
	if no == nil {
		no = k.against(g.Revision, other, used)
	}
	if no != nil {
		return no
	}
	k.Gen, k.Other, k.Limits = g, other, budget.Stricter(k.Limits, other.Limits)
	if k.IsAct() {
		return k.allow()
	}
	return nil
}

// Settle decides a call of a pause again, under every policy that binds the run
// and under g, the generation in force.
func (k *Case) Settle(b *Binding, g *Generation, used Used) *Refusal {
	own, d, _ := k.own(b)
	if own == nil {
		return refusalOf(d, profiles.ErrorCapabilityRevoked)
	}
	k.Own = own
	if k.Revoked {
		return revoked(own[0].Revision, own[0], "a policy that was in force when the run paused refused it")
	}
	if schemas := arguments(own...); len(schemas) > 0 {
		if _, err := jsonvalue.Validate(k.Args, k.Marked, schemas...); err != nil {
			return revoked(own[0].Revision, own[0], "the argument does not fit every schema that binds the run")
		}
	}
	for _, gr := range own {
		if no := k.against(gr.Revision, gr, used); no != nil {
			return no
		}
		k.Limits = budget.Stricter(k.Limits, gr.Limits)
	}
	if no := k.Again(b, g, used); no != nil {
		return no
	}
	if k.Terms != nil && !k.Approved {
		return &Refusal{Name: profiles.ErrorApprovalDenied, Text: "it was not approved", Decision: k.Deny(b, profiles.CodeApprovalRequired, "it was not approved")}
	}
	return nil
}

// against holds a call against a grant that it was not admitted under.
func (k *Case) against(revision string, other *Grant, used Used) *Refusal {
	l := budget.Stricter(k.Limits, other.Limits)
	switch {
	case l.CallsPerRun < used.Calls, l.Concurrent < used.Open:
		return revoked(revision, other, "the policy now in force allows fewer calls")
	case budget.Spawns(l) && (k.Agents > l.SpawnPerCall || used.Depth+1 > l.Depth || !used.Tree.Within(l.TotalSpawn)):
		return revoked(revision, other, "the policy now in force allows fewer subagents")
	case other.Powers.External && !k.External:
		return revoked(revision, other, "the policy now in force gives it external power")
	case other.Audit == auditFull && !k.Full:
		return revoked(revision, other, "the policy now in force records its arguments")
	case budget.Spawns(l) && !budget.Spawns(k.Limits):
		return revoked(revision, other, "the policy now in force counts its subagents")
	case k.lacks(other.Approval):
		return revoked(revision, other, "the policy now in force asks for an approval that it does not have")
	}
	return k.unguarded(revision, other)
}

// Still decides whether a call that was decided before passes under g: the grant,
// the size and the schema of the arguments.
func (k *Case) Still(b *Binding, g *Generation) (*Grant, *Refusal) {
	other, no := k.under(b, g)
	if no != nil {
		return nil, no
	}
	seen := arguments(k.Grants()...)
	for _, s := range arguments(other) {
		if !slices.Contains(seen, s) {
			if _, err := jsonvalue.Validate(k.Args, k.Marked, s); err != nil {
				return nil, revoked(g.Revision, other, "the argument does not fit the schema now in force")
			}
		}
	}
	return other, nil
}

// StillApproved is Still for an answer that is about to count: it is not enough
// when g asks for an approval that the call does not have.
func (k *Case) StillApproved(b *Binding, g *Generation) *Refusal {
	other, no := k.Still(b, g)
	if no == nil && k.lacks(other.Approval) {
		no = revoked(g.Revision, other, "the policy now in force asks for an approval that it does not have")
	}
	if no == nil {
		no = k.unguarded(g.Revision, other)
	}
	return no
}

// lacks reports whether a policy asks for an approval that the call was not, or
// will not be, given.
func (k *Case) lacks(a *profiles.Approval) bool {
	if a == nil || a.When != "" && k.Unasked[a.When] {
		return false
	}
	return !Satisfied(k.Terms, a)
}

func revoked(revision string, gr *Grant, reason string) *Refusal {
	return &Refusal{Name: profiles.ErrorCapabilityRevoked, Text: TextRevoked, Decision: profiles.Decision{
		Code: profiles.CodeBridgeRevoked, Reason: reason, Rule: &gr.Rule, Revision: revision}}
}
