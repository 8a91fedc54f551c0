// Package known owns the findings about programs and modules in a policy that come from
// knowledge of those programs: programs that can bypass the command rules, rules that
// nothing matches, examples that are decided differently from what their author expects,
// imports that are denied or that need others.
//
// Enforcement does not depend on it, and it never reads the host. Package compiler calls it.
package known

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// Codes of findings.
const (
	codeShell       = "program-shell"       // a shell, which ringd interprets and never starts
	codeInterpreter = "program-interpreter" // it runs code that no rule sees
	codeLauncher    = "program-launcher"    // it starts other programs, but none is granted, or it cannot start them
	CodeMany        = "program-many"        // it can be any program: busybox, a dynamic loader
	codeDuplicate   = "program-duplicate"   // two programs with one name
	codeWritable    = "program-writable"    // a guest may write the program
	codeHelper      = "program-helper"      // a helper that bypasses the list of programs
	codeForce       = "program-force"       // forced words that the rules deny, or that change the sub-command
	CodeVariable    = "program-variable"    // a forced variable that only ringd may set, or that no program would see
	codeRedundant   = "rule-redundant"      // it denies a command that is not granted anyway
	codeUnreachable = "rule-unreachable"    // another rule always comes first
	codeShadowed    = "rule-shadowed"       // another rule denies the same, or more
	codeNever       = "never-matches"       // no command can match it
	codeExample     = "example"             // the policy decides an example differently, or the example is invalid
)

// ProgramsConfig is the input of [CheckPrograms]. The zero Config has no findings.
type ProgramsConfig struct {
	Agent    profiles.Agent // completely compiled
	Compact  bool           // the compact form
	Broken   bool           // a pattern is missing, so examples are not checked
	Binaries []Told         // for each of Agent.Shell.Binaries
	Patterns []Told         // for each of Agent.Shell.DeniedPatterns
}

// Told holds the parts of a program or denied pattern that no profile carries. For a program, examples in
// Match must be allowed. For a pattern, examples in Match must match it. NotMatch is the opposite.
type Told struct {
	Rule            profiles.Rule // that of the compiled rule
	Force           profiles.Rule // that of the forced words
	Broken          bool          // compiled in part: missing parts are not reported
	Acknowledged    bool
	Match, NotMatch []Example
}

// Example is a command in the author's text.
type Example struct {
	Text string
	Rule profiles.Rule
}

// ProgramFinding is one finding at a rule.
type ProgramFinding struct {
	Code, Msg, Hint string
	Rule            profiles.Rule
	Related         []profiles.Rule
	Warning         bool
}

// CheckPrograms checks all programs and rules of an agent. The findings are in the order of the policy.
func CheckPrograms(cfg ProgramsConfig) []ProgramFinding {
	if sh := cfg.Agent.Shell; sh == nil || len(cfg.Binaries) != len(sh.Binaries) ||
		len(cfg.Patterns) != len(sh.DeniedPatterns) || wordless(sh) {
		return nil
	}
	c := &checker{ProgramsConfig: cfg, shell: cfg.Agent.Shell, decider: profiles.NewDecider(cfg.Agent, "",
		profiles.Environment{}),
		patterns: index(cfg.Agent.Shell.DeniedPatterns), names: map[string]bool{}, kinds: map[kind]int{}}
	c.count()
	broken := false
	for i, told := range c.Binaries {
		c.program(i)
		c.rules(i)
		broken = broken || told.Broken
	}
	c.duplicates()
	c.denied()
	for i := range c.shell.Binaries {
		if !broken && !cfg.Broken {
			c.binaryExamples(i)
		}
	}
	for i := range c.shell.DeniedPatterns {
		c.patternExamples(i)
	}
	return c.found
}

// wordless reports whether a rule has no words. Compiled rules always have some.
func wordless(sh *profiles.Shell) bool {
	empty := func(p profiles.Pattern) bool { return len(p.Words) == 0 }
	return slices.ContainsFunc(sh.DeniedPatterns, empty) || slices.ContainsFunc(sh.Binaries,
		func(b profiles.Binary) bool {
			return slices.ContainsFunc(slices.Concat(b.Allow, b.Deny), empty) ||
				slices.ContainsFunc(b.Ask, func(a profiles.AskRule) bool { return empty(a.Pattern) })
		})
}

