// This file owns the table of shells, general interpreters, and programs
// that read a language of their own. [Of] asks it.

package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// interpreterReader is the engine's, with what this package reads by itself.
type interpreterReader struct{ *Reader }

// ownInterpreter makes a reader of this package one of the engine.
func ownInterpreter(f func(*interpreterReader)) func(*Reader) {
	return func(r *Reader) { f(&interpreterReader{r}) }
}

// readPython reads python: -c and a text, -m and a module, a file, or standard
// input.
func readPython(r *interpreterReader) {
	interactive := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "t":
			r.inlineText("python", it.Value)
			if strings.HasPrefix(r.Name, "ipython") && magic(it.Value.Text) {
				r.Refuse("ipython runs such a line by a shell", it.Value.Text)
			}
			if interactive {
				r.Out.Stdin = "python"
			}
			return
		case it.Effect == "m":
			r.module(it.Value)
			return
		case it.Name != "":
			interactive = interactive || it.Name == "-i"
			r.Apply(it)
		case r.Lost:
			r.fedProgram(it.Word)
			return
		case it.Word.Text == "-" || stdinFile(it.Word.Text):
			r.Out.Stdin = "python"
			return
		default:
			r.fedProgram(it.Word)
			if interactive {
				r.Out.Stdin = "python"
			}
			return
		}
	}
	if !r.Idle && !r.Lost {
		r.Out.Stdin = "python"
	}
}

// fedProgram notes a program file that comes from another's input.
func (r *interpreterReader) fedProgram(w argv.Word) {
	if w.Open && w.Fed && w.Text == "" {
		r.Refuse("which program it runs comes from the input of another", w.Text)
	}
}

// module reads python -m.
func (r *interpreterReader) module(w argv.Word) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	rest := r.Args[min(r.I, len(r.Args)):]
	switch w.Text {
	case "pty", "pdb", "code", "idlelib", "webbrowser", "antigravity", "turtledemo", "bdb", "pydoc":
		r.Refuse("this module starts programs or reads commands", w.Text)
	case "timeit":
		r.texts("python", rest, "-n", "-r", "-u", "--number", "--repeat", "--unit")
	case "pip", "pip3", "ensurepip", "pipx", "uv", "poetry", "invoke", "fabric":
		if t, ok := r.Lookup(w.Text); ok {
			r.Name, r.Args, r.I, r.Ended = w.Text, rest, 0, false
			r.As(t)
			r.Out.Interpreter = true
		}
	case "cProfile", "profile", "trace", "coverage", "runpy", "doctest", "zipapp", "unittest", "pytest":
	}
}

// texts reads words as texts of a language, options with values taken out.
func (r *interpreterReader) texts(language string, ws []argv.Word, valued ...string) {
	for i := 0; i < len(ws); i++ {
		skip := false
		for _, v := range valued {
			skip = skip || ws[i].Text == v
		}
		switch {
		case skip:
			i++
		case strings.HasPrefix(ws[i].Text, "-") && len(ws[i].Text) < 3:
		default:
			r.inlineText(language, ws[i])
		}
	}
}

// readPerl reads perl, where an operand may be a pipe for <> as well.
func readPerl(r *interpreterReader) {
	var parts []argv.Word
	loops := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "t":
			parts = append(parts, it.Value)
		case it.Effect == "m":
			r.perlModule(it.Value)
		case it.Effect == "d":
			r.Refuse("the debugger reads commands, or loads a module", it.Word.Text)
		case it.Name == "-i" || it.Name == "-0" || it.Name == "-l" || it.Name == "-x" || it.Name == "-C" || it.Name == "-D":
			r.perlCluster(it)
		case it.Name != "":
			loops = loops || it.Name == "-n" || it.Name == "-p"
			r.Apply(it)
		default:
			if r.Lost {
				return
			}
			r.perlOperands(it, parts, loops)
			return
		}
	}
	switch {
	case r.Idle:
	case len(parts) > 0:
		r.inlineText("perl", pieces(parts))
	case !r.Lost:
		r.Out.Stdin = "perl"
	}
}

