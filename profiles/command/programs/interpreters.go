package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

// inline judges a text of a language on the command line.
func (r *reader) inline(language string, w argv.Word) {
	if w.Open {
		if r.out.Maybe = true; w.Fed {
			r.refuse("its program comes from the input of another", w.Text)
		}
		return
	}
	if what, starts := inlineText(language, w.Text); starts {
		r.refuse("its text names what starts programs", what)
	}
}

// fedProgram refuses a program file that comes from another's input.
func fedProgram(r *reader, w argv.Word) {
	if w.Open && w.Fed && w.Text == "" {
		r.refuse("which program it runs comes from the input of another", w.Text)
	}
}

// readPython reads python: -c and a text, -m and a module, a file, or standard input.
func readPython(r *reader) {
	interactive := false
	for it := range r.items {
		switch {
		case it.effect == "text":
			r.inline("python", it.value)
			if strings.HasPrefix(r.name, "ipython") && magic(it.value.Text) {
				r.refuse("ipython runs such a line by a shell", it.value.Text)
			}
		case it.effect == "python-module":
			pythonModule(r, it.value)
			return
		case it.name != "":
			interactive = interactive || it.name == "-i"
			r.apply(it)
			continue
		case r.lost:
			fedProgram(r, it.word)
			return
		case it.word.Text == "-" || isStdin(it.word.Text):
			interactive = true
		default:
			fedProgram(r, it.word)
		}
		if interactive {
			r.out.Stdin = "python"
		}
		return
	}
	if !r.idle && !r.lost {
		r.out.Stdin = "python"
	}
}

