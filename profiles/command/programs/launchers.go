package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readEnv reads env: options, assignments, a command, and -S, which is words in one word.
func readEnv(r *reader) {
	var set []argv.Assignment
	splits := 0
	for it := range r.items {
		if it.name == "-S" {
			splits++
			if !envSplit(r, it, splits) {
				return
			}
			continue
		}
		if it.name != "" {
			r.applyKnown(it)
			continue
		}
		if it.word.Text == "-" && !it.word.Open {
			continue
		}
		a, assigned := assignment(it.word)
		switch {
		case r.lost:
			r.out.Maybe = true
			return
		case assigned:
			set = append(set, a)
			r.ended = true
		case it.word.Open: // an assignment or a program
			r.out.Maybe = true
			return
		case !r.idle:
			r.startWith(r.name, r.args[it.at:], set, r.command.More)
			return
		}
	}
	launchNothing(r)
}

// envSplit puts the words of env -S where -S stood. Options among them count again.
func envSplit(r *reader, it item, splits int) bool {
	ws, readable := split(it.value.Text)
	comment := strings.HasPrefix(it.value.Text, "#") || strings.Contains(it.value.Text, " #") ||
		strings.Contains(it.value.Text, "\t#")
	switch {
	case it.value.Open:
		r.out.Maybe = true
		return false
	case !readable || comment || splits > 8:
		r.refuse("env -S builds words that cannot be checked; write them out", it.value.Text)
		return false
	}
	r.args, r.next = append(ws, r.args[r.next:]...), 0
	return true
}

// applyKnown is apply for a program whose unknown options hide where its command begins.
func (r *reader) applyKnown(it item) {
	if it.unknown {
		r.refuse(unknownOption, it.word.Text)
		return
	}
	r.apply(it)
}

// readXargs reads xargs: the words that it reads replace {}, or are appended to the command.
func readXargs(r *reader) {
	replace, set := "", []argv.Assignment(nil)
	input := argv.Word{Open: true, Fed: true}
	for it := range r.items {
		switch {
		case it.name == "-I" || it.name == "-J":
			if replace = it.value.Text; it.value.Open {
				r.out.Maybe = true
				return
			}
		case it.name == "-i":
			if replace = it.value.Text; replace == "" {
				replace = "{}"
			}
		case it.name == "--process-slot-var":
			set = append(set, argv.Assignment{Name: it.value.Text, Value: input})
		case it.name != "":
			r.applyKnown(it)
		case r.lost || r.idle:
			return
		default:
			ws, _ := fill(r.args[it.at:], replace, input)
			if ws[0].Open && ws[0].Fed {
				r.refuse("the program that it starts comes from its input", it.word.Text)
				return
			}
			r.startWith(r.name, ws, set, replace == "" || r.command.More)
			return
		}
	}
	if r.command.More {
		r.bare()
	}
}

// readSudo reads sudo and doas: assignments may precede the command.
func readSudo(r *reader) {
	var set []argv.Assignment
	for it := range r.items {
		switch {
		case it.name == "-c" && r.name == "sudo":
		case r.name == "doas" && it.name == "-C":
			r.refuse("it takes its rules from a file", it.name)
		case it.name != "":
			r.applyKnown(it)
		case r.lost:
			return
		default:
			a, assigned := assignment(it.word)
			if assigned && !strings.Contains(a.Name, "/") {
				a.Value.Fed = false
				set = append(set, a)
				r.ended = true
				continue
			}
			if !r.idle {
				r.startWith(r.name, r.args[it.at:], set, r.command.More)
			}
			return
		}
	}
	launchNothing(r)
}

// readSu reads su and runuser: a text, a command after -u, or a shell. The words after the user are words of that
// shell.
func readSu(r *reader) {
	user, some, named := false, false, false
	for it := range r.items {
		switch {
		case it.effect == "user":
			user = true
		case it.name != "":
			some = some || it.effect == "shell"
			r.apply(it)
		case r.lost:
			return
		case user:
			if !r.idle {
				r.start(r.name, r.args[it.at:])
			}
			return
		case it.word.Text == "-" && !it.word.Open && !named:
		case !named:
			named = true
		case !r.idle:
			r.start(r.name, prepend(argv.Known("sh"), r.args[it.at:]))
			return
		}
	}
	if !some && !user && !r.idle {
		r.shellInput()
	}
}

// readSetarch reads setarch: an architecture may precede the options.
func readSetarch(r *reader) {
	if r.name == "setarch" && len(r.args) > 0 && !r.args[0].Open && !strings.HasPrefix(r.args[0].Text, "-") {
		r.next++
	}
	r.plain()
}

// readRuncon reads runcon: without an option its first operand is a context.
func readRuncon(r *reader) {
	r.row.skip = 1
	if len(r.args) > 0 {
		switch w := r.args[0]; {
		case w.Open && w.Text == "":
			r.out.Maybe = true
		case strings.HasPrefix(w.Text, "-") && w.Text != "--":
			r.row.skip = 0
		}
	}
	r.plain()
}

func readDirenv(r *reader) {
	text, ok := r.first()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0 || r.command.More
	case r.row.has("harmless", text):
	default:
		if text == "exec" && len(r.args) > 2 {
			r.start("direnv exec", r.args[2:])
		}
		r.refuse("it runs the .envrc of a folder", text)
	}
}

// readWatch reads watch: shell text, or with -x a command.
func readWatch(r *reader) {
	exec := false
	for it := range r.items {
		switch {
		case it.name != "":
			exec = exec || it.name == "-x"
			r.apply(it)
			continue
		case r.lost, r.idle:
		case exec:
			r.start("watch -x", r.args[it.at:])
		default:
			r.text("watch", join(r.args[it.at:], r.command.More))
		}
		return
	}
	r.bare()
}

