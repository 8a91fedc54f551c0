package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// runningReader is the engine's, with what this package reads by itself.
type runningReader struct{ *Reader }

// ownRunning makes a reader of this package one of the engine.
func ownRunning(f func(*runningReader)) func(*Reader) {
	return func(r *Reader) { f(&runningReader{r}) }
}

// readEnv reads env: options, assignments, a command, and -S, which is words in
// one word.
func readEnv(r *runningReader) {
	var set []argv.Assignment
	for splits := 0; ; {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name == "-S" {
			ws, readable := Split(it.Value.Text)
			if splits++; it.Value.Open {
				r.Out.Maybe = true
				return
			} else if !readable || splits > 8 {
				r.Refuse("env -S puts words together that cannot be read; write them out", it.Value.Text)
				return
			}
			// The words stand where -S stood; options among them count again.
			r.Args, r.I = append(ws, r.Args[r.I:]...), 0
			continue
		}
		if it.Name != "" {
			if it.Unknown {
				r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
			}
			r.Apply(it)
			continue
		}
		if it.Word.Text == "-" && !it.Word.Open {
			continue
		}
		name, value, assigned := strings.Cut(it.Word.Text, "=")
		switch {
		case r.Lost:
			r.Out.Maybe = true
			return
		case assigned:
			set = append(set, argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: it.Word.Open, Fed: it.Word.Fed}})
			r.Ended = true
		case it.Word.Open: // an assignment or a program
			r.Out.Maybe = true
			return
		case !r.Idle:
			r.StartWith(r.Name, r.Args[it.At:], set, r.C.More)
			return
		}
	}
	if r.C.More && !r.Idle {
		r.Bare()
	}
}

// readXargs reads xargs: what it reads stands for {} or behind the command.
func readXargs(r *runningReader) {
	replace, set := "", []argv.Assignment(nil)
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Name == "-I" || it.Name == "-J":
			if replace = it.Value.Text; it.Value.Open {
				r.Out.Maybe = true
				return
			}
		case it.Name == "-i":
			if replace = it.Value.Text; replace == "" {
				replace = "{}"
			}
		case it.Name == "--process-slot-var":
			set = append(set, argv.Assignment{Name: it.Value.Text, Value: argv.Word{Open: true, Fed: true}})
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost:
			return
		default:
			if r.Idle {
				return
			}
			ws, _ := fill(r.Args[it.At:], replace, argv.Word{Open: true, Fed: true})
			if ws[0].Open && ws[0].Fed {
				r.Refuse("the program that it starts comes from its input", it.Word.Text)
				return
			}
			r.StartWith(r.Name, ws, set, replace == "" || r.C.More)
			return
		}
	}
	if r.C.More {
		r.Bare()
	}
}

// readSudo reads sudo and doas: assignments may stand in front of the command.
func readSudo(r *runningReader) {
	var set []argv.Assignment
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Name == "-E" && it.Value.Text != "" || it.Name == "-c" && r.Name == "sudo":
		case r.Name == "doas" && it.Name == "-C":
			r.Refuse("it takes its rules from a file", it.Name)
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost:
			return
		default:
			name, value, assigned := strings.Cut(it.Word.Text, "=")
			if assigned && !strings.Contains(name, "/") {
				set = append(set, argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: it.Word.Open}})
				r.Ended = true
				continue
			}
			if !r.Idle {
				r.StartWith(r.Name, r.Args[it.At:], set, r.C.More)
			}
			return
		}
	}
	if r.C.More && !r.Idle {
		r.Bare()
	}
}

// readSu reads su and runuser: a text, a command behind -u, or a shell.
func readSu(r *runningReader) {
	user, some := false, false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "u":
			user = true
		case it.Name != "":
			some = some || it.Effect == "s"
			r.Apply(it)
		case r.Lost:
			return
		case user:
			if !r.Idle {
				r.Start(r.Name, r.Args[it.At:])
			}
			return
		}
	}
	if !some && !user && !r.Idle {
		r.ShellStdin("sh")
	}
}

// readSetarch reads setarch: an architecture may stand in front of the options.
func readSetarch(r *runningReader) {
	if r.Name == "setarch" && len(r.Args) > 0 && !r.Args[0].Open && !strings.HasPrefix(r.Args[0].Text, "-") {
		r.I++
	}
	r.Row.Rest, r.Row.Flags = Command, bareShell
	r.Plain()
}

