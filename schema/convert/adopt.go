// Package convert converts the settings of other systems to a policy: the compact form of ringd, and the
// settings of Claude Code, Codex and srt (sandbox-runtime).
//
// The policy never allows more than the settings. If a grant has no exact equivalent, it is left out. If a
// denial has no exact equivalent, it becomes a stricter denial, or the grants that it would have restricted
// are left out. Each setting is reported as a [Line]. The command import calls it.
package convert

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/schema"
)

// Formats of settings.
const (
	Compact = "compact"
	Claude  = "claude-code" // settings.json
	Codex   = "codex"       // config.toml
	Srt     = "srt"         // .srt-settings.json
)

// Formats lists the formats of [Policy].
func Formats() []string { return []string{Compact, Claude, Codex, Srt} }

// ErrFormat means that the text does not have the expected format. The wrapping error has the details.
var ErrFormat = errors.New("not the settings")

// Config holds the facts that the settings do not contain. The zero Config finds no program, so no program is
// granted.
type Config struct {
	Name  string // name of the policy
	Owner string
	// Find returns the absolute path of a program that settings name by its base name.
	Find func(name string) (path string, ok bool)
	// Root is the folder at which Claude Code's paths with one leading slash start: ~/.claude for the
	// settings of a user. If it is empty, it is the working folder, as for the settings of a project.
	Root string
}

func (c Config) root() string {
	if c.Root == "" {
		return "."
	}
	return c.Root
}

// Outcome is the result for a setting.
type Outcome string

// The outcomes.
const (
	Exact    Outcome = "exact"
	Stricter Outcome = "stricter" // the policy allows less than the setting
	Left     Outcome = "left"     // not in the policy, so the policy allows less
	NoPolicy Outcome = "other"    // the setting has no meaning for a policy
)

