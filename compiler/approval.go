package compiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// Limits of approvals and sessions.
const (
	maxApprovers       = 100
	maxExpiresMillis   = 90 * day
	minSessionAge      = 1000
	maxSessionAge      = 90 * day
	minSessionBytes    = 64 << 10
	maxSessionBytes    = 1 << 30
	maxApproverEntries = 1000
	minHoldMillis      = 1000 // for a program of which no snapshot can be made
	maxHoldMillis      = 60 * 60 * 1000
)

// approvals compiles the approvals of a document.
type approvals struct{ *document }

// approval compiles the approval of a bridge. It returns nil if no approval is needed. A call never waits
// longer for its approval than the agent may pause.
func (d approvals) approval(at string, a *schema.Approval, pause int64) *profiles.Approval {
	if a == nil {
		return nil
	}
	if !a.Required && a.When == "" {
		if a.From != nil || a.Count != nil || a.ExpiresAfter != "" || a.Hold != "" {
			d.report(at+".required", codeApproval, "write required: true",
				"names approvers, but required is not true")
		}
		return nil
	}
	out := &profiles.Approval{From: slices.Clone(a.From), Count: 1, ExpiresMillis: min(defaultExpiresMillis, pause),
		Rule: d.rule(at)}
	d.approvers(at, a, out)
	if a.ExpiresAfter != "" {
		n, ok := d.duration(at+".expiresAfter", a.ExpiresAfter)
		switch {
		case !ok:
		case n < 1000 || n > maxExpiresMillis:
			d.report(at+".expiresAfter", CodeLimit, "", "must be from 1s to %s", schema.ShowDuration(maxExpiresMillis))
		case n > pause:
			d.report(at+".expiresAfter", codeLimitAbove, "raise spec.limits.pause",
				"is longer than a run may be paused, %s", schema.ShowDuration(pause))
		default:
			out.ExpiresMillis = n
		}
	}
	out.HoldMillis = d.holdTime(at+".hold", a.Hold, out.ExpiresMillis)
	if a.When != "" {
		out.When = d.condition(at+".when", a.When)
	}
	return out
}

// holdTime compiles the time for which a program waits for an answer, or 0 if the policy sets none.
func (d approvals) holdTime(at, text string, expires int64) int64 {
	if text == "" {
		return 0
	}
	n, ok := d.duration(at, text)
	switch {
	case !ok:
	case n < minHoldMillis || n > maxHoldMillis:
		d.report(at, CodeLimit, "", "must be from %s to %s", schema.ShowDuration(minHoldMillis),
			schema.ShowDuration(maxHoldMillis))
	case n > expires:
		d.report(at, codeLimitAbove, "", "is longer than expiresAfter, %s", schema.ShowDuration(expires))
	default:
		return n
	}
	return 0
}

// approvers checks the approvers and the required number of them.
func (d approvals) approvers(at string, a *schema.Approval, out *profiles.Approval) {
	if a.From != nil && len(a.From) == 0 {
		d.report(at+".from", codeApproval, "leave the field out to accept every approver of the host", "names nobody")
	}
	if len(a.From) > maxApproverEntries {
		d.report(at+".from", codeApproval, "name a group", "names more than %d", maxApproverEntries)
	}
	people := 0
	for i, who := range a.From {
		kind, name, _ := strings.Cut(who, ":")
		if kind != "user" && kind != "group" && kind != "team" || name == "" ||
			strings.ContainsFunc(who, schema.Unseen) || strings.ContainsAny(who, " ,") {
			d.report(fmt.Sprintf("%s.from[%d]", at, i), codeApproval, "write user:, group: or team: and a name",
				"%q names nobody", clip(who))
		}
		if kind == "user" && !slices.Contains(a.From[:i], who) {
			people++
		}
	}
	if a.Count == nil {
		return
	}
	onlyPeople := !slices.ContainsFunc(a.From, func(who string) bool { return !strings.HasPrefix(who, "user:") })
	switch {
	case *a.Count < 1 || *a.Count > maxApprovers:
		d.report(at+".count", CodeLimit, "", "must be from 1 to %d", maxApprovers)
	case a.From == nil:
		d.report(at+".count", codeApproval, "name them in from", "asks for %d approvals and names no approvers",
			*a.Count)
	case len(a.From) > 0 && onlyPeople && *a.Count > int64(people):
		d.report(at+".count", codeApproval, "", "asks for %d approvals, but from names %d", *a.Count, people)
	default:
		out.Count = *a.Count
	}
}

// condition checks the condition of an approval. Positions inside it are relative to the text of the value,
// which may start lines below its YAML or CUE key.
func (d approvals) condition(at, text string) string {
	known, seen := d.conditions[text]
	if !seen {
		_, known = condition.Compile(text)
		d.conditions[text] = known
	}
	var found condition.Findings
	if !errors.As(known, &found) {
		return text
	}
	for _, f := range found {
		where := ""
		if f.Line > 1 || strings.Contains(text, "\n") {
			where = fmt.Sprintf("line %d, ", f.Line)
		}
		d.report(at, f.Code, f.Hint, "%scolumn %d: %s", where, f.Column, f.Msg)
	}
	return ""
}

// sessions compiles the limits of the state that a run may leave to later runs. It returns nil if the
// policy has no sessions.
func (d *document) sessions() *profiles.Sessions {
	s := d.policy.Spec.Sessions
	if s == nil {
		return nil
	}
	const at = "spec.sessions"
	out := &profiles.Sessions{AgeMillis: defaultSessionAgeMillis, Bytes: defaultSessionBytes, Rule: d.rule(at)}
	if s.MaxAge != "" {
		n, ok := d.duration(at+".maxAge", s.MaxAge)
		if ok && (n < minSessionAge || n > maxSessionAge) {
			d.report(at+".maxAge", CodeLimit, "", "must be from %s to %s", schema.ShowDuration(minSessionAge),
				schema.ShowDuration(maxSessionAge))
		}
		out.AgeMillis = n
	}
	if s.MaxSize != "" {
		n, ok := d.size(at+".maxSize", s.MaxSize)
		if ok && (n < minSessionBytes || n > maxSessionBytes) {
			d.report(at+".maxSize", CodeLimit, "", "must be from %s to %s", schema.ShowSize(minSessionBytes),
				schema.ShowSize(maxSessionBytes))
		}
		out.Bytes = n
	}
	return out
}