// readEntr reads entr: a command, with -s shell text.
func readEntr(r *reader) {
	shell := false
	for it := range r.items {
		switch {
		case it.name != "":
			shell = shell || it.name == "-s"
			r.apply(it)
			continue
		case r.lost:
		case shell:
			r.text("entr -s", join(r.args[it.at:], r.command.More))
		default:
			ws, _ := fill(r.args[it.at:], "/_", argv.Word{Open: true, Fed: true})
			r.start("entr", ws)
		}
		return
	}
	r.bare()
}

// readScript reads script: -c and a text, else a shell. BSD's has a command behind the file.
func readScript(r *reader) {
	some, files := false, 0
	for it := range r.items {
		if it.name != "" {
			some = some || it.name == "-c"
			r.apply(it)
			continue
		}
		if files++; files == 2 {
			r.start("script", r.args[it.at:])
			return
		}
	}
	if !some && !r.idle {
		r.shellInput()
	}
}

// readFlock reads flock: a file, then a command or -c and a text.
func readFlock(r *reader) {
	files := 0
	for it := range r.items {
		switch {
		case it.name != "":
			r.applyKnown(it)
		case r.lost:
			return
		case files == 0:
			files++
			if r.next < len(r.args) && r.args[r.next].Text != "-c" && r.args[r.next].Text != "--command" {
				r.ended = true
			}
		default:
			if !r.idle {
				r.start("flock", r.args[it.at:])
			}
			return
		}
	}
	launchNothing(r)
}

// readBusybox reads busybox: the applet is the command.
func readBusybox(r *reader) {
	text, ok := r.first()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0 || r.command.More
	case r.row.has("harmless", text):
	case strings.HasPrefix(text, "-"):
		r.refuse("it puts links to itself under the names of others", text)
	default:
		r.start(r.name, prepend(argv.Known(text[strings.LastIndexByte(text, '/')+1:]), r.args[1:]))
	}
}

// readSg reads sg: a group, then -c and a text, or a text.
func readSg(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "-" || i == 0 || w.Text == "-c":
		default:
			r.text("sg", w)
			return
		}
	}
	r.shellInput()
}

// readTmux reads tmux: it may only list and exit.
func readTmux(r *reader) {
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "-L" || w.Text == "-S":
			i++
			continue
		case w.Text == "-2" || w.Text == "-u" || w.Text == "-v":
			continue
		case r.row.has("harmless", w.Text):
			for _, o := range r.args[i+1:] {
				if strings.HasSuffix(o.Text, ";") || o.Open || strings.Contains(o.Text, "#(") {
					r.refuse("tmux runs what follows as well", o.Text)
				}
			}
			return
		}
		break
	}
	r.refuse("it starts shells, or types into them", r.name)
}

// readDebugger reads gdb and lldb: the program is started, and their commands may start any.
func readDebugger(r *reader) {
	some := false
	for it := range r.items {
		switch {
		case it.effect == "debugger-command":
			some = true
			if it.value.Open {
				r.out.Maybe = true
			} else if !r.row.has("text", strings.Join(strings.Fields(it.value.Text), " ")) {
				r.refuse("a debugger's command may start anything", it.value.Text)
			}
		case it.name == "-args":
			if r.next < len(r.args) {
				r.start(r.name, r.args[r.next:])
				r.next = len(r.args)
			}
		case it.unknown && r.ended:
		case it.name != "":
			r.apply(it)
		case r.ended && r.name == "lldb":
			r.start(r.name, r.args[it.at:])
			return
		default:
			r.start(r.name, []argv.Word{it.word})
		}
	}
	if !some && !r.idle {
		r.out.Stdin = r.row.language
	}
}

// readPerf reads perf: some of its parts start a command.
func readPerf(r *reader) {
	text, ok := r.first()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0 || r.command.More
	case r.row.has("runs", text):
		r.next++
		r.plain()
	case r.row.has("harmless", text):
		r.out.Interpreter = text == "script"
		for _, w := range r.args[1:] {
			switch {
			case w.Open:
				r.out.Maybe = true
			case strings.HasPrefix(w.Text, "--objdump") || strings.HasPrefix(w.Text, "--addr2line") ||
				w.Text == "-s" && text == "script":
				r.refuse(r.because(), w.Text)
			}
		}
	}
}

// readCapsh reads capsh: the words after -- or == are arguments of a shell.
func readCapsh(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "--" || w.Text == "==" || w.Text == "-+" || w.Text == "=+":
			r.start("capsh", prepend(argv.Known("bash"), r.args[i+1:]))
			return
		case strings.HasPrefix(w.Text, "--shell"), strings.HasPrefix(w.Text, "--chroot"):
			r.refuse("it says which shell starts", w.Text)
		}
	}
}

// readBehindDashes reads programs whose command follows --, or follows run or exec.
func readBehindDashes(r *reader) {
	runs := false
	for i, w := range r.args {
		switch t := w.Text; {
		case w.Open && (t == "" || w.Many):
			r.out.Maybe = true
			return
		case t == "--":
			r.start(r.name, r.args[i+1:])
			return
		case r.row.has("runs", t):
			runs = true
		case strings.HasPrefix(t, "--command") || t == "edit":
			r.refuse("it runs the text of an option, or an editor", t)
		}
	}
	always := len(r.args) > 0 && slices.Contains(r.row.modes, "always")
	if runs || r.command.More || always {
		r.refuse("put -- in front of the command, so that it can be read", r.name)
	}
}
