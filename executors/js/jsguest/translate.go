package jsguest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

// Translation. The engine runs a script whose last expression is the result, and a script has no static
// imports. So:
//
//   - JavaScript without import and export goes to the engine as it is.
//   - TypeScript without them is translated statement by statement.
//   - With them, esbuild bundles the program and the modules it imports into one
//     script. Modules come from the policy's map alone; no file is read.
//
// A module exists once. If there is an import by a name that is only known at run time, the engine must have
// the modules, and the program is linked to them instead of bundled: see link. Exports of the program are
// dropped, except that a default export is its result.
const (
	target   = api.ES2022
	tsconfig = `{"compilerOptions":{"target":"ES2022","useDefineForClassFields":true}}`

	// Modules and TypeScript are strict. The void prevents that the directive is the result of a program
	// without an expression.
	strict      = "\"use strict\";void 0;\n"
	strictLines = 1

	namespace = "policy"
)

// text is a program in the form for the engine.
type text struct {
	file       string // in the engine
	author     string // name that the author knows
	source     string
	translated bool                // source is not the author's text
	maps       *sourcemap.Consumer // if nil, nothing is mapped
	mapping    []byte              // source of maps
}

// digest identifies a text together with the positions of its author.
func (t *text) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(t.source), t.source)
	h.Write(t.mapping)
	return hex.EncodeToString(h.Sum(nil))
}

// staticWord finds a possible static import or export. A match in a comment or a string only costs a
// translation.
var staticWord = regexp.MustCompile(`\bimport\s*[^\s(.]|\bexport\b`)

// translate returns the engine's text of a program, or the end of one that cannot start because of a syntax
// error or a denied import.
func translate(o jsproto.Options, m *modules, source string) (*text, *executors.End) {
	static := staticWord.MatchString(source)
	if (static || o.Language == jsproto.TypeScript) && nesting(source) > maxNesting {
		return nil, failed("SyntaxError", fmt.Sprintf("the program nests deeper than %d", maxNesting))
	}
	switch {
	case o.Keep && (static || o.Language == jsproto.TypeScript):
		return further(o, m, source)
	case static:
		return join(o, m, source)
	case o.Language == jsproto.TypeScript:
		return transform(o, source)
	default:
		return &text{file: o.File, author: o.File, source: source}, nil
	}
}

// maxNesting limits the recursion of the translator: a Go stack that overflows ends the process.
const maxNesting = 5000

// nesting estimates the depth of a text without parsing it: by open brackets, and by constructs that nest
// without brackets, such as a chain of arrows, conditions, type arguments or signs. Text in strings counts too.
func nesting(source string) int {
	deepest, open, chain := 0, 0, 0
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '(', '[', '{':
			open, chain = open+1, 0
		case ')', ']', '}':
			open, chain = max(open-1, 0), 0
		case ';', ',':
			chain = 0
		case '?', '<', '!', '~', '>':
			chain++
		case '-', '+':
			if strings.IndexByte("-+ \t\n", source[max(i-1, 0)]) >= 0 {
				chain++
			}
		}
		deepest = max(deepest, open+chain)
	}
	return deepest
}

// transform translates TypeScript without static imports.
func transform(o jsproto.Options, source string) (*text, *executors.End) {
	res := api.Transform(source, api.TransformOptions{
		Loader: api.LoaderTS, Sourcefile: o.File, Target: target, TsconfigRaw: tsconfig,
		TreeShaking: api.TreeShakingFalse, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		LogLevel: api.LogLevelSilent,
	})
	if len(res.Errors) > 0 {
		return nil, syntaxError(o, res.Errors)
	}
	return mapped(o, string(res.Code), res.Map)
}

// join bundles a program and its static imports into one script.
func join(o jsproto.Options, m *modules, source string) (*text, *executors.End) {
	loader := api.LoaderJS
	if o.Language == jsproto.TypeScript {
		loader = api.LoaderTS
	}
	j := &joiner{m: m, typed: o.Language == jsproto.TypeScript}
	res := j.build(o, loader, source)
	plain := o.Language == jsproto.JavaScript && j.static == 0
	if j.refusal != "" {
		return nil, m.endDenied(j.refusal, place(o, res.Errors))
	}
	if len(res.Errors) > 0 {
		if plain && !staticLine.MatchString(source) {
			// The word was in a string: let the engine decide about the script.
			return &text{file: o.File, author: o.File, source: source}, nil
		}
		return nil, syntaxError(o, res.Errors)
	}
	exports, err := exported(res.Metafile)
	if err != nil {
		return nil, failed("TranslateError", err.Error())
	}
	if plain && len(exports) == 0 {
		return &text{file: o.File, author: o.File, source: source}, nil
	}
	code, maps := outputs(res)
	if dynamicWord.Match(code) && j.static > 0 {
		return link(o, m, loader, source)
	}
	return mapped(o, dropExports(string(code), exports), maps)
}

