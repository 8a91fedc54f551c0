package commands

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// call decides a call of a bridge. Its arguments are on record with audit: full alone.
func (r *replayReplay) call(d *profiles.Decider, name string, rec *audit.Record) outcome {
	executor := r.executors[rec.Run]
	dec := d.Bridge(executor, name, int64(len(rec.Full)))
	if dec.Verdict == profiles.Deny {
		return did(dec)
	}
	b, _ := d.BridgeGrant(name)
	switch code := rec.Decision.Code; {
	case rec.Decision.Verdict == profiles.Deny && !slices.Contains(
		[]profiles.Code{profiles.CodeBridgeNotGranted, profiles.CodeExecutorNotGranted,
			profiles.CodeBridgeArguments, profiles.CodeGuardrailDenied, profiles.CodeGuardrailFailed}, code):
		return no("it was refused by %s, which depends on the rest of the run", code)
	case rec.Full == nil && (b.Arguments != nil || len(b.Also) > 0):
		return no("the bridge checks its arguments, but only their digest is recorded: set audit: full on the bridge")
	case rec.Full == nil && onCalls(d):
		return no("a guardrail checks the arguments, but only their digest is recorded: set audit: full on the bridge")
	case rec.Full == nil && b.Approval != nil && b.Approval.When != "":
		return no("the approval has a condition on the arguments, but only their digest is recorded: set audit: full " +
			"on the bridge")
	case rec.Full == nil:
		return did(dec)
	}
	if err := r.schemas.Fit(rec.Full, append([]json.RawMessage{b.Arguments}, b.Also...)...); err != nil {
		return outcome{can: true, why: string(profiles.CodeBridgeArguments) + ": " + err.Error()}
	}
	return did(d.Decide(profiles.Action{Bridge: &profiles.BridgeAction{
		Name: name, Executor: executor, Args: rec.Full}}))
}

// onCalls reports whether a guardrail looks at the arguments of calls.
func onCalls(d *profiles.Decider) bool {
	return slices.ContainsFunc(d.Profile().Guardrails, func(g profiles.Guardrail) bool {
		return g.On == profiles.GuardCalls
	})
}

// reached decides a target as the doors do, as far as it is on record: what a name
// resolved to, and one request that was read.
func reached(d *profiles.Decider, target string, rec *audit.Record) outcome {
	to, ok := egress.ReadDest(target)
	if !ok {
		return no("the record has no host and port")
	}
	if rec.Detail["door"] == "dns" {
		return named(d, to, rec)
	}
	c := profiles.Connect(to, rec.Time, d)
	if !c.Allowed() {
		return did(c.Decision())
	}
	if method, path := rec.Detail["method"], rec.Detail["path"]; method != "" && path != "" {
		if c = c.Request(method, path, "", rec.Time); !c.Allowed() {
			return did(c.Decision())
		}
	} else if c.Match().Reads && rec.Decision.Verdict == profiles.Allow {
		return no("the new entry reads requests, and the record has none")
	}
	if answers := rec.Detail["answers"]; answers != "" && !c.Virtual() {
		var all []netip.Addr
		for text := range strings.FieldsSeq(answers) {
			if a, err := netip.ParseAddr(text); err == nil {
				all = append(all, a)
			}
		}
		if c = c.Addresses(all, rec.Time); !c.Allowed() {
			return did(c.Decision())
		}
	} else if rec.Decision.Verdict == profiles.Deny && later(rec.Decision.Code) {
		return no("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	}
	switch rec.Decision.Code {
	case profiles.CodeEgressNotTLS, profiles.CodeEgressSNI, profiles.CodeEgressECH, profiles.CodeEgressRequest,
		profiles.CodeEgressField, profiles.CodeEgressRedirect, profiles.CodeEgressBudget, profiles.CodeEgressGateway:
		return no("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	default:
		return did(c.Decision())
	}
}

// later reports whether a refusal follows what a name resolves to.
func later(c profiles.Code) bool {
	return c == profiles.CodeEgressAddress || c == profiles.CodeEgressNoAddress || c == profiles.CodeEgressTarget
}

// named decides a question for a name: on some port it has to be reached.
func named(d *profiles.Decider, to egress.Dest, rec *audit.Record) outcome {
	if r := d.EgressList().DecideName(to.Name, rec.Time).Refusal(); r != nil {
		return outcome{can: true, why: r.Error()}
	}
	if rec.Decision.Verdict == profiles.Deny && later(rec.Decision.Code) {
		return no("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	}
	return outcome{can: true, verdict: profiles.Allow, why: "the policy lists the name"}
}