// Line is the result for one setting.
type Line struct {
	Path    string  `json:"path"` // permissions.allow[2]
	Value   string  `json:"value,omitempty"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
}

// Policy converts settings to a policy of the full language. The error wraps ErrFormat.
func Policy(cfg Config, format, file string, text []byte) (schema.Policy, []Line, error) {
	d := &draft{cfg: cfg}
	d.policy.APIVersion, d.policy.Kind = "ringd/v1", "AgentPolicy"
	d.policy.Metadata = schema.Metadata{Name: cfg.Name, Revision: 1, Owner: cfg.Owner}
	var err error
	switch format {
	case Compact:
		err = d.compact(file, text)
	case Claude:
		err = d.claude(text)
	case Codex:
		err = d.codex(text)
	case Srt:
		err = d.srt(text)
	default:
		err = fmt.Errorf("%w of a system that is known: want one of %s", ErrFormat, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return schema.Policy{}, nil, err
	}
	d.withhold()
	return d.policy, d.lines, nil
}

// Guess returns the format for the name of a file, or "".
func Guess(file string) string {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	switch {
	case base == "config.toml":
		return Codex
	case strings.Contains(base, "srt-settings"):
		return Srt
	case strings.HasPrefix(base, "settings") && strings.HasSuffix(base, ".json"), base == "managed-settings.json":
		return Claude
	case strings.HasSuffix(base, ".yaml"), strings.HasSuffix(base, ".yml"):
		return Compact
	default:
		return ""
	}
}

// draft is a policy under construction.
type draft struct {
	cfg    Config
	policy schema.Policy
	lines  []Line
	// noRead and noWrite are set if a denial has no equivalent. Then nothing is granted that this denial
	// might have restricted.
	noRead, noWrite bool
	noNet           bool // the same for hosts
}

func (d *draft) line(path, value string, o Outcome, why string) {
	d.lines = append(d.lines, Line{path, value, o, why})
}

// compact converts a policy of the compact form, which is the same language.
func (d *draft) compact(file string, text []byte) error {
	policies, found := schema.Decode([]schema.Source{{Name: file, Data: text}})
	if found.Refused() || len(policies) != 1 {
		return fmt.Errorf("%w of the compact form: %w", ErrFormat, found)
	}
	p := policies[0]
	if !p.Compact {
		return fmt.Errorf("%w of the compact form: the file is a policy of the full language, which needs no import",
			ErrFormat)
	}
	d.policy.Spec = p.Spec
	d.line("interpreter_ring", "", Exact, "")
	d.constructs(true) // the compact form always has them
	if python := p.Spec.Executors.Python; python != nil && python.Imports != nil {
		d.pythonImports(p.Spec.Executors, python.Imports)
	}
	if js := p.Spec.Executors.JS; js != nil && js.Imports != nil {
		d.jsImports(js)
	}
	return nil
}

// pythonImports removes names that are not Python modules: they are JavaScript modules, and a guest denies
// them anyway. If no name is left, Python is not granted, because an empty list would mean the default set.
func (d *draft) pythonImports(e *schema.Executors, imports *schema.PythonImports) {
	none := func(name string) bool { return name != "*" && !pythonModule.MatchString(name) }
	listed := len(imports.Allow) > 0
	imports.Allow, imports.Deny = slices.DeleteFunc(imports.Allow, none), slices.DeleteFunc(imports.Deny, none)
	if listed && len(imports.Allow) == 0 {
		d.line("interpreter_ring.allowed_imports", "", Stricter,
			"no module of Python is left of it, so that Python is not granted")
		e.Python = nil
		e.Allowed = slices.DeleteFunc(e.Allowed, func(name string) bool { return name == "python" })
	}
}

// jsImports removes JavaScript's allowed modules, and denials of names that are not JavaScript modules.
func (d *draft) jsImports(js *schema.JS) {
	for i, name := range js.Imports.Allow {
		const add = "Add it to executors.js.imports.allow if there is one"
		var why string
		switch python := pythonModule.MatchString(name); {
		case python && jsModule(name):
			why = "for JavaScript, where it is a file of modules/; Python has it. " + add
		case python:
			why = "for JavaScript, where no module has such a name; Python has it"
		default:
			why = "for Python, where no module has such a name, and for JavaScript, where it is a file of modules/. " +
				add
		}
		d.line(fmt.Sprintf("interpreter_ring.allowed_imports[%d]", i), name, Left, why)
	}
	for i, name := range js.Imports.Deny {
		for _, of := range []struct {
			language string
			has      bool
		}{{"Python", pythonModule.MatchString(name)}, {"JavaScript", jsModule(name)}} {
			if !of.has {
				d.line(fmt.Sprintf("interpreter_ring.denied_imports[%d]", i), name, NoPolicy,
					"no module of "+of.language+" has such a name")
			}
		}
	}
	js.Imports.Allow = nil
	js.Imports.Deny = slices.DeleteFunc(js.Imports.Deny, func(name string) bool { return !jsModule(name) })
	if len(js.Imports.Deny) == 0 {
		js.Imports = nil
	}
}

func (d *draft) shell() *schema.Shell {
	s := &d.policy.Spec
	if s.Executors == nil {
		s.Executors = &schema.Executors{Allowed: []string{"shell"}}
	}
	if s.Executors.Shell == nil {
		s.Executors.Shell = &schema.Shell{}
	}
	return s.Executors.Shell
}

// constructs lets scripts use pipes. If all is true, scripts may also use redirects and substitution. The
// files that a script opens and the programs that it starts still need grants.
func (d *draft) constructs(all bool) {
	s, yes := d.shell(), true
	s.AllowPipes = &yes
	if all {
		s.AllowRedirects, s.AllowSubstitution = &yes, &yes
	}
}

func (d *draft) files() *schema.Filesystem {
	if d.policy.Spec.Filesystem == nil {
		d.policy.Spec.Filesystem = &schema.Filesystem{}
	}
	return d.policy.Spec.Filesystem
}

func (d *draft) network() *schema.Network {
	if d.policy.Spec.Network == nil {
		d.policy.Spec.Network = &schema.Network{Mode: "off"}
	}
	return d.policy.Spec.Network
}

// withhold sorts the lists, and removes every grant that might have been restricted by a denial without an
// equivalent.
func (d *draft) withhold() {
	if e := d.policy.Spec.Executors; e != nil && e.Shell != nil {
		for i := range e.Shell.Binaries {
			b := &e.Shell.Binaries[i]
			if b.Args != nil && b.Args.Subcommands == nil && b.Args.Ask == nil {
				b.Args = nil
			}
			d.denyRedirectingOptions(b)
		}
	}
	if n := d.policy.Spec.Network; n != nil && d.noNet {
		n.Mode, n.Egress = "off", nil
	}
	f := d.policy.Spec.Filesystem
	if f == nil {
		return
	}
	if d.noRead && len(f.Read) > 0 {
		d.line("(reads)", strings.Join(f.Read, " "), Left, "a denial above cannot be written as a rule, so no file "+
			"is granted; add the folders that it does not concern")
		f.Read = nil
	}
	if d.noWrite && len(f.Write) > 0 {
		d.line("(writes)", strings.Join(f.Write, " "), Left,
			"a denial above cannot be written as a rule, so no file is granted; add the folders that it does not "+
				"concern")
		f.Write = nil
	}
	for _, list := range []*[]string{&f.Read, &f.Write, &f.Deny} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	denied := func(p string) bool { return slices.Contains(f.Deny, p) }
	f.Read = slices.DeleteFunc(f.Read, denied) // a path in both lists would be a finding, and the denial wins
	f.Write = slices.DeleteFunc(f.Write, denied)
}

// denyRedirectingOptions denies options of a program that would make its sub-commands work in another place.
func (d *draft) denyRedirectingOptions(b *schema.Binary) {
	if b.Args == nil || b.Args.Subcommands == nil {
		return
	}
	name := path.Base(b.Path)
	if flags := optionsBefore(name, b.Args.Subcommands); flags != nil {
		b.Args.DenyFlags = flags
		d.line("("+name+")", strings.Join(flags, " "), Stricter,
			"options that change the target are refused everywhere; the settings refuse them only in front of a "+
				"sub-command")
	}
}

// environment converts variables.
func (d *draft) environment(at string, vars map[string]string) {
	for _, name := range sortedKeys(vars) {
		here := at + "." + name
		if d.policy.Spec.Executors != nil && d.barred() {
			d.line(here, "", Left, "no program is granted that would see it")
			continue
		}
		if why := d.cannotSet(name, vars[name]); why != "" {
			d.line(here, "", Left, why)
			continue
		}
		s := d.shell()
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[name] = vars[name]
		d.line(here, "", Exact, "")
	}
}

// cannotSet returns the reason why a policy cannot set a variable, or "".
func (d *draft) cannotSet(name, value string) string {
	switch {
	case !variable(name):
		return "not a valid name of a variable"
	case setByRingd(name):
		return "ringd sets it itself, for every program"
	case len(value) > maxValue || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "it is too long for a policy, or contains an invisible character"
	default:
		return ""
	}
}

// maxValue is the longest value of a variable.
const maxValue = 4096

// host converts an entry of a list of hosts, which means every port.
func (d *draft) host(at, entry string, deny bool) {
	text := entry
	if !ported(entry) {
		text += ":*"
	}
	if deny && !ported(entry) {
		text = entry
	}
	if why := badHost(text); why != "" {
		if deny {
			d.removeHosts(at, entry, why)
			return
		}
		d.line(at, entry, Left, why)
		return
	}
	n := d.network()
	if deny {
		n.Deny = append(n.Deny, text)
	} else {
		n.Mode = "allowlist"
		n.Egress = append(n.Egress, schema.Egress{Host: text})
	}
	d.line(at, entry, Exact, "")
}

// removeHosts handles a denial without an equivalent: it removes every host, and no host can be added later.
func (d *draft) removeHosts(at, entry, why string) {
	d.noNet = true
	d.line(at, entry, Stricter, why+"; the network is off instead")
}
