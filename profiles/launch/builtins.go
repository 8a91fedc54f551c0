package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// builtinRow finds what the shell does itself that may run commands.
func builtinRow(name string) (row, bool) {
	switch name {
	case "command":
		return row{own: readCommand}, true
	case "builtin":
		return row{own: readCommand}, true
	case "exec":
		return row{own: readExec}, true
	case "eval":
		return row{own: readEval}, true
	case "trap":
		return row{own: readTrap}, true
	case "source", ".":
		return row{own: readSource}, true
	case "alias":
		return row{own: readAlias}, true
	case "mapfile", "readarray":
		return row{opts: "-C=! -c= -d= -n= -O= -s= -t -u=", why: "-C runs a command for each line; use a loop"}, true
	case "compgen", "complete", "compopt":
		return row{opts: "-C=! -F=! -A= -G= -P= -S= -W= -X= -a -b -c -d -e -f -g -j -k -s -u -v -o= -p -r -D -E -I", why: "it runs a command to complete words"}, true
	case "bind":
		return row{opts: "-x=! -f=! -m= -l -p -P -s -S -v -V -q= -u= -r= -X", why: "it runs a command on a key"}, true
	case "enable":
		return row{opts: "-f=! -d! -n! -a -p -s", why: "it changes which builtins there are"}, true
	case "hash":
		return row{opts: "-p=! -d -l -r -t", why: "it changes which program a name means"}, true
	case "jobs":
		return row{own: readJobs}, true
	case "fc":
		return row{opts: "-l~ -e=! -s! -n -r", rest: operands, own: readFc}, true
	default:
		return row{}, false
	}
}

// inner notes a command that the shell runs itself: it may be a builtin.
func (r *reader) inner(via string, ws []words.Word) {
	if len(ws) > 0 {
		r.out.Commands = append(r.out.Commands, Start{Command: words.Command{Words: ws, More: r.c.More}, Via: via})
	}
}

// readCommand reads command and builtin.
func readCommand(r *reader) {
	tells := false
	for i, w := range r.args {
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.out.Maybe = true
			return
		case w.Text == "--":
			if !tells {
				r.inner(r.name, r.args[i+1:])
			}
			return
		case len(w.Text) > 1 && w.Text[0] == '-' && r.name == "command" && strings.Trim(w.Text[1:], "pvV") == "":
			tells = tells || strings.ContainsAny(w.Text, "vV")
		case strings.HasPrefix(w.Text, "-"):
			r.refuse("an option is not known, so neither is the command behind it", w.Text)
			return
		default:
			if !tells {
				r.inner(r.name, r.args[i:])
			}
			return
		}
	}
}

// readExec reads exec: it takes no options here.
func readExec(r *reader) {
	if len(r.args) == 0 {
		return
	}
	switch w := r.args[0]; {
	case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
		r.out.Maybe = true
	case w.Text == "--":
		r.inner("exec", r.args[1:])
	case strings.HasPrefix(w.Text, "-"):
		r.refuse("exec with options gives a program another name or environment", w.Text)
	default:
		r.inner("exec", r.args)
	}
}

// own notes text that the shell runs itself.
func (r *reader) ownText(w words.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	r.out.Scripts = append(r.out.Scripts, words.Script{Text: w.Text, Known: true, Chain: []string{r.name}})
}

func readEval(r *reader) {
	ws := r.args
	if len(ws) > 0 && ws[0].Text == "--" && !ws[0].Open {
		ws = ws[1:]
	}
	if len(ws) > 0 {
		r.ownText(join(ws, r.c.More))
	}
}

// readTrap reads trap: the first operand is text where signals follow it.
func readTrap(r *reader) {
	ws := r.args
	for len(ws) > 0 {
		w := ws[0]
		switch {
		case w.Open && (w.Text == "" || w.Many):
			r.out.Maybe = true
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
	ws := r.args
	if len(ws) > 0 && ws[0].Text == "--" && !ws[0].Open {
		ws = ws[1:]
	}
	switch {
	case len(ws) == 0:
		if r.c.More {
			r.out.Maybe = true
		}
	case ws[0].Many && ws[0].Text == "":
		r.out.Maybe = true
	case !ws[0].Open && stdinFile(ws[0].Text):
		r.out.Scripts = append(r.out.Scripts, words.Script{Params: ws[1:], Chain: []string{r.name}})
	default:
		r.refuse("a file's text is not read before it runs; put it into the script", ws[0].Text)
	}
}

// readAlias reads alias: what a name is to stand for.
func readAlias(r *reader) {
	for _, w := range r.args {
		_, text, ok := strings.Cut(w.Text, "=")
		switch {
		case !ok && w.Open:
			r.out.Maybe = true
		case ok:
			r.ownText(words.Word{Text: text, Open: w.Open})
		}
	}
}

func readJobs(r *reader) {
	for i, w := range r.args {
		if w.Open {
			r.out.Maybe = true
		} else if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "x") {
			r.inner("jobs -x", r.args[i+1:])
			return
		}
	}
}

func readFc(r *reader) {
	for _, w := range r.args {
		if !w.Open && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "l") {
			return
		}
	}
	r.refuse("it runs commands of before again", r.name)
}