// pythonModule reads python -m. The modules stand in the row of python.
func pythonModule(r *reader, w argv.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	rest := r.args[min(r.next, len(r.args)):]
	switch {
	case r.row.has("runs", w.Text):
		r.refuse("this module starts programs or reads commands", w.Text)
	case w.Text == "timeit":
		for i := 0; i < len(rest); i++ {
			switch t := rest[i].Text; {
			case r.row.has("valued", t):
				i++
			case strings.HasPrefix(t, "-") && len(t) < 3:
			default:
				r.inline("python", rest[i])
			}
		}
	case r.row.has("external", w.Text): // programs that are modules as well
		if t, ok := r.table.program(w.Text); ok {
			r.name, r.args, r.next, r.ended = w.Text, rest, 0, false
			r.as(t)
			r.out.Interpreter = true
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

// readPerl reads perl. An operand may be a pipe for <> as well.
func readPerl(r *reader) {
	var parts []argv.Word
	loops := false
	for it := range r.items {
		switch {
		case it.effect == "text":
			parts = append(parts, it.value)
		case it.effect == "perl-module":
			perlModule(r, it.value)
		case it.effect == "debugger":
			r.refuse("the debugger reads commands, or loads a module", it.word.Text)
		case r.row.has("valued", it.name):
			perlCluster(r, it)
		case it.name != "":
			loops = loops || it.name == "-n" || it.name == "-p"
			r.apply(it)
		default:
			if !r.lost {
				perlOperands(r, it, parts, loops)
			}
			return
		}
	}
	switch {
	case r.idle:
	case len(parts) > 0:
		r.inline("perl", pieces(parts))
	case !r.lost:
		r.out.Stdin = "perl"
	}
}

// perlCluster puts back what follows an option that takes digits only: -0777ne.
func perlCluster(r *reader, it item) {
	if !it.has || it.name == "-i" || it.name == "-x" {
		return
	}
	rest, takes := it.value.Text, "0123456789xXabcdefABCDEF"
	switch it.name {
	case "-l":
		takes = "01234567"
	case "-0":
		takes = "01234567"
		if hex, ok := strings.CutPrefix(rest, "x"); ok {
			rest, takes = hex, "0123456789abcdefABCDEF"
		}
	case "-C":
		takes = "0123456789IOEioAaDLS"
	}
	r.cluster, r.openCluster = strings.TrimLeft(rest, takes), it.value.Open
}

func perlModule(r *reader, w argv.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	name := strings.TrimPrefix(w.Text, "-")
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_=,-.+/ '"
	if strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(plain, c) }) {
		r.refuse("a module's words are a program of perl", w.Text)
		return
	}
	for _, module := range r.row.list("runs") {
		if strings.HasPrefix(name, module) && (module != "POSIX" || strings.Contains(name, "exec")) {
			r.refuse("this module starts programs", w.Text)
			return
		}
	}
}

// perlOperands reads the program file, or the files of -n, -p and <>.
func perlOperands(r *reader, it item, parts []argv.Word, loops bool) {
	if len(parts) == 0 {
		fedProgram(r, it.word)
		if it.word.Text == "-" || isStdin(it.word.Text) {
			r.out.Stdin = "perl"
		}
		return
	}
	text := pieces(parts)
	r.inline("perl", text)
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

// readScripted reads interpreters that take a text in an option, a file as the first operand, and
// else standard input.
func readScripted(r *reader) {
	language, some := r.row.language, false
	for it := range r.items {
		switch {
		case it.effect == "text":
			some = true
			r.inline(language, it.value)
		case it.effect == "print": // node -p text, node -pe text
			text := it.value
			if !it.has || text.Text == "e" && !text.Open {
				if r.next >= len(r.args) || r.cluster != "" {
					continue
				}
				text = r.args[r.next]
				r.next++
			}
			some = true
			r.inline(language, text)
		case it.effect == "module":
			loadedModule(r, it.value)
		case it.effect == "project-script":
			some = true
		case it.effect == "file":
			some = true
			r.fromFile(it.value)
		case it.name != "":
			r.apply(it)
		default:
			if !some {
				fedProgram(r, it.word)
				if it.word.Text == "-" || isStdin(it.word.Text) {
					r.out.Stdin = language
				}
			}
			return
		}
	}
	if !some && !r.idle && !r.lost {
		r.out.Stdin = language
	}
}

// loadedModule reads a module that is loaded first: an address like data: is program text.
func loadedModule(r *reader, w argv.Word) {
	for _, mark := range []string{"data:*", "http:*", "https:*", "*child_process*"} {
		if tables.Match(mark, w.Text) {
			r.refuse("it loads an unchecked program", w.Text)
			return
		}
	}
}

// readBun reads bun: a text, a package to run, else a script.
func readBun(r *reader) {
	text, ok := r.first()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0
		if len(r.args) == 0 {
			r.out.Stdin = r.row.language
		}
	case text == "x":
		r.next++
		if t, ok := r.table.program("bunx"); ok {
			r.as(t)
		}
	case text == "exec":
		if len(r.args) > 1 {
			r.text("bun exec", r.args[1])
		}
	case text == "repl" || text == "create" || text == "upgrade":
		r.refuse("it runs what it fetches, or reads commands", text)
	case text == "run" && len(r.args) > 1 && r.args[1].Text == "-":
		r.out.Stdin = r.row.language
	default:
		readScripted(r)
	}
}

// readDeno reads deno: eval has a text, run a file or an address.
func readDeno(r *reader) {
	text, ok := r.first()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0
		if len(r.args) == 0 {
			r.out.Stdin = r.row.language
		}
	case text == "eval":
		for _, w := range r.args[1:] {
			if w.Open || !strings.HasPrefix(w.Text, "-") {
				r.inline(r.row.language, w)
				return
			}
		}
	case text == "repl":
		r.out.Stdin = r.row.language
	case r.row.has("runs", text):
		for i, w := range r.args[1:] {
			switch {
			case w.Open && !strings.Contains(w.Text, "/"):
				r.out.Maybe = r.out.Maybe || !w.Fed || w.Text == ""
			case w.Text == "-":
				r.out.Stdin = r.row.language
			default:
				r.refuseByRules(i+1, w.Text)
			}
		}
	}
}