// perlCluster puts back what follows an option that takes digits only: -0777ne.
func (r *interpreterReader) perlCluster(it item) {
	if !it.Has || it.Name == "-i" || it.Name == "-x" {
		return
	}
	rest := strings.TrimLeft(it.Value.Text, "0123456789xXabcdefABCDEF")
	if it.Name == "-l" || it.Name == "-0" || it.Name == "-C" {
		rest = strings.TrimLeft(it.Value.Text, "01234567")
		if it.Name == "-0" && strings.HasPrefix(it.Value.Text, "x") {
			rest = strings.TrimLeft(it.Value.Text[1:], "0123456789abcdefABCDEF")
		}
		if it.Name == "-C" {
			rest = strings.TrimLeft(it.Value.Text, "0123456789IOEioAaDLS")
		}
	}
	r.Cluster, r.OpenCluster = rest, it.Value.Open
}

func (r *interpreterReader) perlModule(w argv.Word) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	name := strings.TrimPrefix(w.Text, "-")
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(":_=,-.+/ '", c) {
			continue
		}
		r.Refuse("a module's words are a program of perl", w.Text)
		return
	}
	if strings.HasPrefix(name, "IPC") || strings.HasPrefix(name, "POSIX") && strings.Contains(name, "exec") || strings.HasPrefix(name, "Inline") || strings.HasPrefix(name, "CPAN") || strings.HasPrefix(name, "Expect") || strings.HasPrefix(name, "Shell") || strings.HasPrefix(name, "Proc") {
		r.Refuse("this module starts programs", w.Text)
	}
}

// perlOperands reads the program file, or the files of -n, -p and <>.
func (r *interpreterReader) perlOperands(it item, parts []argv.Word, loops bool) {
	if len(parts) == 0 {
		r.fedProgram(it.Word)
		if it.Word.Text == "-" || stdinFile(it.Word.Text) {
			r.Out.Stdin = "perl"
		}
		return
	}
	text := pieces(parts)
	r.inlineText("perl", text)
	if !loops && !strings.Contains(text.Text, "<>") && !strings.Contains(text.Text, "<ARGV>") && !text.Open {
		return
	}
	for _, w := range r.Args[it.At:] {
		t := strings.TrimSpace(w.Text)
		switch {
		case w.Open && !w.Fed:
			r.Out.Maybe = true
		case strings.HasPrefix(t, "|") || strings.HasSuffix(t, "|") && !w.Open:
			r.Refuse("perl runs a file's name that is a pipe", w.Text)
		}
	}
}

// readScripted reads interpreters that take a text in an option, a file as the
// first operand, and standard input otherwise.
func readScripted(language string) func(*interpreterReader) {
	return func(r *interpreterReader) {
		some := false
		for {
			it, ok := r.Next()
			if !ok {
				break
			}
			switch {
			case it.Effect == "t":
				some = true
				r.inlineText(language, it.Value)
			case it.Effect == "p": // node -p text, node -pe text
				if it.Has && (it.Value.Text != "e" || it.Value.Open) {
					some = true
					r.inlineText(language, it.Value)
				} else if r.I < len(r.Args) && r.Cluster == "" {
					some = true
					r.inlineText(language, r.Args[r.I])
					r.I++
				}
			case it.Effect == "r":
				r.required(it.Value)
			case it.Effect == "R":
				some = true
			case it.Effect == "F":
				some = true
				r.FromFile(it.Value, language)
			case it.Name != "":
				r.Apply(it)
			default:
				if !some {
					r.programFile(it.Word, language)
				}
				return
			}
		}
		if !some && !r.Idle && !r.Lost {
			r.Out.Stdin = language
		}
	}
}

func (r *interpreterReader) programFile(w argv.Word, language string) {
	r.fedProgram(w)
	switch {
	case w.Text == "-" || stdinFile(w.Text):
		r.Out.Stdin = language
	case language == "other" || language == "node":
	}
}

