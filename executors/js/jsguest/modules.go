package jsguest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

// modules serves the imports of one program from the policy's module map. The import profile decides. The host
// gave only sources that it allows.
//
// The engine keeps the modules that it has loaded, and a session lives longer than a policy. Therefore, in a
// session the engine's name of a module ends with set, which names all modules that the agent may import now.
// If any of them changes, every module is loaded again, including those that import the changed one.
type modules struct {
	set     string
	o       jsproto.Options
	decider *profiles.Decider
	loaded  map[string]loaded // checked
	refused profiles.Refusals

	// Of the parts of the run before this one.
	before   map[string]served // what the engine has, by its names
	reported int               // number of denials
}

// loaded is a module that may be given to a program.
type loaded struct {
	source     string // as in the policy
	typed      bool   // source is TypeScript
	javaScript string
	maps       *sourcemap.Consumer // from javaScript to source; nil if they are the same
}

// maxDenials limits the distinct denials that one run reports. Further ones are counted.
const maxDenials = 64

// newModules returns the modules of a run at a time.
func newModules(o jsproto.Options, now time.Time) *modules {
	agent := profiles.Agent{JS: &profiles.JS{Imports: o.Imports}}
	return &modules{
		o: o, decider: profiles.NewDecider(agent, o.Revision, profiles.Environment{Now: now}),
		loaded: map[string]loaded{},
	}
}

// ofSession makes m serve a program of a session.
func (m *modules) ofSession() {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.o.Modules)) {
		fmt.Fprintf(h, "%d:%s%s\n", len(name), name, m.o.Modules[name].Digest)
	}
	m.set = "@" + hex.EncodeToString(h.Sum(nil)[:setBytes])
}

// setBytes is how much of its digest names a set of modules.
const setBytes = 8

// named returns the name of a module that the engine calls file.
func (m *modules) named(file string) string {
	if at := len(file) - len(m.set); m.set != "" && at > 0 && file[at] == '@' {
		return file[:at]
	}
	return file
}

// Resolve decides an import. Specifiers are bare names, so base does not matter.
func (m *modules) Resolve(_, specifier string) (string, error) {
	return specifier + m.set, m.decide(specifier)
}

// decide returns nil if the module may be imported.
func (m *modules) decide(specifier string) error {
	dec := m.decider.Import(profiles.ExecutorJS, specifier)
	if dec.Verdict == profiles.Allow {
		if _, ok := m.o.Modules[specifier]; ok {
			return nil
		}
		dec = profiles.Decision{Code: profiles.CodeImportNotAllowed, Rule: dec.Rule, Revision: dec.Revision,
			Reason: fmt.Sprintf("import of %q is allowed, and the policy ships no such module", specifier)}
	}
	dec.Instead, dec.Evidence = m.allowed(), &profiles.Evidence{Argv: []string{short(specifier, maxNameBytes)}}
	m.refused.Add(dec, maxDenials-m.reported)
	return &engine.GuestError{Name: profiles.ErrorImportDenied, Message: denied(specifier, dec)}
}

// Load returns the source of a module that Resolve allowed.
func (m *modules) Load(file string) (string, error) {
	l, err := m.load(strings.TrimSuffix(file, m.set))
	return l.javaScript, err
}

// static decides an import that is in the text, and reads the module.
func (m *modules) static(specifier string, attributes bool) error {
	err := m.decide(specifier)
	if err == nil {
		_, err = m.load(specifier)
	}
	if err == nil && attributes {
		err = m.refuse(
			m.o.Modules[specifier],
			fmt.Sprintf("import of %q with attributes: modules are JavaScript and take none", specifier),
		)
	}
	return err
}

// load checks a module against its digest and translates it, once.
func (m *modules) load(name string) (loaded, error) {
	if l, ok := m.loaded[name]; ok {
		return l, nil
	}
	mod, ok := m.o.Modules[name]
	if !ok {
		return loaded{}, &engine.GuestError{
			Name: profiles.ErrorImportDenied, Message: fmt.Sprintf("there is no module %q", name),
		}
	}
	if mod.Digest != pinned(mod.Source) {
		return loaded{}, m.refuse(mod, fmt.Sprintf("module %q is not the one that the policy pins by digest", name))
	}
	l, err := javaScript(name, mod.Source)
	if err != nil {
		return loaded{}, m.refuse(mod, err.Error())
	}
	m.loaded[name] = l
	return l, nil
}

