package jsguest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
)

// Translation for a session. If a program was bundled with its modules, the declarations inside of a module
// would become declarations of the program, for all later programs. So in a session the engine loads the
// modules, each once, and a static import becomes a constant from a dynamic one. It can be declared again, and
// a name that a module does not export is a SyntaxError. There is one difference: the import happens in its
// place, and does not follow a variable of the module that changes.
//
// esbuild prints each statement of a program from the first column on, and the source map distinguishes such a
// line from one within a text.
const keepImports = `{"compilerOptions":{"target":"ES2022","useDefineForClassFields":true,"verbatimModuleSyntax":true}}`

// further returns the text of a program of a session that is TypeScript or has imports or exports.
func further(o jsproto.Options, m *modules, source string) (*text, *executors.End) {
	plain := &text{file: o.File, author: o.File, source: source}
	loader := api.LoaderJS
	if o.Language == jsproto.TypeScript {
		loader = api.LoaderTS
	}
	res := api.Transform(source, api.TransformOptions{
		Loader: loader, Sourcefile: o.File, Target: target, TsconfigRaw: keepImports,
		TreeShaking: api.TreeShakingFalse, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		// to be rejected, not dropped
		LogLevel: api.LogLevelSilent, Supported: map[string]bool{"import-attributes": true},
	})
	if len(res.Errors) > 0 {
		if o.Language == jsproto.JavaScript && !staticLine.MatchString(source) {
			return plain, nil // the word was in a string: let the engine decide
		}
		return nil, syntaxError(o, res.Errors)
	}
	maps, err := consumer(res.Map)
	if err != nil {
		return nil, failed("TranslateError", "read the source map: "+err.Error())
	}
	f := &furtherText{o: o, m: m, maps: maps, lines: strings.Split(string(res.Code), "\n")}
	if end := f.statements(); end != nil {
		return nil, end
	}
	if !f.changed && o.Language == jsproto.JavaScript {
		return plain, nil
	}
	t, end := mapped(o, strings.Join(f.lines, "\n"), res.Map)
	if end == nil && len(f.merged) > 0 {
		const directive = `"use strict";`
		empty := "var " + strings.Join(f.merged, "=void 0,") + "=void 0;"
		t.source = directive + empty + strings.TrimPrefix(t.source, directive)
	}
	return t, end
}

// furtherText is a printed program that is being changed. No line is added before its end, and no column moves
// in a line that is mapped.
type furtherText struct {
	o       jsproto.Options
	m       *modules
	maps    *sourcemap.Consumer
	lines   []string
	changed bool
	open    bool   // the statement before needs a semicolon that esbuild left out
	result  string // an expression of the default export
	// merged are enums and namespaces, which TypeScript adds to existing ones: they begin empty in each
	// program.
	merged []string
}

// begins reports whether a part of the program begins in line i. In the lines of a template or a comment
// nothing new is mapped.
func (f *furtherText) begins(i int) bool {
	if f.maps == nil {
		return false
	}
	_, _, line, column, ok := f.maps.Source(i+1, 0)
	if !ok || i == 0 {
		return ok
	}
	_, _, before, at, ok := f.maps.Source(i, 1<<20)
	return !ok || line != before || column != at
}

func (f *furtherText) statements() *executors.End {
	for i := 0; i < len(f.lines); i++ {
		if !f.begins(i) || strings.HasPrefix(f.lines[i], "}") || strings.HasPrefix(f.lines[i], "]") ||
			strings.HasPrefix(f.lines[i], ")") {
			continue // its end has a position too
		}
		f.close(i)
		var err error
		switch line := f.lines[i]; {
		case strings.HasPrefix(line, "import "):
			err = f.imports(i)
		case strings.HasPrefix(line, "export "):
			err = f.exports(i)
		default:
			f.merge(i)
			continue
		}
		f.changed = true
		var refused *engine.GuestError
		if errors.As(err, &refused) {
			return f.m.endDenied(refused.Message, f.place(i))
		}
		if err != nil {
			return failed("TranslateError", err.Error())
		}
	}
	f.close(len(f.lines) - 1) // esbuild ends with a line break
	if f.result != "" {
		f.lines[len(f.lines)-1] = f.result + ";\n"
	}
	return nil
}

// merge records the enum or namespace that begins in line i.
func (f *furtherText) merge(i int) {
	p := mergedForm.FindStringSubmatch(strings.TrimLeft(f.lines[i], " "))
	if p == nil || f.o.Language != jsproto.TypeScript {
		return
	}
	if p[2] != ";" || i+1 < len(f.lines) && strings.HasPrefix(f.lines[i+1], "((") {
		f.merged = append(f.merged, p[1])
	}
}

// close ends the default export before line i.
func (f *furtherText) close(i int) {
	if f.open {
		f.open = false
		f.lines[i-1] += ";"
	}
}

