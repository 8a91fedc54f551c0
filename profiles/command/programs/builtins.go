package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// reader is the engine's, with what this package reads by itself.
type reader struct{ *Reader }

// own makes a reader of this package one of the engine.
func own(f func(*reader)) func(*Reader) {
	return func(r *Reader) { f(&reader{r}) }
}

// builtinRow finds what the shell does itself that may run commands.
func builtinRow(name string) (row, bool) {
	switch name {
	case "command":
		return row{Own: own(readCommand)}, true
	case "builtin":
		return row{Own: own(readCommand)}, true
	case "exec":
		return row{Own: own(readExec)}, true
	case "eval":
		return row{Own: own(readEval)}, true
	case "trap":
		return row{Own: own(readTrap)}, true
	case "source", ".":
		return row{Own: own(readSource)}, true
	case "alias":
		return row{Own: own(readAlias)}, true
	case "mapfile", "readarray":
		return row{Opts: "-C=! -c= -d= -n= -O= -s= -t -u=", Why: "-C runs a command for each line; use a loop"}, true
	case "compgen", "complete", "compopt":
		return row{Opts: "-C=! -F=! -A= -G= -P= -S= -W= -X= -a -b -c -d -e -f -g -j -k -s -u -v -o= -p -r -D -E -I", Why: "it runs a command to complete words"}, true
	case "bind":
		return row{Opts: "-x=! -f=! -m= -l -p -P -s -S -v -V -q= -u= -r= -X", Why: "it runs a command on a key"}, true
	case "enable":
		return row{Opts: "-f=! -d! -n! -a -p -s", Why: "it changes which builtins there are"}, true
	case "hash":
		return row{Opts: "-p=! -d -l -r -t", Why: "it changes which program a name means"}, true
	case "jobs":
		return row{Own: own(readJobs)}, true
	case "fc":
		return row{Opts: "-l~ -e=! -s! -n -r", Rest: operands, Own: own(readFc)}, true
	default:
		return row{}, false
	}
}

// inner notes a command that the shell runs itself: it may be a builtin.
func (r *reader) inner(via string, ws []argv.Word) {
	if len(ws) > 0 {
		r.Out.Commands = append(r.Out.Commands, Start{Command: argv.Command{Words: ws, More: r.C.More}, Via: via})
	}
}

// readCommand reads command and builtin.
func readCommand(r *reader) {
	tells := false
	for i, w := range r.Args {
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.Out.Maybe = true
			return
		case w.Text == "--":
			if !tells {
				r.inner(r.Name, r.Args[i+1:])
			}
			return
		case len(w.Text) > 1 && w.Text[0] == '-' && r.Name == "command" && strings.Trim(w.Text[1:], "pvV") == "":
			tells = tells || strings.ContainsAny(w.Text, "vV")
		case strings.HasPrefix(w.Text, "-"):
			r.Refuse("an option is not known, so neither is the command behind it", w.Text)
			return
		default:
			if !tells {
				r.inner(r.Name, r.Args[i:])
			}
			return
		}
	}
}

// readExec reads exec: it takes no options here.
func readExec(r *reader) {
	if len(r.Args) == 0 {
		return
	}
	switch w := r.Args[0]; {
	case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
		r.Out.Maybe = true
	case w.Text == "--":
		r.inner("exec", r.Args[1:])
	case strings.HasPrefix(w.Text, "-"):
		r.Refuse("exec with options gives a program another name or environment", w.Text)
	default:
		r.inner("exec", r.Args)
	}
}

// own notes text that the shell runs itself.
func (r *reader) ownText(w argv.Word) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	r.Out.Scripts = append(r.Out.Scripts, argv.Script{Text: w.Text, Known: true, Chain: []string{r.Name}})
}

func readEval(r *reader) {
	ws := r.Args
	if len(ws) > 0 && ws[0].Text == "--" && !ws[0].Open {
		ws = ws[1:]
	}
	if len(ws) > 0 {
		r.ownText(Join(ws, r.C.More))
	}
}

// readTrap reads trap: the first operand is text where signals follow it.
func readTrap(r *reader) {
	ws := r.Args
	for len(ws) > 0 {
		w := ws[0]
		switch {
		case w.Open && (w.Text == "" || w.Many):
			r.Out.Maybe = true
			return
		case w.Text == "--" && !w.Open:
			ws = ws[1:]
		case (w.Text == "-l" || w.Text == "-p" || w.Text == "-P") && !w.Open:
			return
		default:
			if w.Text == "-" || w.Text == "" {
				return
			}
			if len(ws) == 1 { // a signal that is to be as it was
				return
			}
			r.ownText(w)
			return
		}
		if w.Text == "--" && len(ws) > 0 && ws[0].Text == "--" {
			return
		}
	}
}

// readSource reads source: a file that nobody has read, or standard input.
func readSource(r *reader) {
	ws := r.Args
	if len(ws) > 0 && ws[0].Text == "--" && !ws[0].Open {
		ws = ws[1:]
	}
	switch {
	case len(ws) == 0:
		if r.C.More {
			r.Out.Maybe = true
		}
	case ws[0].Many && ws[0].Text == "":
		r.Out.Maybe = true
	case !ws[0].Open && stdinFile(ws[0].Text):
		r.Out.Scripts = append(r.Out.Scripts, argv.Script{Params: ws[1:], Chain: []string{r.Name}})
	default:
		r.Refuse("a file's text is not read before it runs; put it into the script", ws[0].Text)
	}
}

// readAlias reads alias: what a name is to stand for.
func readAlias(r *reader) {
	for _, w := range r.Args {
		_, text, ok := strings.Cut(w.Text, "=")
		switch {
		case !ok && w.Open:
			r.Out.Maybe = true
		case ok:
			r.ownText(argv.Word{Text: text, Open: w.Open})
		}
	}
}

func readJobs(r *reader) {
	for i, w := range r.Args {
		if w.Open {
			r.Out.Maybe = true
		} else if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "x") {
			r.inner("jobs -x", r.Args[i+1:])
			return
		}
	}
}

func readFc(r *reader) {
	for _, w := range r.Args {
		if !w.Open && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "l") {
			return
		}
	}
	r.Refuse("it runs commands of before again", r.Name)
}