type checker struct {
	ProgramsConfig
	shell    *profiles.Shell
	decider  *profiles.Decider
	patterns map[string][]rule
	names    map[string]bool // of listed programs
	kinds    map[kind]int    // number of listed programs of each kind
	past     []profiles.Rule // rules for the words of programs that can be started
	found    []ProgramFinding
}

// count collects the facts about all programs.
func (c *checker) count() {
	for i := range c.shell.Binaries {
		b := &c.shell.Binaries[i]
		c.kinds[kindOf(b.Path)]++
		c.names[path.Base(b.Path)] = true
		if b.Interpreted {
			continue
		}
		for _, p := range slices.Concat(b.Allow, b.Deny) {
			c.past = append(c.past, p.Rule)
		}
		for _, a := range b.Ask {
			c.past = append(c.past, a.Pattern.Rule)
		}
	}
	for _, p := range c.shell.DeniedPatterns {
		if name := path.Base(p.Words[0]); c.names[name] && kindOf(name) != shell {
			c.past = append(c.past, p.Rule)
		}
	}
}

func (c *checker) report(code string, at profiles.Rule, hint, format string, args ...any) *ProgramFinding {
	c.found = append(c.found, ProgramFinding{Code: code, Rule: at, Hint: hint, Msg: fmt.Sprintf(format, args...)})
	return &c.found[len(c.found)-1]
}

func (c *checker) warn(code string, at profiles.Rule, hint, format string, args ...any) *ProgramFinding {
	f := c.report(code, at, hint, format, args...)
	f.Warning = true
	return f
}

// program checks one listed program, alone and together with the other listed programs.
func (c *checker) program(i int) {
	b, told := &c.shell.Binaries[i], c.Binaries[i]
	name := path.Base(b.Path)
	if rule := c.writable(b.Path); rule != nil {
		c.report(codeWritable, b.Rule, "list a program that no guest may write",
			"a guest may write %s, and so replace it", clip(b.Path)).Related = []profiles.Rule{*rule}
	}
	kind := kindOf(b.Path)
	switch {
	case kind == many:
		f := c.report(CodeMany, b.Rule, "list the programs that are needed themselves; "+c.ackHint("lists it anyway"),
			"%s can be any program, and the kernel ring cannot tell which", clip(name))
		f.Warning = told.Acknowledged || c.Compact // the compact form cannot acknowledge
		if told.Acknowledged {
			c.found = c.found[:len(c.found)-1]
		}
	case told.Acknowledged:
	case kind == shell:
		c.warn(codeShell, b.Rule, c.ackHint("accepts this"),
			"%s is never started: ringd interprets its scripts by these same rules, as bash does", clip(name))
	case kind == interpreter:
		c.interpreter(b)
	case kind == escalator:
		c.warn(codeLauncher, b.Rule, "leave it out", "%s has no effect: a guest cannot gain privileges", clip(name))
	case kind == launcher && c.kinds[launcher]+c.kinds[escalator] == len(c.Binaries):
		c.warn(codeLauncher, b.Rule, "list the programs that it is to start",
			"%s starts other programs, and no other is listed", clip(name))
	}
	if b.Interpreted {
		c.neverStarted(b, told.Force)
	}
	c.helpers(b, told.Acknowledged)
}

// ackHint explains how an author acknowledges a program. The compact form has no way.
func (c *checker) ackHint(what string) string {
	if c.Compact {
		return "in the full form acknowledge: true " + what
	}
	return "acknowledge: true " + what
}

// unseen is the message about a program that starts programs past the command rules.
const unseen = "%s can start programs that the command rules do not see; only the kernel ring limits them"

// interpreter reports the rules that a program which runs files makes unenforceable.
func (c *checker) interpreter(b *profiles.Binary) {
	msg := fmt.Sprintf(unseen, clip(path.Base(b.Path)))
	if len(c.past) > 0 {
		msg += " (" + affectedRules(c.past[0], len(c.past)) + ")"
	}
	f := c.warn(codeInterpreter, b.Rule, "keep files and network narrow; "+c.ackHint("accepts this"), "%s", msg)
	f.Related = c.past[:min(len(c.past), 1)] // the one that the message names
}

// affectedRules describes the n command rules that do not apply to the started programs; r is the first.
func affectedRules(r profiles.Rule, n int) string {
	if n == 1 {
		return fmt.Sprintf("1 rule affected, on line %d", r.Line)
	}
	return fmt.Sprintf("%d rules affected, the first on line %d", n, r.Line)
}

