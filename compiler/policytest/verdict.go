package policytest

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Misses describes how a decision about an agent differs from the expectation of the case, or returns nil.
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

// IsRule reports whether text names a rule: as "policy#path", with the policy that contains the rule, or as
// "file:line", where the file may be given by its last names only.
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

// Named returns the name of a rule for a case: "policy#path", or "none" for no rule.
func Named(a profiles.Agent, r *profiles.Rule) string {
	if r == nil {
		return "none"
	}
	return policyOf(a, r) + "#" + r.Path
}

// policyOf returns the name of the policy that contains a rule: that of its layer, "OrgPolicy acme", or the
// agent's own.
func policyOf(a profiles.Agent, r *profiles.Rule) string {
	if _, name, ok := strings.Cut(r.Layer, " "); ok {
		return name
	}
	return a.Policy
}
