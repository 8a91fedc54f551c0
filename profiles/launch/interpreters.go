package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// readPython reads python: -c and a text, -m and a module, a file, or standard
// input.
func readPython(r *reader) {
	interactive := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "t":
			r.inlineText("python", it.value)
			if interactive {
				r.out.Stdin = "python"
			}
			return
		case it.effect == "m":
			r.module(it.value)
			return
		case it.name != "":
			interactive = interactive || it.name == "-i"
			r.apply(it)
		case r.lost:
			r.fedProgram(it.word)
			return
		case it.word.Text == "-" || stdinFile(it.word.Text):
			r.out.Stdin = "python"
			return
		default:
			r.fedProgram(it.word)
			if interactive {
				r.out.Stdin = "python"
			}
			return
		}
	}
	if !r.idle && !r.lost {
		r.out.Stdin = "python"
	}
}

// fedProgram notes a program file that comes from another's input.
func (r *reader) fedProgram(w words.Word) {
	if w.Open && w.Fed && w.Text == "" {
		r.refuse("which program it runs comes from the input of another", w.Text)
	}
}

// module reads python -m.
func (r *reader) module(w words.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	rest := r.args[min(r.i, len(r.args)):]
	switch w.Text {
	case "pty", "pdb", "code", "idlelib", "webbrowser", "antigravity", "turtledemo", "bdb", "pydoc":
		r.refuse("this module starts programs or reads commands", w.Text)
	case "timeit":
		r.texts("python", rest, "-n", "-r", "-u", "--number", "--repeat", "--unit")
	case "pip", "pip3", "ensurepip", "pipx", "uv", "poetry", "invoke", "fabric":
		if t, ok := rowOf(w.Text); ok {
			nested := &reader{c: words.Command{Words: append([]words.Word{w}, rest...), More: r.c.More, Outside: true}, name: w.Text, args: rest, row: t}
			if t.own != nil {
				t.own(nested)
			} else {
				nested.plain()
			}
			nested.out.Row, nested.out.Interpreter = true, true
			r.out = nested.out
		}
	case "cProfile", "profile", "trace", "coverage", "runpy", "doctest", "zipapp", "unittest", "pytest":
	}
}

// texts reads words as texts of a language, options with values taken out.
func (r *reader) texts(language string, ws []words.Word, valued ...string) {
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
func readPerl(r *reader) {
	var parts []words.Word
	loops := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "t":
			parts = append(parts, it.value)
		case it.effect == "m":
			r.perlModule(it.value)
		case it.effect == "d":
			r.refuse("the debugger reads commands, or loads a module", it.word.Text)
		case it.name == "-i" || it.name == "-0" || it.name == "-l" || it.name == "-x" || it.name == "-C" || it.name == "-D":
			r.perlCluster(it)
		case it.name != "":
			loops = loops || it.name == "-n" || it.name == "-p"
			r.apply(it)
		default:
			if r.lost {
				return
			}
			r.perlOperands(it, parts, loops)
			return
		}
	}
	switch {
	case r.idle:
	case len(parts) > 0:
		r.inlineText("perl", pieces(parts))
	case !r.lost:
		r.out.Stdin = "perl"
	}
}

// perlCluster puts back what follows an option that takes digits only: -0777ne.
func (r *reader) perlCluster(it item) {
	if !it.has || it.name == "-i" || it.name == "-x" {
		return
	}
	rest := strings.TrimLeft(it.value.Text, "0123456789xXabcdefABCDEF")
	if it.name == "-l" || it.name == "-0" || it.name == "-C" {
		rest = strings.TrimLeft(it.value.Text, "01234567")
		if it.name == "-0" && strings.HasPrefix(it.value.Text, "x") {
			rest = strings.TrimLeft(it.value.Text[1:], "0123456789abcdefABCDEF")
		}
		if it.name == "-C" {
			rest = strings.TrimLeft(it.value.Text, "0123456789IOEioAaDLS")
		}
	}
	r.cluster, r.open = rest, it.value.Open
}

func (r *reader) perlModule(w words.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	name := strings.TrimPrefix(w.Text, "-")
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(":_=,-.+/ '", c) {
			continue
		}
		r.refuse("a module's words are a program of perl", w.Text)
		return
	}
	if strings.HasPrefix(name, "IPC") || strings.HasPrefix(name, "POSIX") && strings.Contains(name, "exec") || strings.HasPrefix(name, "Inline") || strings.HasPrefix(name, "CPAN") || strings.HasPrefix(name, "Expect") || strings.HasPrefix(name, "Shell") || strings.HasPrefix(name, "Proc") {
		r.refuse("this module starts programs", w.Text)
	}
}

// perlOperands reads the program file, or the files of -n, -p and <>.
func (r *reader) perlOperands(it item, parts []words.Word, loops bool) {
	if len(parts) == 0 {
		r.fedProgram(it.word)
		if it.word.Text == "-" || stdinFile(it.word.Text) {
			r.out.Stdin = "perl"
		}
		return
	}
	text := pieces(parts)
	r.inlineText("perl", text)
	if !loops && !strings.Contains(text.Text, "<>") && !strings.Contains(text.Text, "<ARGV>") && !text.Open {
		return
	}
	for _, w := range r.args[it.at:] {
		t := strings.TrimSpace(w.Text)
		switch {
		case w.Open && !w.Fed:
			r.out.Maybe = true
		case strings.HasPrefix(t, "|") || strings.HasSuffix(t, "|") && !w.Open:
			r.refuse("perl runs a file's name that is a pipe", w.Text)
		}
	}
}

