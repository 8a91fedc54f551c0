package policytest

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Misses says how a decision about an agent differs from what the case expects; nil:
// it does not.
func (c *Case) Misses(a profiles.Agent, got profiles.Decision) []string {
	var out []string
	miss := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if got.Verdict != c.Expect {
		miss("expected %s, got %s", c.Expect, got.Verdict)
	}
	if c.Code != "" && string(got.Code) != c.Code {
		miss("expected code %s, got %s", c.Code, got.Code)
	}
	if c.Exception != "" && got.Exception != c.Exception {
		miss("expected to be granted by %s, got %s", c.Exception, orNone(got.Exception))
	}
	if c.Rule != "" && !IsRule(c.Rule, a, got.Rule) {
		miss("expected rule %s, got %s", c.Rule, Named(a, got.Rule))
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "no exception"
	}
	return s
}

// IsRule reports whether a rule is the one that the text names: "policy#path", where the
// policy is the one that the rule stands in, or "file:line", where the file may be cut to
// its last names.
func IsRule(text string, a profiles.Agent, r *profiles.Rule) bool {
	if r == nil {
		return false
	}
	if policy, at, ok := strings.Cut(text, "#"); ok {
		return policy == policyOf(a, r) && at == r.Path
	}
	file, rest, _ := strings.Cut(text, ":")
	line, column, both := strings.Cut(rest, ":")
	if file != r.File && !strings.HasSuffix("/"+r.File, "/"+path.Clean(file)) || line != strconv.Itoa(r.Line) {
		return false
	}
	return !both || column == strconv.Itoa(r.Column)
}

// Named is a rule as a case names it: "policy#path"; "none" for no rule.
func Named(a profiles.Agent, r *profiles.Rule) string {
	if r == nil {
		return "none"
	}
	return policyOf(a, r) + "#" + r.Path
}

// policyOf is the name of the policy that a rule stands in: that of its layer, "OrgPolicy
// acme", or the agent's own.
func policyOf(a profiles.Agent, r *profiles.Rule) string {
	if _, name, ok := strings.Cut(r.Layer, " "); ok {
		return name
	}
	return a.Policy
}
