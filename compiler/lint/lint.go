// Package lint finds policy text that is valid but unwise: redundant rules, very wide
// grants, dates that have passed or soon will, and missing owners. Each finding is a
// warning with a position, a reason and a hint. The compiler reports errors.
//
// The caller passes the time and the decoded policies. The compile child process calls it,
// because only that process may read what authors write.
package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// Codes of findings. They are API: tools and suppressions match on them. The compiler reports allowed names
// that are also denied, as deny-wins and allow-and-deny.
const (
	codeShadowed       = "shadowed-rule"      // another entry of the same list covers it
	codeWildcard       = "wildcard-egress"    // every name below a domain
	codeAnyPort        = "any-port"           // every port of a host
	codeAnyMethod      = "any-method"         // requests are read, but no method or path is denied
	codeBroadFile      = "broad-file"         // a grant of many more files than a program needs
	codePattern        = "substring-pattern"  // a denial written as text, which is matched as words
	codeNoApprovers    = "no-approvers"       // no approvers are named
	codeOwner          = "owner-person"       // a person, not a group, owns the policy
	codeBridgeLimits   = "bridge-no-limit"    // a bridge without a limit of calls
	codeExpired        = "expired"            // it no longer grants anything
	codeExpiring       = "expires-soon"       // it will expire soon
	codeReview         = "review-due"         // the review date has passed, or soon will
	CodeUnusedGrant    = "unused-grant"       // no recorded run used it
	codeSuppression    = "lint-ignore"        // a suppression without a code or a reason
	codeNotSuppressing = "unused-lint-ignore" // a suppression of a warning that does not exist
)

// Config is the input of [Check].
type Config struct {
	Policies []schema.Policy // of one folder
	Options
}

// Options select what is checked.
type Options struct {
	Now  time.Time     `json:"now"`  // if zero, dates are not checked
	Soon time.Duration `json:"soon"` // how long before a date it is reported
}

// Check returns the warnings for some policies, sorted.
func Check(cfg Config) schema.Diagnostics {
	c := &check{cfg: cfg, seen: map[string]bool{}}
	for i := range cfg.Policies {
		c.policy(&cfg.Policies[i])
	}
	merged := layers.Merge(layers.Config{Policies: cfg.Policies})
	for i := range merged.Effective {
		c.lists(&merged.Effective[i])
		c.bridges(&merged.Effective[i])
	}
	return c.found.Sort()
}

// check is the state of one [Check].
type check struct {
	cfg   Config
	found schema.Diagnostics
	seen  map[string]bool // already reported; the value of a ceiling is in every agent below it
}

// report adds a finding about the value at path. other is the path of a second value.
func (c *check) report(p *schema.Policy, path, code, hint, other, format string, args ...any) {
	o := schema.OriginOf(p, path)
	key := code + " " + o.Pos.String()
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	d := schema.Diagnostic{Pos: o.Pos, Code: code, Hint: hint, Msg: o.Path + ": " + fmt.Sprintf(format, args...),
		Severity: schema.Warning}
	if other != "" {
		d.Related = []schema.Pos{schema.OriginOf(p, other).Pos}
	}
	c.found = append(c.found, d)
}

// policy checks one document by itself.
func (c *check) policy(p *schema.Policy) {
	c.metadata(p)
	c.approvals(p)
	c.patterns(p)
	c.files(p)
	c.network(p)
	c.exceptions(p)
	c.lists(p)
}

func (c *check) metadata(p *schema.Policy) {
	if strings.HasPrefix(p.Metadata.Owner, "user:") {
		c.report(p, "metadata.owner", codeOwner, "name a group: or a team:, which outlasts its members", "",
			"%s is one person", p.Metadata.Owner)
	}
	if p.Metadata.ReviewBy != "" {
		c.checkDate(p, "metadata.reviewBy", p.Metadata.ReviewBy, codeReview, codeReview,
			"review the policy, and set the day of the next review", "the time until the review")
	}
}

