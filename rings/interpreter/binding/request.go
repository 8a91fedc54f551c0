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

// Request is one call as it is asked for, with all that is known and decided about it.
// It is not safe for concurrent use: the run that owns it guards it.
type Request struct {
	Bridge string
	Args   json.RawMessage // as a provider gets them
	Size   int64           // of the arguments as the guest sent them
	Marked bool            // the arguments use the tagged encoding
	Agents int64           // subagents that the arguments ask for
	Held   bool            // no snapshot can be taken of its program, which waits in its guest while the call is open

	act

	BoundGrants []*Grant    // of all policies that bind the run
	Current     *Grant      // of the generation in force at the last decision
	Generation  *Generation // that generation
	Limits      profiles.BridgeLimits
	External    bool
	Full        bool // its record holds the arguments
	Revoked     bool // a policy in force at a pause no longer granted it

	Grown ruleoftwo.Grown // powers that the tree of its run had not touched before it

	Consent

	guards map[guard]*Refusal // answer of each guardrail that was asked; nil allows
}

// act is the part of a Request that only an act of a guest has. Then the arguments of the
// request are the encoded action, and its Bridge is the name of the act.
type act struct {
	Action  *profiles.Action  // what the guest wants to do itself; nil for a call of a bridge
	Ahead   bool              // its program has not begun
	Allowed profiles.Decision // what the guest gets once all policies allow the act
}

// Consent says whether people have to approve a Request, and whether they have.
type Consent struct {
	Terms     *pause.Terms    // of the approval that it needs; nil if it needs none
	RuleOfTwo string          // why the rule of two asks for an approval; empty if it does not
	Unasked   map[string]bool // conditions of approvals that do not hold for it
	HeldFor   time.Duration   // how long people have to approve it if it is Held
	Approved  bool            // it has the approval of Terms
	By        string          // the last approver
}

// Used is what a run has used when a call is decided again.
type Used struct {
	Calls int64 // of the call's bridge
	Depth int64
	Tree  *budget.Tree
}

// MaxFull limits the arguments of a record, as JSON text. A call with larger arguments is
// refused.
const MaxFull = 1<<20 - 64<<10

// auditFull is the value of profiles.Bridge.Audit that records arguments.
const auditFull = "full"

// Refusal says why a call does not happen.
type Refusal struct {
	Name     string // of the error the program gets
	Decision profiles.Decision
	Text     string // of the error the program gets
}

// TextRevoked is the text that a program gets for a call that is no longer granted.
const TextRevoked = "the policy now in force no longer grants it"

