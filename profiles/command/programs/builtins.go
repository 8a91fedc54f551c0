package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// inner notes a command that the shell runs itself. It may be a builtin.
func inner(r *reader, via string, ws []argv.Word) {
	if len(ws) > 0 {
		r.out.Commands = append(r.out.Commands, Start{Command: argv.Command{Words: ws, More: r.command.More}, Via: via})
	}
}

// innerText notes text that the shell runs itself.
func innerText(r *reader, w argv.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	r.out.Scripts = append(r.out.Scripts, argv.Script{Text: w.Text, Known: true, Chain: []string{r.name}})
}

// withoutDashes returns words without a leading --.
func withoutDashes(ws []argv.Word) []argv.Word {
	if len(ws) > 0 && ws[0].Text == "--" && !ws[0].Open {
		return ws[1:]
	}
	return ws
}

// readCommand reads command and builtin.
func readCommand(r *reader) {
	tells := false
	for i, w := range r.args {
		rest := r.args[i:]
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.out.Maybe = true
			return
		case w.Text == "--":
			rest = rest[1:]
		case len(w.Text) > 1 && w.Text[0] == '-' && r.name == "command" && strings.Trim(w.Text[1:], "pvV") == "":
			tells = tells || strings.ContainsAny(w.Text, "vV")
			continue
		case strings.HasPrefix(w.Text, "-"):
			r.refuse(unknownOption, w.Text)
			return
		}
		if !tells {
			inner(r, r.name, rest)
		}
		return
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
		inner(r, "exec", r.args[1:])
	case strings.HasPrefix(w.Text, "-"):
		r.refuse("exec with options gives a program another name or environment", w.Text)
	default:
		inner(r, "exec", r.args)
	}
}

func readEval(r *reader) {
	if ws := withoutDashes(r.args); len(ws) > 0 {
		innerText(r, join(ws, r.command.More))
	}
}

// readTrap reads trap: the first operand is text if signals follow it.
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
		case w.Text == "-" || w.Text == "" || len(ws) == 1: // a signal alone is reset
			return
		default:
			innerText(r, w)
			return
		}
		if w.Text == "--" && len(ws) > 0 && ws[0].Text == "--" {
			return
		}
	}
}

// readSource reads source: a file that has not been checked, or standard input.
func readSource(r *reader) {
	ws := withoutDashes(r.args)
	switch {
	case len(ws) == 0:
		r.out.Maybe = r.command.More
	case ws[0].Many && ws[0].Text == "":
		r.out.Maybe = true
	case !ws[0].Open && isStdin(ws[0].Text):
		r.out.Scripts = append(r.out.Scripts, argv.Script{Params: ws[1:], Chain: []string{r.name}})
	default:
		r.refuse("ringd does not read this file before it runs; put its text into the script", ws[0].Text)
	}
}

// readAlias reads alias: the text of a new alias.
func readAlias(r *reader) {
	for _, w := range r.args {
		_, text, ok := strings.Cut(w.Text, "=")
		switch {
		case !ok && w.Open:
			r.out.Maybe = true
		case ok:
			innerText(r, argv.Word{Text: text, Open: w.Open})
		}
	}
}

func readJobs(r *reader) {
	for i, w := range r.args {
		if w.Open {
			r.out.Maybe = true
		} else if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "x") {
			inner(r, "jobs -x", r.args[i+1:])
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