// dynamicWord finds a possible import by a name that the translation does not know. A match in a text only
// costs a second translation.
var dynamicWord = regexp.MustCompile(`\bimport\s*\(`)

// link makes a script of a program that join has accepted, with modules that the engine loads. The script
// begins with them, in the order of the imports, and the imported names follow the variables of the modules.
func link(o jsproto.Options, m *modules, loader api.Loader, source string) (*text, *executors.End) {
	j := &joiner{m: m, typed: o.Language == jsproto.TypeScript, link: true}
	res := j.build(o, loader, source)
	if len(res.Errors) > 0 {
		return nil, syntaxError(o, res.Errors)
	}
	exports, err := exported(res.Metafile)
	if err != nil {
		return nil, failed("TranslateError", err.Error())
	}
	code, maps := outputs(res)
	t, end := mapped(o, dropExports(string(code), exports), maps)
	if end != nil {
		return nil, end
	}
	var first strings.Builder
	for i, name := range j.linked {
		quoted, err := json.Marshal(name) // no line break is left in it
		if err != nil {
			return nil, failed("TranslateError", err.Error())
		}
		fmt.Fprintf(&first, "const %s = await import(%s);", linkedName(i), quoted)
	}
	t.source = strings.TrimSuffix(strict, "\n") + first.String() + "\n" + strings.TrimPrefix(t.source, strict)
	return t, nil
}

// linkedName is the name of a linked module in a script. If a program uses the name itself, the translation
// renames it, since it treats the name as one of the host's.
func linkedName(i int) string { return fmt.Sprintf("ringdModule%d", i) }

// stub is a linked module for the translation: an object with the exports of the module, as they are at each
// use.
func stub(i int) string {
	return fmt.Sprintf(`Object.defineProperty(exports, "__esModule", { value: true });
for (const k of Object.keys(%[1]s)) Object.defineProperty(exports, k, { enumerable: true, get: () => %[1]s[k] });
`, linkedName(i))
}

func (j *joiner) build(o jsproto.Options, loader api.Loader, source string) api.BuildResult {
	return api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: source, Sourcefile: o.File, Loader: loader},
		Bundle: true, Write: false, Outfile: "/program.js", AbsWorkingDir: "/", Metafile: true,
		Format: api.FormatESModule, Platform: api.PlatformNeutral, Target: target, TreeShaking: api.TreeShakingFalse,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, TsconfigRaw: tsconfig,
		LogLevel: api.LogLevelSilent, Plugins: []api.Plugin{{Name: namespace, Setup: j.setup}},
	})
}

func outputs(res api.BuildResult) (code, maps []byte) {
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			maps = f.Contents
		} else {
			code = f.Contents
		}
	}
	return code, maps
}

// staticLine finds a probable static import or export in a text that does not parse.
var staticLine = regexp.MustCompile(`(?m)^\s*(import\s*[^\s(.]|export\b)`)

// joiner resolves and loads for esbuild, which calls it from several goroutines.
type joiner struct {
	mu      sync.Mutex
	m       *modules
	typed   bool   // the program is TypeScript
	static  int    // static imports seen
	refusal string // text of the first denied import
	link    bool   // modules are left to the engine
	linked  []string
}

func (j *joiner) setup(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: ".*"}, j.resolve)
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, j.load)
	// A path in any other namespace would be read from a file.
	b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return api.OnLoadResult{}, fmt.Errorf("%q is no module of the policy", a.Path)
	})
}

// resolve allows the imports that the policy allows. A denied static import ends the translation. A denied
// dynamic one stays as it is: the engine denies it when the program reaches it.
func (j *joiner) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// An "import x = require()" of TypeScript is static too.
	static := a.Kind == api.ResolveJSImportStatement || j.typed && a.Kind == api.ResolveJSRequireCall
	if j.link && !static {
		return api.OnResolveResult{Path: a.Path, External: true}, nil
	}
	if static {
		j.static++
	} else if j.m.decider.Import(profiles.ExecutorJS, a.Path).Verdict != profiles.Allow {
		return api.OnResolveResult{Path: a.Path, External: true}, nil
	}
	err := j.m.static(a.Path, len(a.With) > 0)
	if err == nil {
		if j.link && !slices.Contains(j.linked, a.Path) {
			j.linked = append(j.linked, a.Path)
		}
		return api.OnResolveResult{Path: a.Path, Namespace: namespace}, nil
	}
	if !static {
		return api.OnResolveResult{Path: a.Path, External: true}, nil
	}
	var refused *engine.GuestError
	if j.refusal == "" && errors.As(err, &refused) {
		j.refusal = refused.Message
	}
	return api.OnResolveResult{Errors: []api.Message{{Text: err.Error()}}}, nil
}

