package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// maxModuleBytes is the largest JavaScript module.
const maxModuleBytes = 4 << 20

// modulesFolder is the folder of a policy's modules.
const modulesFolder = "modules/"

// moduleUse is a module that an agent may import.
type moduleUse struct {
	module profiles.Module
	origin schema.Origin
}

// useModule finds the module that an allow entry names and adds it to the set. It returns false if the entry
// grants nothing. In the compact form, an entry may also be a name of Python, because Python uses the same
// list.
func (d code) useModule(at, specifier string) bool {
	origin := d.origin(at)
	if strings.HasPrefix(specifier, "ringd:") || strings.HasPrefix(specifier, "./") {
		if !d.policy.Compact {
			d.report(at, CodeUnsupported,
				"grant the bridges a program needs, or name a file of modules/ by its bare specifier",
				"nothing provides the module %q", clip(specifier))
		}
		return false
	}
	module, found, ok := d.findModule(at, specifier)
	if !ok {
		return false
	}
	if !found {
		d.noModule(at, specifier)
		return false
	}
	module.Rule = ruleAt(origin)
	first, used := d.modules[specifier]
	if used && (first.module.Digest != module.Digest || first.module.File != module.File) {
		d.add(origin, schema.Diagnostic{Code: codeModuleTwice, Related: []schema.Pos{first.origin.Pos},
			Msg: fmt.Sprintf("%q is another module than at %s", clip(specifier), first.origin.Pos)})
		return false
	}
	if !used || origin.Pos.Compare(first.origin.Pos) < 0 {
		d.modules[specifier] = moduleUse{module, origin}
	}
	return true
}

func (d code) noModule(at, specifier string) {
	names := d.moduleNames()
	hint := ""
	if meant := nearest(specifier, names); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	} else if len(names) > 0 {
		hint = "modules here: " + strings.Join(names[:min(len(names), 8)], ", ")
	}
	if !d.policy.Compact {
		d.report(at, codeModuleUnknown, cmp.Or(hint, fmt.Sprintf("put it at %s%s.js", modulesFolder,
			strings.TrimPrefix(specifier, "policy:"))),
			"no module is called %q", clip(specifier))
		return
	}
	if !schema.DottedName(strings.TrimSuffix(specifier, ".*")) {
		d.warn(at, codeModuleUnknown, hint, "%q names neither a Python module nor a module of this policy",
			clip(specifier))
	}
}

// findModule returns the module of a specifier: one that the policy declares, or a file of the modules
// folder. ok is false if there was a finding.
func (d code) findModule(at, specifier string) (m profiles.Module, found, ok bool) {
	if src, declared := d.policy.Spec.Modules[specifier]; declared {
		m, ok = d.declaredModule("spec.modules."+specifier, src)
		return m, true, ok
	}
	var files []string
	for _, ending := range []string{".js", ".mjs", ".ts"} {
		name := modulesFolder + strings.TrimPrefix(specifier, "policy:") + ending
		if _, there := d.files[name]; there {
			files = append(files, name)
		}
	}
	switch len(files) {
	case 0:
		return m, false, true
	case 1:
		m, ok = d.moduleText(at, files[0], d.files[files[0]])
		return m, true, ok
	default:
		d.report(at, codeModuleTwice, "keep one of them", "%q could be %s", clip(specifier),
			strings.Join(files, " or "))
		return m, true, false
	}
}

// declaredModule compiles an entry of spec.modules.
func (d code) declaredModule(at string, src schema.ModuleSource) (profiles.Module, bool) {
	file, text := src.File, []byte(src.Source)
	switch {
	case (file == "") == (src.Source == ""):
		d.report(at, codeModuleMissing, "", "a module has either a file or a source")
		return profiles.Module{}, false
	case file != "":
		if !strings.HasPrefix(file, modulesFolder) || path.Clean(file) != file {
			d.report(at+".file", codePath, "", "%q is not a clean path below %s", clip(file), modulesFolder)
			return profiles.Module{}, false
		}
		content, there := d.files[file]
		if !there {
			hint := ""
			if meant := nearest(file, slices.Sorted(maps.Keys(d.files))); meant != "" {
				hint = fmt.Sprintf("did you mean %q?", meant)
			}
			d.report(at+".file", codeModuleMissing, hint, "there is no file %q", clip(file))
			return profiles.Module{}, false
		}
		text = content
	}
	m, ok := d.moduleText(at, file, text)
	if ok && src.Digest != "" && src.Digest != m.Digest {
		d.report(at+".digest", codeModuleDigest, "the module has "+m.Digest,
			"the module is not the one that was pinned")
		return profiles.Module{}, false
	}
	return m, ok
}

// checkModules reports declared modules that do not match the policy, even if no agent imports them. Sorting
// drops duplicates for modules that are imported.
func (d code) checkModules() {
	for specifier, src := range d.policy.Spec.Modules {
		d.declaredModule("spec.modules."+specifier, src)
	}
}

func (d code) moduleText(at, file string, text []byte) (profiles.Module, bool) {
	switch {
	case len(text) > maxModuleBytes:
		d.report(at, codeModuleText, "", "the module is above %s", schema.ShowSize(maxModuleBytes))
		return profiles.Module{}, false
	case !utf8.Valid(text) || slices.Contains(text, 0):
		d.report(at, codeModuleText, "", "the module is not UTF-8 text")
		return profiles.Module{}, false
	}
	return profiles.Module{File: file, Source: string(text), Digest: profiles.Digest(text)}, true
}

// moduleNames lists the valid names of an allow entry.
func (d code) moduleNames() []string {
	names := slices.Collect(maps.Keys(d.policy.Spec.Modules))
	for file := range d.files {
		name, ok := strings.CutPrefix(file, modulesFolder)
		ending := path.Ext(name)
		if ok && (ending == ".js" || ending == ".mjs" || ending == ".ts") {
			names = append(names, strings.TrimSuffix(name, ending))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pinModules adds the modules that some agent may import to the set.
func (c *compilation) pinModules() {
	if len(c.modules) == 0 {
		return
	}
	c.set.Modules = make(map[string]profiles.Module, len(c.modules))
	for specifier, use := range c.modules {
		c.set.Modules[specifier] = use.module
	}
}
