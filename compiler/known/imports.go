package known

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/profiles/spelling"
)

// Codes of findings.
const (
	codeAgentOnly   = "import-agent-only" // a denial that applies to the program but not to its libraries
	CodeAny         = "import-any"        // "*" without a denial of modules that reach outside
	codeUnknown     = "import-unknown"    // the name of a distribution, or a misspelt one
	codeNeeded      = "import-needed"     // the interpreter itself needs it
	CodeEnvironment = "environment"       // an invalid package folder
	CodeImportNever = "never-matches"     // a rule that no import can match
)

// ImportsConfig is the input of [CheckImports]. The zero Config has no findings.
type ImportsConfig struct {
	Agent   profiles.Agent // completely compiled
	Compact bool           // the compact form, whose lists apply to JavaScript too
}

// importFinding is one finding at a rule.
type importFinding struct {
	Code, Msg, Hint string
	Rule            profiles.Rule
	Warning         bool
}

// CheckImports checks the import lists of an agent: names that mean nothing, denials that bind less than the
// author may think, and package folders that a guest could write to. An agent without Python has no findings.
func CheckImports(cfg ImportsConfig) []importFinding {
	if cfg.Agent.Python == nil {
		return nil
	}
	c := &importChecker{ImportsConfig: cfg, python: cfg.Agent.Python}
	im := &c.python.Imports
	for _, list := range [][]profiles.ImportRule{im.Allow, im.Deny, im.Process} {
		for _, r := range list {
			c.name(r)
		}
	}
	for _, r := range im.Allow {
		if modules.Never(r.Name) {
			c.add(CodeImportNever, r.Rule, "", "no policy can allow %s: it bypasses the guard of the program", r.Name)
		}
	}
	c.agentOnly(im)
	c.any(im)
	c.needed(im)
	c.builtins()
	c.environments()
	c.engine()
	return c.found
}

type importChecker struct {
	ImportsConfig
	python *profiles.Python
	found  []importFinding
}

func (c *importChecker) add(code string, at profiles.Rule, hint, format string, args ...any) {
	c.found = append(c.found, importFinding{Code: code, Rule: at, Hint: hint, Msg: fmt.Sprintf(format, args...)})
}

func (c *importChecker) warn(code string, at profiles.Rule, hint, format string, args ...any) {
	c.add(code, at, hint, format, args...)
	c.found[len(c.found)-1].Warning = true
}

// name warns of a name that is no Python module, as far as that is known without the packages: the name of a
// distribution, a JavaScript name, or a near miss of a standard library module.
func (c *importChecker) name(r profiles.ImportRule) {
	top, rest, _ := strings.Cut(r.Name, ".")
	if modules.Standard(r.Name) || modules.Never(r.Name) || modules.Own(r.Name) {
		return
	}
	if module, of := distribution(top); module != "" && rest == "" {
		c.warn(codeUnknown, r.Rule, fmt.Sprintf("write %s", module),
			"%s is the name that %s is installed by; programs import %s", top, of, module)
		return
	}
	if c.Compact {
		return // it may be a JavaScript name
	}
	if isJavaScriptName(top) {
		c.warn(codeUnknown, r.Rule, "imports of JavaScript belong in executors.js.imports",
			"%s is a module of JavaScript", top)
		return
	}
	standard := modules.StandardNames()
	for _, name := range standard {
		if strings.EqualFold(name, top) {
			c.warn(codeUnknown, r.Rule, fmt.Sprintf("write %s", name),
				"module names are case-sensitive: %s is not %s", top, name)
			return
		}
	}
	if isKnownPackage(top) {
		return
	}
	if i := spelling.Of(top, public(standard), spelling.Effort{Names: 1000, Letters: 100_000}); i >= 0 && len(top) > 3 {
		c.warn(codeUnknown, r.Rule, "", "%s is no module of the standard library; did you mean %s?", top,
			public(standard)[i])
	}
}

// public removes the private names.
func public(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n[0] == '_' })
}

// agentOnly explains once what a denial of the standard library means, for the first entry of the list.
func (c *importChecker) agentOnly(im *profiles.Imports) {
	var names []string
	var first profiles.Rule
	for _, r := range im.Deny {
		if !modules.Standard(r.Name) || modules.Covered(r.Name, namesOf(im.Process)) || !reaches(r.Name) {
			continue
		}
		if len(names) == 0 {
			first = r.Rule
		}
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return
	}
	list := "imports.denyProcess"
	if c.Compact {
		list = "denied_process"
	}
	is, it := "is", "it"
	if len(names) > 1 {
		is, it = "are", "them"
	}
	c.warn(codeAgentOnly, first, "what "+list+" lists is denied to libraries too, and some do not load then: pandas "+
		"needs ctypes, asyncio needs socket",
		"%s %s denied to the program only: libraries that need %s still load %s, and the kernel ring limits what "+
			"they reach", joinSome(names), is, it, it)
}