// readShell reads the words of a shell: -c and a text, or standard input. A script file is refused, because
// it is not read before it runs.
func readShell(r *reader) {
	text, input := false, false
	i := 0
	for ; i < len(r.args); i++ {
		w := r.args[i]
		if w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")) {
			if r.out.Maybe = true; w.Fed {
				r.refuse("its words come from the input of another", w.Text)
			}
			return
		}
		if w.Text == "--" || w.Text == "-" {
			i++
			break
		}
		if len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			break
		}
		values, effect := shellOption(r, w.Text)
		switch effect {
		case shellTells:
			return
		case shellRefused:
			r.refuse("this option loads unchecked code, or is not known", w.Text)
			return
		case shellPlain:
		case shellText:
			text = true
		case shellInput:
			input = true
		}
		if !shellValues(r, i+1, values) {
			return
		}
		i += values
	}
	shellOperandWords(r, r.args[min(i, len(r.args)):], text, input)
}

// shellValues reads the values of a shell's options: what -o and -O switch.
func shellValues(r *reader, at, count int) bool {
	if count > 0 && at < len(r.args) && r.args[at].Many {
		r.out.Maybe = true
		return false
	}
	for _, w := range r.args[min(at, len(r.args)):min(at+count, len(r.args))] {
		if w.Open {
			r.out.Maybe = true
		} else if w.Text == "extdebug" {
			r.refuse("this option starts programs that watch the script", w.Text)
		}
	}
	return true
}

// shellOperandWords reads the words after a shell's options.
func shellOperandWords(r *reader, rest []argv.Word, text, input bool) {
	switch {
	case text && len(rest) == 0:
		if r.command.More {
			r.refuse("its text comes from the input of another", r.name)
		}
	case text:
		if rest[0].Open && rest[0].Fed {
			r.refuse("its text comes from the input of another", rest[0].Text)
			return
		}
		params := rest[1:]
		if r.command.More {
			params = append(params[:len(params):len(params)], argv.Word{Open: true, Many: true, Fed: true})
		}
		r.script(r.name+" -c", rest[0], r.name, params, r.command.Outside)
	case input || len(rest) == 0 && !r.command.More || len(rest) > 0 && !rest[0].Open && isStdin(rest[0].Text):
		params := rest
		if !input && len(rest) > 0 {
			params = rest[1:]
		}
		r.out.Scripts = append(r.out.Scripts, argv.Script{
			Shell: r.name, Params: params, Outside: r.command.Outside, Chain: []string{r.name},
		})
	default:
		file := ""
		if len(rest) > 0 {
			file = rest[0].Text
		}
		r.refuse("ringd does not read a script file before it runs; put its text into the script, or after -c", file)
	}
}

// shellEffect is what an option word of a shell does.
type shellEffect uint8

const (
	shellPlain shellEffect = iota
	shellText              // -c
	shellInput             // -s
	shellTells             // --version
	shellRefused
)

// shellOption reads one option word of a shell: how many words are its values, and what it does.
func shellOption(r *reader, t string) (values int, effect shellEffect) {
	if strings.HasPrefix(t, "--") {
		switch {
		case r.row.has("harmless", t):
			return 0, shellPlain
		case tellsAboutItself(argv.Known(t)):
			return 0, shellTells
		default:
			return 0, shellRefused
		}
	}
	for i := 1; i < len(t); i++ {
		switch c := t[i]; {
		case c == 'c':
			if t[0] == '-' {
				effect = shellText
			}
		case c == 's':
			if effect != shellText {
				effect = shellInput
			}
		case c == 'o' || c == 'O':
			values++
		case strings.IndexByte("abefhiklmnprtuvxBCEHPdyXVIqD", c) < 0:
			return 0, shellRefused
		}
	}
	return values, effect
}