// neverStarted reports settings of a shell that have no effect, because it is not started.
func (c *checker) neverStarted(b *profiles.Binary, force profiles.Rule) {
	name := clip(path.Base(b.Path))
	if len(b.ForceArgs) == 0 {
		force = b.Rule
	}
	if len(b.ForceArgs) > 0 || len(b.ForceEnv) > 0 {
		c.report(codeForce, force, "leave args.force and env out",
			"%s is never started, so force and env have no effect", name)
	}
	if len(b.Helpers) > 0 {
		c.report(codeHelper, b.Helpers[0].Rule, "list it in binaries, where scripts may start it",
			"%s is never started, and has no helpers", name)
	}
}

// helpers checks the helpers of a program.
func (c *checker) helpers(b *profiles.Binary, acknowledged bool) {
	for _, h := range b.Helpers {
		if rule := c.writable(h.Path); rule != nil {
			c.report(codeWritable, h.Rule, "name programs that no guest may write",
				"a guest may write %s, and so replace it", clip(h.Path)).Related = []profiles.Rule{*rule}
			continue
		}
		name := clip(path.Base(h.Path))
		switch k := kindOf(h.Path); {
		case k == shell || k == many:
			c.report(codeHelper, h.Rule, "leave it out: the program that starts it could run every listed program",
				"%s as a helper runs commands that no rule sees", name)
		case isProgramFolder(h.Path):
			c.report(codeHelper, h.Rule, "name the programs, or a folder that holds only programs of this one",
				"%s holds the programs of the whole host", clip(h.Path))
		case h.Path == b.Path:
			c.warn(codeHelper, h.Rule, "leave it out", "the program may start itself without it")
		case k == interpreter && !acknowledged:
			c.warn(codeHelper, h.Rule, "acknowledge: true accepts this", unseen, name)
		}
	}
}

// writable returns the rule by which a guest may write a path, or nil. It does not know the host: the kernel
// ring checks links and the folders behind $WORKSPACE and ~.
func (c *checker) writable(p string) *profiles.Rule {
	covers := func(rules []profiles.PathRule) *profiles.Rule {
		for i, r := range rules {
			if r.Path == "/" || p == r.Path || strings.HasPrefix(p, r.Path+"/") {
				return &rules[i].Rule
			}
		}
		return nil
	}
	if covers(c.Agent.Files.Deny) != nil {
		return nil
	}
	return covers(c.Agent.Files.Write)
}

// duplicates reports programs with the same name: a script that uses the name gets the first.
func (c *checker) duplicates() {
	seen := map[string]int{}
	for i, b := range c.shell.Binaries {
		name := path.Base(b.Path)
		j, twice := seen[name]
		if !twice {
			seen[name] = i
			continue
		}
		other := c.shell.Binaries[j]
		hint := fmt.Sprintf("a script can start this program only by its whole path: %s", clip(b.Path))
		if usrMergedPath(b.Path) == usrMergedPath(other.Path) {
			hint = "leave one of them out"
		}
		f := c.warn(codeDuplicate, b.Rule, hint, "%s on line %d is called %s too, and comes first", clip(other.Path),
			other.Rule.Line, clip(name))
		f.Related = []profiles.Rule{other.Rule}
		if restricted(&b) || restricted(&other) { // without the first program, its name would mean one with other rules
			f.Warning, f.Msg = false, fmt.Sprintf("%s on line %d is called %s too, and a name has one set of rules",
				clip(other.Path), other.Rule.Line, clip(name))
			f.Hint = "list one of them, or leave out the rules of both"
		}
	}
}

// restricted reports whether a program has its own rules.
func restricted(b *profiles.Binary) bool {
	return b.Allow != nil || len(b.Deny)+len(b.Ask)+len(b.ForceArgs)+len(b.ForceEnv) > 0 || b.MaxArgs > 0 ||
		b.SafeConfig
}

// usrMergedPath returns the path on a host where /bin and /sbin are links into /usr.
func usrMergedPath(p string) string {
	for _, dir := range []string{"/bin/", "/sbin/"} {
		if strings.HasPrefix(p, dir) {
			return "/usr" + p
		}
	}
	return p
}

func clip(s string) string { return cmp.Or(canonjson.Truncate(s, 60), "''") }