// any warns about the import "*" if it allows modules that can reach files, processes or the network.
func (c *importChecker) any(im *profiles.Imports) {
	if im.Any == nil {
		return
	}
	denied := slices.Concat(namesOf(im.Deny), namesOf(im.Process))
	var open []string
	for _, name := range reaching() {
		if !modules.Covered(name, denied) {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		c.warn(CodeAny, *im.Any, "deny modules that the program does not need; without an allow list, only modules "+
			"that reach nothing outside are granted",
			"also allows %s: only the kernel ring limits what they reach", joinSome(open))
	}
}

// reaching lists modules that start programs, open connections or read memory.
func reaching() []string {
	return []string{"ctypes", "subprocess", "socket", "multiprocessing", "posix", "pty"}
}

// reaches reports whether a denial targets the abilities of a module, which other code could provide to the
// program. A denial of statistics targets just the name.
func reaches(name string) bool {
	return modules.Outside(name) || slices.Contains([]string{"os", "io", "shutil"}, name)
}

// needed rejects denials, for the whole process, of modules without which the interpreter cannot start.
func (c *importChecker) needed(im *profiles.Imports) {
	for _, r := range im.Process {
		switch r.Name {
		case "sys", "builtins", "io", "os", "abc", "codecs", "encodings", "importlib", "posix", "stat", "time", "errno",
			"_io", "_imp", "_thread", "_warnings",
			"_weakref", "_abc", "_codecs", "_signal", "_frozen_importlib", "_frozen_importlib_external", "__main__":
			c.add(codeNeeded, r.Rule, "deny it to the program only", "the interpreter cannot start without %s", r.Name)
		}
	}
}

// environments rejects folders that a guest could change, since their files run as code of a library.
func (c *importChecker) environments() {
	first := map[string]bool{}
	for _, e := range c.python.Environments {
		if first[e.Path] {
			c.add(CodeEnvironment, e.Rule, "leave it out", "the environment is listed twice")
		}
		first[e.Path] = true
		if e.Path == "/" {
			c.add(CodeEnvironment, e.Rule, "name the folder of the environment", "is the whole host")
			continue
		}
		for _, w := range c.Agent.Files.Write {
			if paths.Of(w.Path).Cover(e.Path) || paths.Of(e.Path).Cover(w.Path) {
				c.add(CodeEnvironment, e.Rule, "keep packages where no guest writes",
					"a guest may write %s, and files in an environment run as code of its libraries", w.Path)
				break
			}
		}
	}
}

// engine reports features that the WebAssembly engine lacks.
func (c *importChecker) engine() {
	if c.python.Engine != profiles.PythonWasm {
		return
	}
	at := c.python.EngineRule
	if len(c.python.Environments) > 0 {
		c.add(CodeEnvironment, c.python.Environments[0].Rule, "leave the environment or tier: wasm out",
			"the WebAssembly engine has only the standard library")
	}
	for _, r := range c.python.Imports.Allow {
		if !modules.Standard(r.Name) && !modules.Own(r.Name) {
			c.warn(CodeImportNever, r.Rule, "", "the WebAssembly engine has only the standard library, and no %s",
				r.Name)
		}
	}
	if c.python.JIT {
		c.warn(CodeImportNever, at, "leave jit out", "the WebAssembly engine generates no code at run time")
	}
}

// Overrule is an allowed name that a denied name overrides. Both are positions in their lists.
type Overrule struct{ Allow, Deny int }

// Overruled lists allowed names that a denied one covers, unless they are identical. A covering name ends at
// sep.
func Overruled(allow, deny []string, sep byte) (out []Overrule) {
	denied := make(map[string]int, len(deny))
	for i, name := range deny {
		denied[strings.TrimSuffix(name, ".*")] = i
	}
	for i, name := range allow {
		for short := strings.TrimSuffix(name, ".*"); short != ""; {
			if j, ok := denied[short]; ok && deny[j] != name {
				out = append(out, Overrule{i, j})
				break
			}
			short = short[:max(0, strings.LastIndexByte(short, sep))]
		}
	}
	return out
}

func namesOf(rules []profiles.ImportRule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Name
	}
	return out
}

// joinSome joins the first few names.
func joinSome(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", len(names)-most))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
