package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// readEnv reads env: options, assignments, a command, and -S, which is words in
// one word.
func readEnv(r *reader) {
	var set []words.Assignment
	for splits := 0; ; {
		it, ok := r.next()
		if !ok {
			break
		}
		if it.name == "-S" {
			ws, readable := split(it.value.Text)
			if splits++; it.value.Open {
				r.out.Maybe = true
				return
			} else if !readable || splits > 8 {
				r.refuse("env -S puts words together that cannot be read; write them out", it.value.Text)
				return
			}
			// The words stand where -S stood; options among them count again.
			r.args, r.i = append(ws, r.args[r.i:]...), 0
			continue
		}
		if it.name != "" {
			if it.unknown {
				r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
			}
			r.apply(it)
			continue
		}
		if it.word.Text == "-" && !it.word.Open {
			continue
		}
		name, value, assigned := strings.Cut(it.word.Text, "=")
		switch {
		case r.lost:
			r.out.Maybe = true
			return
		case assigned:
			set = append(set, words.Assignment{Name: name, Value: words.Word{Text: value, Open: it.word.Open, Fed: it.word.Fed}})
			r.ended = true
		case it.word.Open: // an assignment or a program
			r.out.Maybe = true
			return
		case !r.idle:
			r.startWith(r.name, r.args[it.at:], set, r.c.More)
			return
		}
	}
	if r.c.More && !r.idle {
		r.bare()
	}
}

// readXargs reads xargs: what it reads stands for {} or behind the command.
func readXargs(r *reader) {
	replace, set := "", []words.Assignment(nil)
	for {
		it, ok := r.next()
		if !ok {
			break
		}
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
			set = append(set, words.Assignment{Name: it.value.Text, Value: words.Word{Open: true, Fed: true}})
		case it.unknown:
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost:
			return
		default:
			if r.idle {
				return
			}
			ws, _ := fill(r.args[it.at:], replace, words.Word{Open: true, Fed: true})
			if ws[0].Open && ws[0].Fed {
				r.refuse("the program that it starts comes from its input", it.word.Text)
				return
			}
			r.startWith(r.name, ws, set, replace == "" || r.c.More)
			return
		}
	}
	if r.c.More {
		r.bare()
	}
}

// fill puts what a program fills in for a mark in words; filled tells that there
// was one.
func fill(ws []words.Word, mark string, with words.Word) (out []words.Word, filled bool) {
	if mark == "" {
		return ws, false
	}
	out = make([]words.Word, len(ws))
	for i, w := range ws {
		out[i] = w
		if before, _, ok := strings.Cut(w.Text, mark); ok {
			out[i] = words.Word{Text: before + with.Text, Open: true, Fed: with.Fed || w.Fed}
			filled = true
		}
	}
	return out, filled
}

// readSudo reads sudo and doas: assignments may stand in front of the command.
func readSudo(r *reader) {
	var set []words.Assignment
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.name == "-E" && it.value.Text != "" || it.name == "-c" && r.name == "sudo":
		case r.name == "doas" && it.name == "-C":
			r.refuse("it takes its rules from a file", it.name)
		case it.unknown:
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost:
			return
		default:
			name, value, assigned := strings.Cut(it.word.Text, "=")
			if assigned && !strings.Contains(name, "/") {
				set = append(set, words.Assignment{Name: name, Value: words.Word{Text: value, Open: it.word.Open}})
				r.ended = true
				continue
			}
			if !r.idle {
				r.startWith(r.name, r.args[it.at:], set, r.c.More)
			}
			return
		}
	}
	if r.c.More && !r.idle {
		r.bare()
	}
}

// readSu reads su and runuser: a text, a command behind -u, or a shell.
func readSu(r *reader) {
	user, some := false, false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "u":
			user = true
		case it.name != "":
			some = some || it.effect == "s"
			r.apply(it)
		case r.lost:
			return
		case user:
			if !r.idle {
				r.start(r.name, r.args[it.at:])
			}
			return
		}
	}
	if !some && !user && !r.idle {
		r.stdin("sh")
	}
}

