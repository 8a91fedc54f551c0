package programs

import (
	"strings"
)

// rare are programs whose operands are a command, and that few have.
func rare(name string) (row, bool) {
	switch name {
	case "ccache", "distcc", "scan-build", "intercept-build", "grc", "jc", "systemd-inhibit", "systemd-cat", "aa-exec":
		return row{Opts: "--version,--help,-h,-V~ -o,--output= -s,--show-stats~ -z,--zero-stats~ -C,--clear~ -p,--priority,--profile= -t,--identifier= -n,--namespace= -d= -u= -q -v -i -f --what= --who= --why= --mode= --list~ --use-cc=! --use-c++=! --use-analyzer=!", Rest: Command}, true
	case "choom", "uclampset":
		return row{Opts: "-n,--adjust= -p,--pid=~ -m= -M= -a -s -R -v -h,--help,-V,--version~", Rest: Command}, true
	case "kcov", "envdir", "envchain":
		return row{Opts: "--help,--version,--list~ --include-path? --exclude-path? --include-pattern? --exclude-pattern? --set,-s~", Rest: Command, Skip: 1}, true
	case "runcon":
		return row{Own: ownRunning(readRuncon), Opts: "-c,--compute -t,--type= -u,--user= -r,--role= -l,--range= --help,--version~", Rest: Command}, true
	case "msgexec", "msgfilter":
		return row{Opts: "-i,--input= -D,--directory= -o,--output-file= -P -p -w,--width= -h,--help,-V,--version~", Rest: Command}, true
	case "bear", "aws-vault", "op", "doppler", "chamber", "dotenv", "dotenvx", "infisical", "sops", "teller", "summon", "coresched":
		return row{Own: ownRunning(readBehindDashes)}, true
	case "watchexec":
		return row{Opts: "-w,--watch= -W,--watch-non-recursive= -e,--exts= -f,--filter= -F,--watch-file= -i,--ignore= -r,--restart -c,--clear? -n -N,--notify -q,--quiet -p,--postpone -d,--debounce= -s,--signal= --stop-signal= --stop-timeout= -o,--on-busy-update= --poll? --shell=! -E,--env=! --project-origin= --workdir= -1,--once -v --print-events -I,--interactive --no-vcs-ignore --no-project-ignore --no-global-ignore --no-default-ignore --no-discover-ignore --emit-events-to= --wrap-process= -h,--help,-V,--version~", Rest: shellText}, true
	case "nodemon":
		return row{Opts: "-x,--exec=s -e,--ext= -w,--watch= -i,--ignore= -d,--delay= -C,--on-change-only -V,--verbose -q,--quiet -L,--legacy-watch -I,--no-stdin -s,--signal= --cwd= --config=! -h,--help,-v,--version~", Flags: runsFiles}, true
	case "cargo-watch", "reflex", "onchange", "when-changed", "chokidar", "air", "gow", "guard", "wr":
		return row{Own: Always("it runs what it is told each time a file changes; use a loop")}, true
	case "svn", "hg", "cvs", "bzr", "brz", "fossil", "tig", "lazygit", "jj":
		return row{Own: ownRunning(readRepository)}, true
	default:
		return row{}, false
	}
}

// readBehindDashes reads programs whose command stands behind --, or behind run or
// exec.
func readBehindDashes(r *runningReader) {
	runs := false
	for i, w := range r.Args {
		switch t := w.Text; {
		case w.Open && (t == "" || w.Many):
			r.Out.Maybe = true
			return
		case t == "--":
			r.Start(r.Name, r.Args[i+1:])
			return
		case t == "run" || t == "exec" || t == "exec-env" || t == "exec-file" || r.Name == "coresched" && (t == "new" || t == "copy"):
			runs = true
		case strings.HasPrefix(t, "--command") || t == "edit":
			r.Refuse("it runs the text of an option, or an editor", t)
		}
	}
	if runs || r.C.More || len(r.Args) > 0 && (r.Name == "bear" || r.Name == "summon" || strings.HasPrefix(r.Name, "dotenv")) {
		r.Refuse("put -- in front of the command, so that it can be read", r.Name)
	}
}

// readRepository reads other version control: options that name programs, and
// settings on the command line.
func readRepository(r *runningReader) {
	for i, w := range r.Args {
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many):
			r.Out.Maybe = r.Out.Maybe || !w.Fed
		case r.Name == "tig" || r.Name == "lazygit":
			r.Refuse("it is made for people and starts what they ask it to", t)
			return
		case strings.HasPrefix(t, "--config"), strings.HasPrefix(t, "--editor"), strings.HasPrefix(t, "--diff-cmd"), strings.HasPrefix(t, "--diff3-cmd"), strings.HasPrefix(t, "--merge-tool"), strings.HasPrefix(t, "--extensions"), strings.HasPrefix(t, "--ssh"), strings.HasPrefix(t, "--remotecmd"), strings.HasPrefix(t, "--tool"),
			r.Name == "hg" && (strings.HasPrefix(t, "--conf") || strings.HasPrefix(t, "-e") && i > 0 || t == "--debugger" || r.HasWord("bisect") && (t == "-c" || strings.HasPrefix(t, "--comm"))), r.Name == "cvs" && (t == "-e" || t == "-d"):
			r.Refuse("by this option it starts a program, or may", t)
		case i == 0 && r.Name == "hg" && (t == "extdiff" || t == "serve" || t == "debugshell"), i == 0 && r.Name == "fossil" && (t == "ui" || t == "server" || t == "shell"):
			r.Refuse("it starts programs", t)
		case strings.HasPrefix(t, "svn+") && !strings.HasPrefix(t, "svn+ssh://"), strings.HasPrefix(t, "svn+ssh://-"), strings.HasPrefix(t, "ssh://-"), strings.HasPrefix(t, ":ext:"):
			r.Refuse("this address is reached by a program", t)
		}
	}
}

// readRuncon reads runcon: without an option its first operand is a context.
func readRuncon(r *runningReader) {
	r.Row.Own, r.Row.Skip = nil, 1
	if len(r.Args) > 0 {
		switch w := r.Args[0]; {
		case w.Open && w.Text == "":
			r.Out.Maybe = true
		case strings.HasPrefix(w.Text, "-") && w.Text != "--":
			r.Row.Skip = 0
		}
	}
	r.Plain()
}