func readDirenv(r *runningReader) {
	text, ok := r.First()
	switch {
	case !ok:
		r.Out.Maybe = len(r.Args) > 0 || r.C.More
	case text == "exec" && len(r.Args) > 2:
		r.Start("direnv exec", r.Args[2:])
		r.Refuse("it runs the .envrc of a folder", text)
	case text == "status" || text == "version" || text == "--version" || text == "help":
	default:
		r.Refuse("it runs the .envrc of a folder", text)
	}
}

// readWatch reads watch: a text for sh, or with -x a command.
func readWatch(r *runningReader) {
	exec := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name != "" {
			exec = exec || it.Name == "-x"
			r.Row.Rest = Command
			r.Apply(it)
			continue
		}
		switch {
		case r.Lost, r.Idle:
		case exec:
			r.Start("watch -x", r.Args[it.At:])
		default:
			r.Text("watch", Join(r.Args[it.At:], r.C.More))
		}
		return
	}
	r.Bare()
}

// readScript reads script: -c text, else a shell; BSD's has a command behind the
// file.
func readScript(r *runningReader) {
	some, files := false, 0
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name != "" {
			some = some || it.Name == "-c"
			r.Apply(it)
			continue
		}
		if files++; files == 2 {
			r.Start("script", r.Args[it.At:])
			return
		}
	}
	if !some && !r.Idle {
		r.ShellStdin("sh")
	}
}

// readFlock reads flock: a file, then a command or -c and a text.
func readFlock(r *runningReader) {
	files := 0
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost:
			return
		case files == 0:
			files++
			if r.I < len(r.Args) && r.Args[r.I].Text != "-c" && r.Args[r.I].Text != "--command" {
				r.Ended = true
			}
		default:
			if !r.Idle {
				r.Start("flock", r.Args[it.At:])
			}
			return
		}
	}
	if r.C.More && !r.Idle {
		r.Bare()
	}
}

// readBusybox reads busybox: the applet is the command.
func readBusybox(r *runningReader) {
	text, ok := r.First()
	switch {
	case !ok:
		r.Out.Maybe = len(r.Args) > 0 || r.C.More
	case text == "--list" || text == "--list-full" || text == "--help":
	case strings.HasPrefix(text, "-"):
		r.Refuse("it puts links to itself under the names of others", text)
	default:
		ws := append([]argv.Word{argv.Known(text[strings.LastIndexByte(text, '/')+1:])}, r.Args[1:]...)
		r.Start(r.Name, ws)
	}
}

// readEntr reads entr: a command, with -s a text.
func readEntr(r *runningReader) {
	shell := false
	r.Row.Rest = Command
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name != "" {
			shell = shell || it.Name == "-s"
			r.Apply(it)
			continue
		}
		if r.Lost {
			return
		}
		if shell {
			r.Text("entr -s", Join(r.Args[it.At:], r.C.More))
			return
		}
		ws, _ := fill(r.Args[it.At:], "/_", argv.Word{Open: true, Fed: true})
		r.Start("entr", ws)
		return
	}
	r.Bare()
}

// readTexts reads programs of which each operand is shell text.
func readTexts(r *runningReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		if it.Name != "" {
			r.Apply(it)
		} else {
			r.Text(r.Name, it.Word)
		}
	}
}

// readSg reads sg: a group, then -c and a text, or a text.
func readSg(r *runningReader) {
	for i, w := range r.Args {
		switch {
		case w.Open:
			r.Out.Maybe = true
			return
		case w.Text == "-" || i == 0 || w.Text == "-c":
		default:
			r.Text("sg", w)
			return
		}
	}
	r.ShellStdin("sh")
}

// readTerminal reads programs that open a shell or a terminal.
func readTerminal(r *runningReader) {
	for _, w := range r.Args {
		switch w.Text {
		case "-ls", "-list", "--list", "-wipe", "-v", "--version", "--help", "-h", "-V", "list-sessions", "ls":
			if len(r.Args) == 1 && !w.Open {
				return
			}
		}
	}
	r.Refuse("it opens a shell of its own", r.Name)
}