// readScripted reads interpreters that take a text in an option, a file as the
// first operand, and standard input otherwise.
func readScripted(language string) func(*reader) {
	return func(r *reader) {
		some := false
		for {
			it, ok := r.next()
			if !ok {
				break
			}
			switch {
			case it.effect == "t":
				some = true
				r.inlineText(language, it.value)
			case it.effect == "p": // node -p text
				if it.has {
					some = true
					r.inlineText(language, it.value)
				} else if r.i < len(r.args) && r.cluster == "" {
					some = true
					r.inlineText(language, r.args[r.i])
					r.i++
				}
			case it.effect == "r":
				r.required(it.value)
			case it.effect == "R":
				some = true
			case it.effect == "F":
				some = true
				r.fromFile(it.value, language)
			case it.name != "":
				r.apply(it)
			default:
				if !some {
					r.programFile(it.word, language)
				}
				return
			}
		}
		if !some && !r.idle && !r.lost {
			r.out.Stdin = language
		}
	}
}

func (r *reader) programFile(w words.Word, language string) {
	r.fedProgram(w)
	switch {
	case w.Text == "-" || stdinFile(w.Text):
		r.out.Stdin = language
	case language == "other" || language == "node":
	}
}

// required reads a module that is loaded first: data: addresses are text.
func (r *reader) required(w words.Word) {
	if strings.HasPrefix(w.Text, "data:") || strings.HasPrefix(w.Text, "http:") || strings.HasPrefix(w.Text, "https:") || strings.Contains(w.Text, "child_process") {
		r.refuse("it loads a program that nobody has read", w.Text)
	}
}

// readJava reads java: options of the machine that start programs or load code.
func readJava(r *reader) {
	for _, w := range r.args {
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many || strings.HasPrefix(t, "-X") || t == "-"):
			r.out.Maybe = true
		case strings.HasPrefix(t, "-XX:OnError"), strings.HasPrefix(t, "-XX:OnOutOfMemoryError"), strings.HasPrefix(t, "-XX:Flags"), strings.HasPrefix(t, "-XX:VMOptionsFile"),
			strings.HasPrefix(t, "-agentpath"), strings.HasPrefix(t, "-agentlib"), strings.HasPrefix(t, "-javaagent"), strings.HasPrefix(t, "@"), strings.HasPrefix(t, "-Xrun"), strings.HasPrefix(t, "-XX:+ExtensiveErrorReports"), strings.HasPrefix(t, "-Xbootclasspath"):
			r.refuse("this option starts a program, or loads what does", t)
		case !strings.HasPrefix(t, "-") && !w.Open:
			return
		}
	}
}

// readBun reads bun: a text, a package to run, else a script.
func readBun(r *reader) {
	text, ok := r.text0()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0
		if len(r.args) == 0 {
			r.out.Stdin = "node"
		}
	case text == "x":
		r.i++
		readNpx(r)
	case text == "exec":
		if len(r.args) > 1 {
			r.text("bun exec", r.args[1])
		}
	case text == "repl" || text == "create" || text == "upgrade":
		r.refuse("it runs what it fetches, or reads commands", text)
	case text == "run" && len(r.args) > 1 && r.args[1].Text == "-":
		r.out.Stdin = "node"
	default:
		r.row.opts = "-e,--eval=t -p,--print=t -r,--preload=r --import=r --cwd= --shell= -c,--config=! --port= --env-file= -h,--help,-v,--version~ --hot --watch --smol -b,--bun -i --silent --filter="
		r.row.flags |= exact
		readScripted("node")(r)
	}
}

// readDeno reads deno: eval has a text, run a file or an address.
func readDeno(r *reader) {
	text, ok := r.text0()
	if !ok {
		r.out.Maybe = len(r.args) > 0
		if len(r.args) == 0 {
			r.out.Stdin = "node"
		}
		return
	}
	switch text {
	case "eval":
		for _, w := range r.args[1:] {
			if w.Open || !strings.HasPrefix(w.Text, "-") {
				r.inlineText("node", w)
				return
			}
		}
	case "repl", "jupyter", "upgrade", "install", "compile":
		if text == "repl" {
			r.out.Stdin = "node"
		}
	case "run", "serve", "test", "bench", "task", "x":
		for _, w := range r.args[1:] {
			switch {
			case w.Text == "-":
				r.out.Stdin = "node"
			case strings.HasPrefix(w.Text, "http:"), strings.HasPrefix(w.Text, "https:"), strings.HasPrefix(w.Text, "npm:"), strings.HasPrefix(w.Text, "jsr:"), strings.HasPrefix(w.Text, "data:"):
				r.refuse("it runs a program that nobody has read", w.Text)
			}
		}
	}
}