// readSetarch reads setarch: an architecture may stand in front of the options.
func readSetarch(r *reader) {
	if r.name == "setarch" && len(r.args) > 0 && !r.args[0].Open && !strings.HasPrefix(r.args[0].Text, "-") {
		r.i++
	}
	r.row.rest, r.row.flags = command, bareShell
	r.plain()
}

func readDirenv(r *reader) {
	text, ok := r.text0()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0 || r.c.More
	case text == "exec" && len(r.args) > 2:
		r.start("direnv exec", r.args[2:])
		r.refuse("it runs the .envrc of a folder", text)
	case text == "status" || text == "version" || text == "--version" || text == "help":
	default:
		r.refuse("it runs the .envrc of a folder", text)
	}
}

// text0 is the first word behind the program, where it is known.
func (r *reader) text0() (string, bool) {
	if len(r.args) == 0 {
		return "", false
	}
	return known(r.args[0])
}

// readWatch reads watch: a text for sh, or with -x a command.
func readWatch(r *reader) {
	exec := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		if it.name != "" {
			exec = exec || it.name == "-x"
			r.row.rest = command
			r.apply(it)
			continue
		}
		switch {
		case r.lost, r.idle:
		case exec:
			r.start("watch -x", r.args[it.at:])
		default:
			r.text("watch", join(r.args[it.at:], r.c.More))
		}
		return
	}
	r.bare()
}

// readScript reads script: -c text, else a shell; BSD's has a command behind the
// file.
func readScript(r *reader) {
	some, files := false, 0
	for {
		it, ok := r.next()
		if !ok {
			break
		}
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
		r.stdin("sh")
	}
}

// readFlock reads flock: a file, then a command or -c and a text.
func readFlock(r *reader) {
	files := 0
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.unknown:
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost:
			return
		case files == 0:
			files++
			if r.i < len(r.args) && r.args[r.i].Text != "-c" && r.args[r.i].Text != "--command" {
				r.ended = true
			}
		default:
			if !r.idle {
				r.start("flock", r.args[it.at:])
			}
			return
		}
	}
	if r.c.More && !r.idle {
		r.bare()
	}
}

// readBusybox reads busybox: the applet is the command.
func readBusybox(r *reader) {
	text, ok := r.text0()
	switch {
	case !ok:
		r.out.Maybe = len(r.args) > 0 || r.c.More
	case text == "--list" || text == "--list-full" || text == "--help":
	case strings.HasPrefix(text, "-"):
		r.refuse("it puts links to itself under the names of others", text)
	default:
		ws := append([]words.Word{words.Known(text[strings.LastIndexByte(text, '/')+1:])}, r.args[1:]...)
		r.start(r.name, ws)
	}
}

// readEntr reads entr: a command, with -s a text.
func readEntr(r *reader) {
	shell := false
	r.row.rest = command
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		if it.name != "" {
			shell = shell || it.name == "-s"
			r.apply(it)
			continue
		}
		if r.lost {
			return
		}
		if shell {
			r.text("entr -s", join(r.args[it.at:], r.c.More))
			return
		}
		ws, _ := fill(r.args[it.at:], "/_", words.Word{Open: true, Fed: true})
		r.start("entr", ws)
		return
	}
	r.bare()
}

// readTexts reads programs of which each operand is shell text.
func readTexts(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		if it.name != "" {
			r.apply(it)
		} else {
			r.text(r.name, it.word)
		}
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
	r.stdin("sh")
}

// readTerminal reads programs that open a shell or a terminal.
func readTerminal(r *reader) {
	for _, w := range r.args {
		switch w.Text {
		case "-ls", "-list", "--list", "-wipe", "-v", "--version", "--help", "-h", "-V", "list-sessions", "ls":
			if len(r.args) == 1 && !w.Open {
				return
			}
		}
	}
	r.refuse("it opens a shell of its own", r.name)
}

