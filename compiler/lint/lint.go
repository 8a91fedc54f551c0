// Package lint finds what a policy says that is valid and unwise: rules that another one
// makes needless, grants that are wider than anybody means, what has ended or soon will,
// and what nobody answers for. Each finding is a warning with a place, the reason and
// what to do; what refuses a policy is the compiler's to say.
//
// It is pure: the time comes in, and the policies as package schema has decoded them.
// The compile child calls it, since only that process may read what authors write.
package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// The codes of findings. They are API: tools and suppressions match on them. That an
// allowed name is denied as well the compiler says, as deny-wins and allow-and-deny.
const (
	codeShadowed       = "shadowed-rule"      // another entry of the same list covers it
	codeWildcard       = "wildcard-egress"    // every name below a domain
	codeAnyPort        = "any-port"           // every port of a host
	codeAnyMethod      = "any-method"         // requests are read, and none is refused
	codeBroadFile      = "broad-file"         // a grant of far more files than a program needs
	codePattern        = "substring-pattern"  // a denial meant by text, which is read as words
	codeNoApprovers    = "no-approvers"       // nobody is named who may approve
	codeOwner          = "owner-person"       // a person owns the policy, and no group
	codeBridgeLimits   = "bridge-no-limit"    // a bridge that may be called without a limit of its own
	codeExpired        = "expired"            // it grants nothing any more
	codeExpiring       = "expires-soon"       // it soon grants nothing
	codeReview         = "review-due"         // the day of the review has come, or soon will
	CodeUnusedGrant    = "unused-grant"       // no recorded run used it
	codeSuppression    = "lint-ignore"        // a suppression without a code or a reason
	codeNotSuppressing = "unused-lint-ignore" // a suppression of what is not found
)

// Config is the input of Check.
type Config struct {
	Policies []schema.Policy // of one folder
	Options
}

// Options say what is looked at.
type Options struct {
	Now  time.Time     `json:"now"`  // zero: nothing is said of what ends
	Soon time.Duration `json:"soon"` // how long before its end a thing is told
}

// Check returns what is unwise in some policies, as warnings, sorted.
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

// check is the state of one Check.
type check struct {
	cfg   Config
	found schema.Diagnostics
	seen  map[string]bool // a value of a ceiling stands in every agent below it
}

// report adds a finding about the value at path; other is the path of a second value.
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

// policy checks what one document says by itself.
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
		c.ends(p, "metadata.reviewBy", p.Metadata.ReviewBy, codeReview, codeReview,
			"review the policy, and set the day of the next review", "the time until the review")
	}
}

// ends tells of a date that has come, or soon will.
func (c *check) ends(p *schema.Policy, path, date, past, soon, hint, what string) {
	day, ok := layers.ExceptionEnd(date)
	if c.cfg.Now.IsZero() || !ok { // what is no date the compiler refuses
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

// approvals finds those that say nobody.
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

// patterns finds denials that are meant by a part of the text. Those of kind regex are
// refused before.
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

// broad are folders whose files no program needs all of, with why.
func broad(write bool) map[string]string {
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
			if why, ok := broad(name == "write")[clean]; ok {
				c.report(p, fmt.Sprintf("spec.filesystem.%s[%d]", name, i), codeBroadFile,
					"name the folder that the program works in", "", "%s of %s: that is %s", name, entry, why)
			}
		}
	}
}

// bridges finds those of an agent without a limit of calls, its own or of a layer above.
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
		c.ends(p, fmt.Sprintf("spec.exceptions[%d].expires", i), e.Expires, codeExpired, codeExpiring,
			"renew it with its approver, or remove it together with the grants that need it", e.ID)
	}
}