// checkDate reports a date that has passed or soon will.
func (c *check) checkDate(p *schema.Policy, path, date, past, soon, hint, what string) {
	day, ok := layers.ExceptionEnd(date)
	if c.cfg.Now.IsZero() || !ok { // the compiler rejects invalid dates
		return
	}
	left := day.Sub(c.cfg.Now)
	switch {
	case left <= 0:
		c.report(p, path, past, hint, "", "%s ended on %s", what, date)
	case left <= c.cfg.Soon:
		days := int(left / (24 * time.Hour))
		in := fmt.Sprintf("in %d days", days)
		switch days {
		case 0:
			in = "within a day"
		case 1:
			in = "in a day"
		}
		c.report(p, path, soon, hint, "", "%s ends %s, on %s", what, in, date)
	}
}

const hintApprovers = "from: [\"group:…\"] names the approvers; without it every approver of the host can approve"

// approvals finds approvals without approvers.
func (c *check) approvals(p *schema.Policy) {
	for i, b := range p.Spec.Bridges {
		if a := b.Approval; a != nil && len(a.From) == 0 && (a.Required || a.When != "") {
			c.report(p, fmt.Sprintf("spec.bridges[%d].approval", i), codeNoApprovers, hintApprovers, "",
				"it does not say who may approve %s", b.Name)
		}
	}
	if p.Spec.Executors == nil || p.Spec.Executors.Shell == nil {
		return
	}
	for i, b := range p.Spec.Executors.Shell.Binaries {
		if b.Args == nil {
			continue
		}
		for j, a := range b.Args.Ask {
			if a.Approval == nil || len(a.Approval.From) == 0 {
				c.report(p, fmt.Sprintf("spec.executors.shell.binaries[%d].args.ask[%d]", i, j), codeNoApprovers,
					hintApprovers, "", "it does not say who may approve %s", a.Words)
			}
		}
	}
}

// patterns finds denials that look like substring matches. The compiler already rejects kind regex.
func (c *check) patterns(p *schema.Policy) {
	if p.Spec.Executors == nil || p.Spec.Executors.Shell == nil {
		return
	}
	for i, d := range p.Spec.Executors.Shell.DenyPatterns {
		if d.Kind == "literal" {
			c.report(p, fmt.Sprintf("spec.executors.shell.denyPatterns[%d].kind", i), codePattern,
				"leave kind out, and write a command and its words", "",
				"kind literal matches whole words, as argv does; a part of a word is never matched, because a script "+
					"can write the same command differently")
		}
	}
}

// broadFolders returns folders that no program needs completely, with the reason.
func broadFolders(write bool) map[string]string {
	out := map[string]string{
		"/": "every file of the host", "/etc": "the configuration of the host", "/home": "the files of every user",
		"/root": "the files of the administrator",
		"~":     "everything of the user, keys and tokens among it", "/var": "the state of every service",
		"/proc": "what other processes do", "/sys": "the host's devices and settings",
		"/dev": "the host's devices", "/run": "the sockets of the host's services",
	}
	if write {
		for _, p := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/boot"} {
			out[p] = "programs that others start"
		}
	}
	return out
}

func (c *check) files(p *schema.Policy) {
	f := p.Spec.Filesystem
	if f == nil {
		return
	}
	for name, list := range map[string][]string{"read": f.Read, "write": f.Write} {
		for i, entry := range list {
			clean := strings.TrimRight(entry, "/")
			if clean == "" {
				clean = "/"
			}
			if why, ok := broadFolders(name == "write")[clean]; ok {
				c.report(p, fmt.Sprintf("spec.filesystem.%s[%d]", name, i), codeBroadFile,
					"name the folder that the program works in", "", "%s of %s: that is %s", name, entry, why)
			}
		}
	}
}

// bridges finds bridges of an agent without a limit of calls, neither its own nor of a layer above.
func (c *check) bridges(p *schema.Policy) {
	for i, b := range p.Spec.Bridges {
		if b.Limits == nil || b.Limits.CallsPerRun == nil {
			c.report(p, fmt.Sprintf("spec.bridges[%d]", i), codeBridgeLimits,
				"limits: {callsPerRun: N} with the number that one run needs", "",
				"%s has no limit of calls, so the general default applies", b.Name)
		}
	}
}

func (c *check) exceptions(p *schema.Policy) {
	for i, e := range p.Spec.Exceptions {
		c.checkDate(p, fmt.Sprintf("spec.exceptions[%d].expires", i), e.Expires, codeExpired, codeExpiring,
			"renew it with its approver, or remove it together with the grants that need it", e.ID)
	}
}