func (f *furtherText) place(i int) []executors.Frame {
	_, _, line, column, ok := f.maps.Source(i+1, 0)
	if !ok {
		return nil
	}
	return []executors.Frame{{File: f.o.File, Line: line, Column: column + 1}}
}

// take returns the statement that begins in line i, on one line, and leaves empty lines.
func (f *furtherText) take(i int) string {
	var parts []string
	for ; i < len(f.lines); i++ {
		line := f.lines[i]
		f.lines[i] = ""
		parts = append(parts, strings.TrimSpace(line))
		if strings.HasSuffix(line, ";") {
			break
		}
	}
	return strings.Join(parts, " ")
}

const quotedText = `(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`

var (
	importForm = regexp.MustCompile(
		`^import (?:(?:([^\s{*,"]+)(?:, )?)?(?:\* as ([^\s,]+)|\{(.*)\})? ?from )?(` + quotedText + `)( with .*)?;$`,
	)
	importedName = regexp.MustCompile(`(` + quotedText + `|[^\s,]+)(?: as ([^\s,]+))?`)
	exportFrom   = regexp.MustCompile(`^export .* from (` + quotedText + `)( with .*)?;$`)
	mergedForm   = regexp.MustCompile(`^(?:var|let) ([^\s;]+)(;$| = (?:/\* @__PURE__ \*/ )?\(\(\S+\) => \{)`)
	defaultNamed = regexp.MustCompile(`^export default (?:async function|function|class)\*? ([^\s({]+)`)
)

// imports changes the import that begins in line i.
func (f *furtherText) imports(i int) error {
	statement := f.take(i)
	p := importForm.FindStringSubmatch(statement)
	if p == nil {
		return fmt.Errorf("an import that is not understood: %.200s", statement)
	}
	module, err := f.module(p[4], p[5] != "")
	if err != nil {
		return err
	}
	var names, wanted []string
	if p[1] != "" {
		names, wanted = append(names, "default: "+p[1]), append(wanted, `"default"`)
	}
	for _, item := range importedName.FindAllStringSubmatch(p[3], -1) {
		from, to := item[1], item[2]
		if to == "" {
			to = from
		}
		names = append(names, from+": "+to)
		if from[0] != '"' && from[0] != '\'' {
			from = `"` + from + `"`
		}
		wanted = append(wanted, from)
	}
	switch {
	case p[2] != "" && p[1] != "":
		f.lines[i] = fmt.Sprintf("const %s = %s, { default: %s } = %s;", p[2], checked(module, wanted), p[1], p[2])
	case p[2] != "":
		f.lines[i] = fmt.Sprintf("const %s = await import(%s);", p[2], module)
	case len(names) > 0:
		f.lines[i] = fmt.Sprintf("const { %s } = %s;", strings.Join(names, ", "), checked(module, wanted))
	default:
		f.lines[i] = fmt.Sprintf("await import(%s);", module)
	}
	return nil
}

// checked is an expression of the module that throws if a name is missing, as a static import does.
func checked(module string, names []string) string {
	return fmt.Sprintf(`((m) => { for (const k of [%s]) if (!(k in m)) `+
		`throw new SyntaxError("module has no export '" + k + "': " + %s); return m; })(await import(%s))`,
		strings.Join(names, ", "), module, module)
}

// module decides a static import as for other programs: before anything runs.
func (f *furtherText) module(quoted string, attributes bool) (string, error) {
	specifier := quoted // with escapes of JavaScript; no module has such a name
	if s := strings.ReplaceAll(quoted[1:len(quoted)-1], `"`, `\"`); quoted[0] == '"' {
		_ = json.Unmarshal([]byte(quoted), &specifier)
	} else if !strings.Contains(s, `\'`) {
		_ = json.Unmarshal([]byte(`"`+s+`"`), &specifier)
	}
	return quoted, f.m.static(specifier, attributes)
}

// exports changes the export that begins in line i: a program is not imported.
func (f *furtherText) exports(i int) error {
	const word, byDefault = "export ", "export default "
	line := f.lines[i]
	switch {
	case strings.HasPrefix(line, "export {"), strings.HasPrefix(line, "export *"):
		p := exportFrom.FindStringSubmatch(f.take(i))
		if p == nil {
			return nil
		}
		module, err := f.module(p[1], p[2] != "")
		f.lines[i] = fmt.Sprintf("await import(%s);", module)
		return err
	case !strings.HasPrefix(line, byDefault):
		f.lines[i] = strings.Repeat(" ", len(word)) + line[len(word):]
		f.merge(i)
		return nil
	}
	if p := defaultNamed.FindStringSubmatch(line); p != nil && p[1] != "extends" {
		f.result = p[1]
		f.lines[i] = strings.Repeat(" ", len(byDefault)) + line[len(byDefault):]
		return nil
	}
	f.result, f.open = "_default", true
	f.lines[i] = "const _default=" + line[len(byDefault):] // as long as the text that it replaces
	return nil
}
