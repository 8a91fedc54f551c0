package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readMake reads make: variables that it sets for its recipes, and text of a makefile.
func readMake(r *reader) {
	for it := range r.items {
		switch {
		case it.effect == "file":
			r.fromFile(it.value)
		case it.name != "":
			r.apply(it)
		default:
			makeVariable(r, it.word)
		}
	}
}

func makeVariable(r *reader, w argv.Word) {
	a, ok := assignment(w)
	value := a.Value.Text
	switch {
	case !ok:
		r.out.Maybe = r.out.Maybe || w.Open && !w.Fed
		return
	case strings.HasSuffix(a.Name, "!"):
		r.refuse("make runs the value of such a variable", w.Text)
		return
	}
	for _, function := range r.row.list("runs") {
		if strings.Contains(value, "$("+function) || strings.Contains(value, "${"+function) {
			r.refuse("make runs a function in the value", w.Text)
			return
		}
	}
	a.Name = strings.TrimRight(a.Name, ":+?")
	if r.row.has("keys", a.Name) || strings.Contains(a.Name, "$") {
		r.refuse("by this variable make runs another program", a.Name)
		return
	}
	if w.Open && !w.Fed && value == "" {
		r.out.Maybe = true // a function of make
	}
	r.out.Sets = append(r.out.Sets, a)
}

// readCMake reads cmake: -E env and -E time start a command.
func readCMake(r *reader) {
	for i, w := range r.args {
		switch t := w.Text; {
		case w.Open && t == "":
			r.out.Maybe = true
		case t == "--" && r.hasWord("--build"): // the words of the program that builds
			become(r, "make", i+1)
			return
		case t == "-E" && i+1 < len(r.args):
			cmakeCommand(r, r.args[i+1].Text, i+2)
			return
		case cmakeStarts(t):
			_, value, _ := strings.Cut(t, "=")
			if r.row.has("known", value) {
				r.startWith("cmake", []argv.Word{argv.Known(value)}, nil, true)
			} else {
				r.refuse("cmake starts the program that it names", t)
			}
		}
	}
}

// become goes on reading as another program, from args[at] on.
func become(r *reader, program string, at int) {
	if t, ok := r.table.program(program); ok {
		r.args, r.next = r.args[at:], 0
		r.as(t)
	}
}

// cmakeCommand reads a command of cmake -E, whose words begin at args[at].
func cmakeCommand(r *reader, name string, at int) {
	switch {
	case name == "env":
		become(r, "env", at)
	case name == "time":
		r.start("cmake -E time", r.args[at:])
	case name == "chdir":
		if len(r.args) > at+1 {
			r.start("cmake -E chdir", r.args[at+1:])
		}
	case r.row.has("runs", name):
		r.refuse("it starts any given program", name)
	}
}

// cmakeStarts reports a word that names a program.
func cmakeStarts(t string) bool {
	if strings.HasPrefix(t, "-DCMAKE_") {
		return strings.Contains(t, "LAUNCHER") || strings.HasPrefix(t, "-DCMAKE_MAKE_PROGRAM") ||
			strings.Contains(t, "COMPILER") && !strings.Contains(t, "COMPILER_ID")
	}
	return strings.HasPrefix(t, "--build-makeprogram") || strings.HasPrefix(t, "--test-command") ||
		strings.HasPrefix(t, "--debugger") || t == "--open"
}

// readGo reads go: options that put another program in front of a tool.
func readGo(r *reader) {
	sub, ok := r.first()
	if !ok {
		r.out.Maybe = len(r.args) > 0 || r.command.More
		return
	}
	for strings.HasPrefix(sub, "-C") && len(r.args) > 1 {
		n := 2
		if strings.Contains(sub, "=") {
			n = 1
		}
		if len(r.args) <= n {
			return
		}
		r.args = r.args[n:]
		sub = r.args[0].Text
	}
	r.next = 1
	switch {
	case sub == "env":
		goEnv(r)
	case sub == "bug" || sub == "telemetry":
		r.refuse("it starts a browser", sub)
	case r.row.has("known", sub):
		goWords(r, sub)
	}
}

// goWords reads what follows a sub-command of go.
func goWords(r *reader, sub string) {
	for it := range r.items {
		switch {
		case it.effect == "linker":
			goLinker(r, it.value)
		case it.effect == "compiler":
			if it.value.Text != "gc" {
				r.refuse("another compiler is another program", it.value.Text)
			}
		case it.name == "-args":
			return
		case it.name != "":
			r.apply(it)
		case sub == "run" && !r.lost:
			if strings.Contains(it.word.Text, "@") {
				r.refuse("it fetches and runs an unchecked program", it.word.Text)
			}
			return
		case sub == "tool":
			return
		}
	}
}

// goLinker reads flags of the linker.
func goLinker(r *reader, w argv.Word) {
	for _, mark := range r.row.list("runs") {
		if strings.Contains(w.Text, mark) {
			r.refuse("it names another linker", w.Text)
			break
		}
	}
	r.out.Maybe = r.out.Maybe || w.Open
}

// goEnv reads go env -w, which sets variables for good.
func goEnv(r *reader) {
	write := false
	for _, w := range r.args[1:] {
		a, ok := assignment(w)
		switch {
		case w.Text == "-w" || w.Text == "--w":
			write = true
		case ok && write:
			a.Value.Fed = false
			r.out.Sets = append(r.out.Sets, a)
		case w.Open:
			r.out.Maybe = true
		}
	}
}

// readCargo reads cargo: settings that put programs in front of the compiler, and sub-commands
// that are programs.
func readCargo(r *reader) {
	sub := false
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		t := w.Text
		switch {
		case w.Open && t == "" || w.Many:
			r.out.Maybe = true
		case t == "--" && !w.Open:
			return
		case t == "--config" || strings.HasPrefix(t, "--config="):
			_, value, joined := strings.Cut(t, "=")
			if !joined && i+1 < len(r.args) {
				i++
				w = r.args[i]
				value = w.Text
			}
			cargoSetting(r, argv.Word{Text: value, Open: w.Open})
		case r.row.has("valued", t):
			i++
		case strings.HasPrefix(t, "-"), strings.HasPrefix(t, "+"):
		case sub || r.row.has("known", t):
			sub = true
		default:
			r.start("cargo", prepend(argv.Word{Text: "cargo-" + t, Open: w.Open}, r.args[i+1:]))
			return
		}
	}
}

// cargoSetting reads --config. Settings that only change how cargo talks and builds are allowed
// by the rules of its row.
func cargoSetting(r *reader, w argv.Word) {
	key, _, _ := strings.Cut(w.Text, "=")
	key = strings.ToLower(strings.Trim(key, " \t\"'"))
	switch {
	case w.Open && key == strings.ToLower(w.Text):
		r.out.Maybe = true
	case !r.row.allows(key):
		r.refuse("by this setting cargo starts a program, or reads more settings", w.Text)
	}
}

// allows reports whether the first rule for keys that names a key allows it.
func (r *row) allows(key string) bool {
	for _, rule := range r.rules {
		if rule.when == "key" && rule.matches(key) {
			return rule.allow
		}
	}
	return false
}