// required reads a module that is loaded first: data: addresses are text.
func (r *interpreterReader) required(w argv.Word) {
	if strings.HasPrefix(w.Text, "data:") || strings.HasPrefix(w.Text, "http:") || strings.HasPrefix(w.Text, "https:") || strings.Contains(w.Text, "child_process") {
		r.Refuse("it loads a program that nobody has read", w.Text)
	}
}

// readJava reads java: options of the machine that start programs or load code.
func readJava(r *interpreterReader) {
	for _, w := range r.Args {
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many || strings.HasPrefix(t, "-X") || t == "-"):
			r.Out.Maybe = true
		case strings.HasPrefix(t, "-XX:OnError"), strings.HasPrefix(t, "-XX:OnOutOfMemoryError"), strings.HasPrefix(t, "-XX:Flags"), strings.HasPrefix(t, "-XX:VMOptionsFile"),
			strings.HasPrefix(t, "-agentpath"), strings.HasPrefix(t, "-agentlib"), strings.HasPrefix(t, "-javaagent"), strings.HasPrefix(t, "@"), strings.HasPrefix(t, "-Xrun"), strings.HasPrefix(t, "-XX:+ExtensiveErrorReports"), strings.HasPrefix(t, "-Xbootclasspath"):
			r.Refuse("this option starts a program, or loads what does", t)
		case !strings.HasPrefix(t, "-") && !w.Open:
			return
		}
	}
}

// readBun reads bun: a text, a package to run, else a script.
func readBun(r *interpreterReader) {
	text, ok := r.First()
	switch {
	case !ok:
		r.Out.Maybe = len(r.Args) > 0
		if len(r.Args) == 0 {
			r.Out.Stdin = "node"
		}
	case text == "x":
		r.I++
		if t, ok := r.Lookup("bunx"); ok {
			r.As(t)
		}
	case text == "exec":
		if len(r.Args) > 1 {
			r.Text("bun exec", r.Args[1])
		}
	case text == "repl" || text == "create" || text == "upgrade":
		r.Refuse("it runs what it fetches, or reads commands", text)
	case text == "run" && len(r.Args) > 1 && r.Args[1].Text == "-":
		r.Out.Stdin = "node"
	default:
		r.Row.Opts = "-e,--eval=t -p,--print=t -r,--preload=r --import=r --cwd= --shell= -c,--config=! --port= --env-file= -h,--help,-v,--version~ --hot --watch --smol -b,--bun -i --silent --filter="
		r.Row.Flags |= exact
		readScripted("node")(r)
	}
}

// readDeno reads deno: eval has a text, run a file or an address.
func readDeno(r *interpreterReader) {
	text, ok := r.First()
	if !ok {
		r.Out.Maybe = len(r.Args) > 0
		if len(r.Args) == 0 {
			r.Out.Stdin = "node"
		}
		return
	}
	switch text {
	case "eval":
		for _, w := range r.Args[1:] {
			if w.Open || !strings.HasPrefix(w.Text, "-") {
				r.inlineText("node", w)
				return
			}
		}
	case "repl", "jupyter", "upgrade", "install", "compile":
		if text == "repl" {
			r.Out.Stdin = "node"
		}
	case "run", "serve", "test", "bench", "task", "x":
		for _, w := range r.Args[1:] {
			switch {
			case w.Open && !strings.Contains(w.Text, "/"):
				r.Out.Maybe = r.Out.Maybe || !w.Fed || w.Text == ""
			case w.Text == "-":
				r.Out.Stdin = "node"
			case strings.HasPrefix(w.Text, "http:"), strings.HasPrefix(w.Text, "https:"), strings.HasPrefix(w.Text, "npm:"), strings.HasPrefix(w.Text, "jsr:"), strings.HasPrefix(w.Text, "data:"):
				r.Refuse("it runs a program that nobody has read", w.Text)
			}
		}
	}
}

// magic reports a line that ipython gives to a shell, or to a command of its own.
func magic(text string) bool {
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '=' }) {
		if t := strings.TrimLeft(line, " \t"); strings.HasPrefix(t, "!") || strings.HasPrefix(t, "%") {
			return true
		}
	}
	return false
}