// readTmux reads tmux: nothing but what lists and ends.
func readTmux(r *runningReader) {
	for i := 0; i < len(r.Args); i++ {
		w := r.Args[i]
		if w.Open {
			r.Out.Maybe = true
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
			for _, o := range r.Args[i+1:] {
				if strings.HasSuffix(o.Text, ";") || o.Open || strings.Contains(o.Text, "#(") {
					r.Refuse("tmux runs what follows as well", o.Text)
				}
			}
			return
		}
		break
	}
	r.Refuse("it starts shells, or types into them", r.Name)
}

// readDebugger reads gdb and lldb: the program is started, commands may be any.
func readDebugger(r *runningReader) {
	r.Row.Opts = "-ex,-eval-command= -iex,-init-eval-command= -x,-command=! -ix,-init-command=! -o,-one-line= -O,-one-line-before-file= -s,-source=! -S,-source-before-file=! -k=! -K=! -batch -batch-silent -q,-quiet,-silent -nx,-n -nh -nw -args -p,-pid,-attach-pid= -c,-core= -e,-exec,-se,-symbols,-file= -cd= -d,-directory= -tty= -tui -return-child-result -ll= -python,-P,-R! -i,-interpreter= -b -X,-arch,-a= -version,-v,-help,-h~"
	r.Row.Flags = longOnly
	some := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Name == "-ex" || it.Name == "-iex" || it.Name == "-o" || it.Name == "-O":
			some = true
			if it.Value.Open {
				r.Out.Maybe = true
			} else if !debuggerHarmless(it.Value.Text) {
				r.Refuse("a debugger's command may start anything", it.Value.Text)
			}
		case it.Name == "-args":
			if r.I < len(r.Args) {
				r.Start(r.Name, r.Args[r.I:])
				r.I = len(r.Args)
			}
		case it.Unknown && r.Ended:
		case it.Name != "":
			r.Apply(it)
		case r.Ended && r.Name == "lldb":
			r.Start(r.Name, r.Args[it.At:])
			return
		default:
			r.Start(r.Name, []argv.Word{it.Word})
		}
	}
	if !some && !r.Idle {
		r.Out.Stdin = "gdb"
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
func readPerf(r *runningReader) {
	text, ok := r.First()
	if !ok {
		r.Out.Maybe = len(r.Args) > 0 || r.C.More
		return
	}
	switch text {
	case "record", "stat", "trace", "mem", "c2c", "kvm", "lock", "sched", "ftrace", "timechart":
	case "report", "annotate", "script":
		r.Out.Interpreter = text == "script"
		for _, w := range r.Args[1:] {
			switch {
			case w.Open:
				r.Out.Maybe = true
			case strings.HasPrefix(w.Text, "--objdump") || strings.HasPrefix(w.Text, "--addr2line") || w.Text == "-s" && text == "script":
				r.Refuse(r.Because(), w.Text)
			}
		}
		return
	default:
		return
	}
	r.Row.Opts = "-a,--all-cpus -b,--branch-any -B,--big-num -c,--count= -C,--cpu= -d,--detailed -D,--delay= -e,--event= -F,--freq= -g -G,--cgroup= -i,--no-inherit -I,--interval-print= -j,--branch-filter= --call-graph= -m,--mmap-pages= -M,--metrics= -n,--null -N,--no-buildid-cache -o,--output= -p,--pid= -q,--quiet -r,--repeat= -s,--stat -S,--sync -t,--tid= -T -u,--uid= -v,--verbose -W,--weight -x,--field-separator= -z --pre=s --post=s --timeout= --no-aggr,-A --per-core --per-socket --per-thread --all-user --all-kernel --clang-path=! --clang-opt=! -h,--help~"
	r.Row.Rest, r.Row.Flags = Command, 0
	r.I++
	r.Plain()
}

// readCapsh reads capsh: what stands behind -- or == are words of a shell.
func readCapsh(r *runningReader) {
	for i, w := range r.Args {
		switch {
		case w.Open:
			r.Out.Maybe = true
			return
		case w.Text == "--" || w.Text == "==" || w.Text == "-+" || w.Text == "=+":
			r.Start("capsh", append([]argv.Word{argv.Known("bash")}, r.Args[i+1:]...))
			return
		case strings.HasPrefix(w.Text, "--shell"), strings.HasPrefix(w.Text, "--chroot"):
			r.Refuse("it says which shell starts", w.Text)
		}
	}
}