// Decide decides the call under all that binds the run and under g, the generation in
// force, and keeps the grants. The result is nil if all of them allow the call or ask for
// an approval.
func (k *Request) Decide(b *Binding, g *Generation) *Refusal {
	if k.IsAct() {
		if no := k.prepareAct(b); no != nil {
			return no
		}
	}
	grants, d, later := k.decideBound(b)
	if grants == nil {
		name := profiles.ErrorCapabilityDenied
		if later {
			name = profiles.ErrorCapabilityRevoked
		}
		return refusalOf(d, name)
	}
	k.BoundGrants, k.Limits = grants, grants[0].Limits
	current, no := k.decideUnder(b, g)
	if no != nil {
		return no
	}
	k.Generation, k.Current = g, current
	if k.IsAct() {
		if no := k.allowAct(); no != nil {
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

// Grants returns all grants that the call was decided under.
func (k *Request) Grants() []*Grant {
	if k.Current == nil || len(k.BoundGrants) > 0 && k.Current == k.BoundGrants[0] {
		return k.BoundGrants[:len(k.BoundGrants):len(k.BoundGrants)]
	}
	return append(k.BoundGrants[:len(k.BoundGrants):len(k.BoundGrants)], k.Current)
}

// decideUnder decides the call under a generation that the run is not bound by.
func (k *Request) decideUnder(b *Binding, g *Generation) (*Grant, *Refusal) {
	gr, d := k.DecideInForce(b, g)
	if gr == nil {
		return nil, refusalOf(d, profiles.ErrorCapabilityRevoked)
	}
	if len(k.BoundGrants) > 0 && g.Agent(b.agent) == b.First() {
		return k.BoundGrants[0], nil
	}
	if d := g.Agent(b.agent).tier(b.host); d != nil { // the policy asks for more isolation than at the start
		return nil, refusalOf(*d, profiles.ErrorCapabilityRevoked)
	}
	return gr, nil
}

// refusalOf makes the refusal of a decision that has no grant.
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
	case profiles.CodeBridgeNotGranted, profiles.CodeUnknownAgent, profiles.CodeExecutorNotGranted,
		profiles.CodeTierUnavailable:
		return profiles.CodeBridgeRevoked
	default:
		return c
	}
}

// Deny makes a decision that refuses the call, with the rule of its first grant.
func (k *Request) Deny(b *Binding, code profiles.Code, reason string) profiles.Decision {
	d := profiles.Decision{Code: code, Reason: reason, Revision: b.First().Revision}
	if len(k.BoundGrants) > 0 {
		rule := k.BoundGrants[0].Rule
		d.Rule = &rule
	}
	return d
}

// DecideAgain decides an admitted call under a newer generation. The call has taken its
// budgets already. It must fit the newer limits too, and it is refused if it would need a
// record or an approval that it does not have.
func (k *Request) DecideAgain(b *Binding, g *Generation, used Used) *Refusal {
	current, no := k.StillGranted(b, g)
	if no == nil {
		no = k.fits(g.Revision, current, used)
	}
	if no != nil {
		return no
	}
	k.Generation, k.Current, k.Limits = g, current, budget.Stricter(k.Limits, current.Limits)
	if k.IsAct() {
		return k.allowAct()
	}
	return nil
}

// DecideResumed decides a call of a pause again, under every policy that binds the run
// and under g, the generation in force.
func (k *Request) DecideResumed(b *Binding, g *Generation, used Used) *Refusal {
	grants, d, _ := k.decideBound(b)
	if grants == nil {
		return refusalOf(d, profiles.ErrorCapabilityRevoked)
	}
	k.BoundGrants = grants
	if no := fitsRun(k, grants); no != nil {
		return no
	}
	for _, gr := range grants {
		if no := k.fits(gr.Revision, gr, used); no != nil {
			return no
		}
		k.Limits = budget.Stricter(k.Limits, gr.Limits)
	}
	if no := k.DecideAgain(b, g, used); no != nil {
		return no
	}
	if k.Terms != nil && !k.Approved {
		const text = "it was not approved"
		return &Refusal{Name: profiles.ErrorApprovalDenied, Text: text,
			Decision: k.Deny(b, profiles.CodeApprovalRequired, text)}
	}
	return nil
}

// fitsRun refuses a call that a policy in force at a pause of the run refused, and one whose arguments do not match the
// schema of each of the grants.
func fitsRun(k *Request, grants []*Grant) *Refusal {
	first := grants[0]
	if k.Revoked {
		return revoked(first.Revision, first, "a policy that was in force when the run paused refused it")
	}
	if schemas := arguments(grants...); len(schemas) > 0 {
		if _, err := jsonvalue.Validate(k.Args, k.Marked, schemas...); err != nil {
			return revoked(first.Revision, first, "the argument does not match every schema of the run")
		}
	}
	return nil
}

// DecideQueued decides a call again that was admitted and then waited in the queue of its bridge. No effect of the call
// has begun, so the call can still get an approval that a policy asks for only now.
func (k *Request) DecideQueued(b *Binding, g *Generation, used Used) *Refusal {
	if _, no := k.StillGranted(b, g); no != nil { // so that the refusal names the policy in force
		return no
	}
	if no := k.Decide(b, g); no != nil {
		return no
	}
	if no := fitsRun(k, k.Grants()); no != nil {
		return no
	}
	l := k.Limits // of all policies that bind the run
	switch {
	case l.CallsPerRun < used.Calls:
		return revoked(g.Revision, k.Current, "a policy that binds the run allows fewer calls")
	case budget.Spawns(l) && (k.Agents == 0 || k.Agents > l.SpawnPerCall || used.Depth+1 > l.Depth ||
		!used.Tree.Within(l.TotalSpawn)):
		return revoked(g.Revision, k.Current, "a policy that binds the run allows fewer subagents")
	}
	return k.checkRecordSize()
}

// fits compares the call with a grant that it was not admitted under.
func (k *Request) fits(revision string, other *Grant, used Used) *Refusal {
	l := budget.Stricter(k.Limits, other.Limits)
	switch {
	case l.CallsPerRun < used.Calls:
		return revoked(revision, other, "the policy now in force allows fewer calls")
	case budget.Spawns(l) && (k.Agents > l.SpawnPerCall || used.Depth+1 > l.Depth || !used.Tree.Within(l.TotalSpawn)):
		return revoked(revision, other, "the policy now in force allows fewer subagents")
	case other.Powers.External && !k.External:
		return revoked(revision, other, "the policy now in force gives it external power")
	case other.Audit == auditFull && !k.Full:
		return revoked(revision, other, "the policy now in force records its arguments")
	case budget.Spawns(l) && !budget.Spawns(k.Limits):
		return revoked(revision, other, "the policy now in force counts its subagents")
	case k.lacksApproval(other.Approval):
		return revoked(revision, other, "the policy now in force asks for an approval that it does not have")
	}
	return k.guardrailsRefuse(revision, other)
}

// StillGranted decides whether a call that was decided before passes under g: the grant,
// and the size and the schema of the arguments.
func (k *Request) StillGranted(b *Binding, g *Generation) (*Grant, *Refusal) {
	current, no := k.decideUnder(b, g)
	if no != nil {
		return nil, no
	}
	seen := arguments(k.Grants()...)
	for _, s := range arguments(current) {
		if !slices.Contains(seen, s) {
			if _, err := jsonvalue.Validate(k.Args, k.Marked, s); err != nil {
				return nil, revoked(g.Revision, current, "the argument does not match the schema now in force")
			}
		}
	}
	return current, nil
}

// StillApproved is StillGranted for an answer that is about to take effect: it also
// refuses the call if g asks for an approval that the call does not have.
func (k *Request) StillApproved(b *Binding, g *Generation) *Refusal {
	current, no := k.StillGranted(b, g)
	if no == nil && k.lacksApproval(current.Approval) {
		no = revoked(g.Revision, current, "the policy now in force asks for an approval that it does not have")
	}
	if no == nil {
		no = k.guardrailsRefuse(g.Revision, current)
	}
	return no
}

// lacksApproval reports whether a policy asks for an approval that the terms of the call
// do not satisfy.
func (k *Request) lacksApproval(a *profiles.Approval) bool {
	if a == nil || a.When != "" && k.Unasked[a.When] {
		return false
	}
	return !Satisfied(k.Terms, a)
}

func revoked(revision string, gr *Grant, reason string) *Refusal {
	return &Refusal{Name: profiles.ErrorCapabilityRevoked, Text: TextRevoked, Decision: profiles.Decision{
		Code: profiles.CodeBridgeRevoked, Reason: reason, Rule: &gr.Rule, Revision: revision}}
}

// CheckArguments reads the arguments, checks them against the schemas and counts the
// subagents that they ask for. tagged checks a value that uses the tagged encoding.
func (k *Request) CheckArguments(args json.RawMessage, tagged func(json.RawMessage) error) *Refusal {
	if k.IsAct() {
		return nil // an act is checked when it is decoded
	}
	s, err := jsonvalue.Scan(args)
	if err == nil && !s.List {
		err = errors.New("not a list")
	}
	if err == nil && s.Marked {
		err = tagged(args)
	}
	if err != nil {
		return k.refuseArguments("the arguments are no valid values",
			"the arguments of "+k.Bridge+" are no valid values")
	}
	k.Args, k.Marked = args, s.Marked
	if s.Count == 1 {
		k.Args = s.First
	}
	if no := k.checkSchemas(s.Count); no != nil {
		return no
	}
	if no := k.checkRecordSize(); no != nil {
		return no
	}
	if err := k.countAgents(s); err != nil {
		return k.refuseArguments(err.Error(), "the subagents that "+k.Bridge+" is asked for cannot be counted")
	}
	// A bridge without a schema gets the text that the guest sent.
	if err := jsonvalue.Once(k.Args); err != nil {
		return k.refuseArguments(err.Error(), "the arguments of "+k.Bridge+" are ambiguous")
	}
	return nil
}

// checkSchemas checks the one argument that the schemas of the grants describe. The
// provider gets exactly the value that the schemas have seen.
func (k *Request) checkSchemas(count int) *Refusal {
	schemas := arguments(k.Grants()...)
	if len(schemas) == 0 {
		return nil
	}
	if count != 1 {
		text := fmt.Sprintf("takes exactly one argument, got %d", count)
		return k.refuseArguments(text, k.Bridge+" "+text)
	}
	var err error
	if k.Args, err = jsonvalue.Validate(k.Args, k.Marked, schemas...); err != nil {
		return k.refuseArguments(err.Error(), "the argument of "+k.Bridge+" does not match its schema")
	}
	return nil
}

// checkRecordSize refuses arguments that are recorded in full and do not fit a record: a
// call that cannot be recorded must not happen, and it must not look like a fault of the
// audit log.
func (k *Request) checkRecordSize() *Refusal {
	if !k.Full {
		return nil
	}
	if text, err := json.Marshal(k.Args); err == nil && len(text) <= MaxFull {
		return nil
	}
	return k.refuse(profiles.CodeBridgeArgumentsBytes,
		fmt.Sprintf("its arguments are recorded in full, but this record is larger than %d bytes", MaxFull),
		fmt.Sprintf("%s is audited in full, but its arguments need more than %d bytes in the record",
			k.Bridge, MaxFull))
}

// countAgents counts the subagents that the arguments ask for.
func (k *Request) countAgents(s jsonvalue.Shape) (err error) {
	if !budget.Spawns(k.Limits) {
		return nil
	}
	if k.Agents, err = budget.AgentsOf(k.Args); err == nil && s.Count > 1 {
		var first int64
		first, err = budget.AgentsOf(s.First)
		k.Agents = max(k.Agents, first)
	}
	return err
}

// refuseArguments refuses the call for its arguments. The program reads text, the record
// holds reason.
func (k *Request) refuseArguments(text, reason string) *Refusal {
	return k.refuse(profiles.CodeBridgeArguments, text, reason)
}

func (k *Request) refuse(code profiles.Code, text, reason string) *Refusal {
	rule := k.BoundGrants[0].Rule
	return &Refusal{Name: profiles.ErrorArgument, Text: text,
		Decision: profiles.Decision{Code: code, Reason: reason, Rule: &rule, Revision: k.Generation.Revision}}
}