// mapsOf returns the map back to the source of a module, or nil if the engine has the source itself. known is
// false for a module that was loaded before a pause and that the policy has changed since.
func (m *modules) mapsOf(file string) (maps *sourcemap.Consumer, known bool) {
	name := m.named(file)
	b, ok := m.before[file]
	if !ok {
		return m.loaded[name].maps, true
	}
	if !b.Typed {
		return nil, true
	}
	mod, ok := m.o.Modules[name]
	if !ok || mod.Digest != b.Digest || mod.Digest != pinned(mod.Source) {
		return nil, false
	}
	l, err := m.load(name)
	return l.maps, err == nil
}

// served returns the modules that the engine may have by now.
func (m *modules) served() map[string]served {
	out := maps.Clone(m.before)
	if out == nil {
		out = map[string]served{}
	}
	for name, l := range m.loaded {
		if file := name + m.set; out[file].Digest == "" {
			out[file] = served{Digest: pinned(l.source), Typed: l.typed}
		}
	}
	return out
}

// pinned is the digest of a source in the form of a policy.
func pinned(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// denied reports whether this part of the run was denied a module.
func (m *modules) denied() bool { return len(m.refused.List) > 0 || m.refused.More > 0 }

// refuse records a module that the policy allows but that cannot be used.
func (m *modules) refuse(mod profiles.Module, reason string) error {
	m.refused.Add(
		profiles.Decision{Code: profiles.CodeImportDenied, Reason: reason, Rule: &mod.Rule, Revision: m.o.Revision},
		maxDenials-m.reported,
	)
	return &engine.GuestError{Name: profiles.ErrorImportDenied, Message: reason}
}

// allowed returns the names a program may import, at most a few.
func (m *modules) allowed() []string {
	var out []string
	for _, r := range m.o.Imports.Allow {
		if _, ok := m.o.Modules[r.Name]; ok {
			out = append(out, r.Name)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 8)]
}

// denied is the text of a denied import: the module, the rule, the allowed names.
func denied(specifier string, d profiles.Decision) string {
	if len(specifier) > 100 {
		specifier = strings.ToValidUTF8(specifier[:100], "") + "…"
	}
	text := fmt.Sprintf("import of %q is denied by policy", specifier)
	if d.Rule != nil && d.Rule.File != "" {
		text += fmt.Sprintf(" (%s:%d, %s)", d.Rule.File, d.Rule.Line, d.Rule.Path)
	}
	if len(d.Instead) == 0 {
		return text + "; no modules are allowed here"
	}
	return text + "; allowed: " + strings.Join(d.Instead, ", ")
}

// javaScript returns source as it is if it is JavaScript, and translates it if it is TypeScript: a policy's
// module may be either.
func javaScript(name, source string) (loaded, error) {
	js := api.Transform(
		source, api.TransformOptions{Loader: api.LoaderJS, Sourcefile: name, LogLevel: api.LogLevelSilent},
	)
	if len(js.Errors) == 0 {
		return loaded{source: source, javaScript: source}, nil
	}
	ts := api.Transform(source, api.TransformOptions{Loader: api.LoaderTS, Sourcefile: name,
		LogLevel: api.LogLevelSilent,
		Target:   target, TsconfigRaw: tsconfig, Sourcemap: api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude})
	if len(ts.Errors) > 0 {
		return loaded{}, fmt.Errorf("module %q is neither JavaScript nor TypeScript: %s", name, js.Errors[0].Text)
	}
	back, err := consumer(ts.Map)
	if err != nil {
		return loaded{}, fmt.Errorf("module %q: read the source map: %w", name, err)
	}
	return loaded{source: source, typed: true, javaScript: string(ts.Code), maps: back}, nil
}

// endDenied is the end of a program that was not started because of an import.
func (m *modules) endDenied(text string, at []executors.Frame) *executors.End {
	return &executors.End{State: executors.StateDenied, Denials: m.refused.List, Refused: m.refused.More,
		Error: &executors.ProgramError{Name: profiles.ErrorImportDenied, Message: text, Frames: at}}
}
