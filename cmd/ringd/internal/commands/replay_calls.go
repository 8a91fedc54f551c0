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

// decideCall decides a bridge call. The record has the arguments only with `audit: full`.
func (r *replayer) decideCall(d *profiles.Decider, name string, rec *audit.Record) outcome {
	executor := r.executors[rec.Run]
	dec := d.Bridge(executor, name, int64(len(rec.Full)))
	if dec.Verdict == profiles.Deny {
		return outcomeOf(dec)
	}
	b, _ := d.BridgeGrant(name)
	switch code := rec.Decision.Code; {
	case rec.Decision.Verdict == profiles.Deny && !slices.Contains(
		[]profiles.Code{profiles.CodeBridgeNotGranted, profiles.CodeExecutorNotGranted,
			profiles.CodeBridgeArguments, profiles.CodeGuardrailDenied, profiles.CodeGuardrailFailed}, code):
		return cannotRepeat("it was refused by %s, which depends on the rest of the run", code)
	case rec.Full == nil && (b.Arguments != nil || len(b.Also) > 0):
		return cannotRepeat(
			"the bridge checks its arguments, but only their digest is recorded: set audit: full on the bridge",
		)
	case rec.Full == nil && hasCallGuardrail(d):
		return cannotRepeat(
			"a guardrail checks the arguments, but only their digest is recorded: set audit: full on the bridge",
		)
	case rec.Full == nil && b.Approval != nil && b.Approval.When != "":
		return cannotRepeat(
			"the approval has a condition on the arguments, but only their digest is recorded: set audit: full " +
				"on the bridge",
		)
	case rec.Full == nil:
		return outcomeOf(dec)
	}
	if err := r.schemas.Fit(rec.Full, append([]json.RawMessage{b.Arguments}, b.Also...)...); err != nil {
		return outcome{can: true, why: string(profiles.CodeBridgeArguments) + ": " + err.Error()}
	}
	return outcomeOf(d.Decide(profiles.Action{Bridge: &profiles.BridgeAction{
		Name: name, Executor: executor, Args: rec.Full}}))
}

// hasCallGuardrail reports whether a guardrail checks the arguments of calls.
func hasCallGuardrail(d *profiles.Decider) bool {
	return slices.ContainsFunc(d.Profile().Guardrails, func(g profiles.Guardrail) bool {
		return g.On == profiles.GuardCalls
	})
}

// decideEgress decides a target like the egress proxy, as far as it is recorded: the addresses of a name, and one
// request that was read.
func decideEgress(d *profiles.Decider, target string, rec *audit.Record) outcome {
	to, ok := egress.ReadDest(target)
	if !ok {
		return cannotRepeat("the record has no host and port")
	}
	if rec.Detail["door"] == "dns" {
		return decideName(d, to, rec)
	}
	c := profiles.Connect(to, rec.Time, d)
	if !c.Allowed() {
		return outcomeOf(c.Decision())
	}
	if method, path := rec.Detail["method"], rec.Detail["path"]; method != "" && path != "" {
		if c = c.Request(method, path, "", rec.Time); !c.Allowed() {
			return outcomeOf(c.Decision())
		}
	} else if c.Match().Reads && rec.Decision.Verdict == profiles.Allow {
		return cannotRepeat("the new entry reads requests, and the record has none")
	}
	if answers := rec.Detail["answers"]; answers != "" && !c.Virtual() {
		var all []netip.Addr
		for text := range strings.FieldsSeq(answers) {
			if a, err := netip.ParseAddr(text); err == nil {
				all = append(all, a)
			}
		}
		if c = c.Addresses(all, rec.Time); !c.Allowed() {
			return outcomeOf(c.Decision())
		}
	} else if rec.Decision.Verdict == profiles.Deny && dependsOnLookup(rec.Decision.Code) {
		return cannotRepeat("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	}
	switch rec.Decision.Code {
	case profiles.CodeEgressNotTLS, profiles.CodeEgressSNI, profiles.CodeEgressECH, profiles.CodeEgressRequest,
		profiles.CodeEgressField, profiles.CodeEgressRedirect, profiles.CodeEgressBudget, profiles.CodeEgressGateway:
		return cannotRepeat("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	default:
		return outcomeOf(c.Decision())
	}
}

// dependsOnLookup reports whether a denial depends on the addresses of a name.
func dependsOnLookup(c profiles.Code) bool {
	return c == profiles.CodeEgressAddress || c == profiles.CodeEgressNoAddress || c == profiles.CodeEgressTarget
}

// decideName decides a DNS question for a name. It is allowed if a rule allows the name on some port.
func decideName(d *profiles.Decider, to egress.Dest, rec *audit.Record) outcome {
	if r := d.EgressList().DecideName(to.Name, rec.Time).Refusal(); r != nil {
		return outcome{can: true, why: r.Error()}
	}
	if rec.Decision.Verdict == profiles.Deny && dependsOnLookup(rec.Decision.Code) {
		return cannotRepeat("it was refused by %s, and the reason is not recorded", rec.Decision.Code)
	}
	return outcome{can: true, verdict: profiles.Allow, why: "the policy lists the name"}
}