// load returns the text of a module that resolve allowed.
func (j *joiner) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.Index(j.linked, a.Path); i >= 0 {
		text := stub(i)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	}
	l, err := j.m.load(a.Path)
	out := api.OnLoadResult{Contents: &l.source, Loader: api.LoaderJS}
	if l.typed {
		out.Loader = api.LoaderTS
	}
	return out, err
}

// exported reads the names that the program exports.
func exported(metafile string) ([]string, error) {
	var meta struct {
		Outputs map[string]struct {
			Exports []string `json:"exports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, fmt.Errorf("read what the program exports: %w", err)
	}
	for name, out := range meta.Outputs {
		if strings.HasSuffix(name, ".js") {
			return out.Exports, nil
		}
	}
	return nil, errors.New("read what the program exports: no output")
}

var defaultName = regexp.MustCompile(`([\p{L}\p{N}_$]+) as default\b`)

// dropExports removes the export clause, which esbuild puts last, and makes the default export the result.
func dropExports(code string, exports []string) string {
	if len(exports) == 0 {
		return code
	}
	at := strings.LastIndex(code, "\nexport {")
	if at < 0 {
		return code
	}
	clause := code[at:]
	code = code[:at+1]
	if m := defaultName.FindStringSubmatch(clause); m != nil {
		code += m[1] + ";\n"
	}
	return code
}

func mapped(o jsproto.Options, code string, maps []byte) (*text, *executors.End) {
	c, err := consumer(maps)
	if err != nil {
		return nil, failed("TranslateError", "read the source map: "+err.Error())
	}
	if strings.HasPrefix(code, "#!") { // allowed in the first line only
		code = "//" + code[2:]
	}
	return &text{file: o.File, author: o.File, source: strict + code, translated: true, maps: c, mapping: maps}, nil
}

// consumer parses a source map. It is nil for a text in which nothing is mapped, such as one of types and
// directives only.
func consumer(maps []byte) (*sourcemap.Consumer, error) {
	var m struct{ Mappings string }
	if err := json.Unmarshal(maps, &m); err != nil {
		return nil, err
	}
	if m.Mappings == "" {
		return nil, nil
	}
	return sourcemap.Parse("", maps)
}

// frame returns the author's position of a frame of the engine. It returns false if the author wrote nothing
// there.
func (t *text) frame(f engine.Frame, m *modules) (executors.Frame, bool) {
	out := executors.Frame{Function: f.Function, File: f.File, Line: f.Line, Column: f.Column}
	maps, before := t.maps, strictLines
	switch {
	case f.File != t.file:
		known := false
		out.File = m.named(f.File)
		if maps, known = m.mapsOf(f.File); maps == nil {
			return out, known
		}
		before = 0
	case !t.translated:
		out.File = t.author
		return out, true
	}
	if maps == nil || f.Line <= before || f.Column < 1 {
		return out, false
	}
	source, _, line, column, ok := maps.Source(f.Line-before, f.Column-1)
	if ok && f.File == t.file {
		out.File = strings.TrimPrefix(source, namespace+":")
	}
	out.Line, out.Column = line, column+1
	return out, ok
}

func syntaxError(o jsproto.Options, errs []api.Message) *executors.End {
	at := place(o, errs)
	message := errs[0].Text
	if len(at) > 0 {
		message = fmt.Sprintf("%s:%d:%d: %s", at[0].File, at[0].Line, at[0].Column, message)
	}
	end := failed("SyntaxError", message)
	end.Error.Frames = at
	return end
}

// place returns the position of the first error.
func place(o jsproto.Options, errs []api.Message) []executors.Frame {
	if len(errs) == 0 || errs[0].Location == nil {
		return nil
	}
	l := errs[0].Location
	file := strings.TrimPrefix(l.File, namespace+":")
	if file == "" || file == "<stdin>" {
		file = o.File
	}
	return []executors.Frame{{File: file, Line: l.Line, Column: l.Column + 1}}
}

func failed(name, message string) *executors.End {
	return &executors.End{State: executors.StateFailed, Error: &executors.ProgramError{Name: name, Message: message}}
}