// readTmux reads tmux: nothing but what lists and ends.
func readTmux(r *reader) {
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		if w.Open {
			r.out.Maybe = true
			return
		}
		switch w.Text {
		case "-L", "-S":
			i++
			continue
		case "-2", "-u", "-v":
			continue
		case "-V", "ls", "list-sessions", "list-windows", "lsw", "list-panes", "lsp", "list-clients", "lsc", "list-commands",
			"kill-session", "kill-window", "killw", "kill-pane", "killp", "kill-server", "has-session", "has", "show-options", "show", "show-environment", "capture-pane", "capturep", "show-buffer", "list-buffers", "wait-for":
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

// readDebugger reads gdb and lldb: the program is started, commands may be any.
func readDebugger(r *reader) {
	r.row.opts = "-ex,-eval-command= -iex,-init-eval-command= -x,-command=! -ix,-init-command=! -o,-one-line= -O,-one-line-before-file= -s,-source=! -S,-source-before-file=! -k=! -K=! -batch -batch-silent -q,-quiet,-silent -nx,-n -nh -nw -args -p,-pid,-attach-pid= -c,-core= -e,-exec,-se,-symbols,-file= -cd= -d,-directory= -tty= -tui -return-child-result -ll= -python,-P,-R! -i,-interpreter= -b -X,-arch,-a= -version,-v,-help,-h~"
	r.row.flags = longOnly
	some := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.name == "-ex" || it.name == "-iex" || it.name == "-o" || it.name == "-O":
			some = true
			if it.value.Open {
				r.out.Maybe = true
			} else if !debuggerHarmless(it.value.Text) {
				r.refuse("a debugger's command may start anything", it.value.Text)
			}
		case it.name == "-args":
			if r.i < len(r.args) {
				r.start(r.name, r.args[r.i:])
			}
			return
		case it.unknown && r.ended:
		case it.name != "":
			r.apply(it)
		case r.ended && r.name == "lldb":
			r.start(r.name, r.args[it.at:])
			return
		default:
			r.start(r.name, []words.Word{it.word})
		}
	}
	if !some && !r.idle {
		r.out.Stdin = "gdb"
	}
}

func debuggerHarmless(text string) bool {
	switch strings.Join(strings.Fields(text), " ") {
	case "run", "r", "bt", "backtrace", "bt full", "where", "quit", "q", "c", "continue", "thread apply all bt", "thread apply all bt full", "bt all", "thread backtrace all", "info registers", "info threads", "info locals", "info sharedlibrary", "set pagination off", "set confirm off", "kill", "process launch":
		return true
	default:
		return false
	}
}

// readPerf reads perf: record, stat and trace start a command.
func readPerf(r *reader) {
	text, ok := r.text0()
	if !ok {
		r.out.Maybe = len(r.args) > 0 || r.c.More
		return
	}
	switch text {
	case "record", "stat", "trace", "mem", "c2c", "kvm", "lock", "sched", "ftrace", "timechart":
	case "report", "annotate", "script":
		r.out.Interpreter = text == "script"
		for _, w := range r.args[1:] {
			switch {
			case w.Open:
				r.out.Maybe = true
			case strings.HasPrefix(w.Text, "--objdump") || strings.HasPrefix(w.Text, "--addr2line") || w.Text == "-s" && text == "script":
				r.refuse(r.because(), w.Text)
			}
		}
		return
	default:
		return
	}
	r.row.opts = "-a,--all-cpus -b,--branch-any -B,--big-num -c,--count= -C,--cpu= -d,--detailed -D,--delay= -e,--event= -F,--freq= -g -G,--cgroup= -i,--no-inherit -I,--interval-print= -j,--branch-filter= --call-graph= -m,--mmap-pages= -M,--metrics= -n,--null -N,--no-buildid-cache -o,--output= -p,--pid= -q,--quiet -r,--repeat= -s,--stat -S,--sync -t,--tid= -T -u,--uid= -v,--verbose -W,--weight -x,--field-separator= -z --pre=s --post=s --timeout= --no-aggr,-A --per-core --per-socket --per-thread --all-user --all-kernel --clang-path=! --clang-opt=! -h,--help~"
	r.row.rest, r.row.flags = command, 0
	r.i++
	r.plain()
}

// readCapsh reads capsh: what stands behind -- or == are words of a shell.
func readCapsh(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "--" || w.Text == "==" || w.Text == "-+" || w.Text == "=+":
			r.start("capsh", append([]words.Word{words.Known("bash")}, r.args[i+1:]...))
			return
		case strings.HasPrefix(w.Text, "--shell"), strings.HasPrefix(w.Text, "--chroot"):
			r.refuse("it says which shell starts", w.Text)
		}
	}
}
