package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readFind reads find: -exec and similar actions are followed by a command, in which {} is a found file.
func readFind(r *reader) {
	i, starts := findPlaces(r)
	for ; i < len(r.args); i++ {
		w := r.args[i]
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.out.Maybe = true
		case w.Open:
		case w.Text == "-files0-from":
			i++
			starts = append(starts, argv.Word{Open: true, Fed: true})
		case w.Text == "-exec" || w.Text == "-execdir" || w.Text == "-ok" || w.Text == "-okdir":
			i = findCommand(r, w.Text, i+1, starts)
		case w.Text == "-fprintf":
			i += 2
		default:
			if r.row.has("valued", w.Text) || strings.HasPrefix(w.Text, "-newer") {
				i++
			}
			if i < len(r.args) && r.args[i].Many {
				r.out.Maybe = true
			}
		}
	}
	if r.command.More {
		r.out.Maybe = true
	}
}

// findPlaces reads where find searches, and returns where its expression begins.
func findPlaces(r *reader) (i int, starts []argv.Word) {
	for ; i < len(r.args); i++ {
		w := r.args[i]
		switch t := w.Text; {
		case w.Open && (t == "" || w.Many):
			r.out.Maybe = r.out.Maybe || !w.Fed || len(starts) == 0
			starts = append(starts, w)
		case t == "-D" || t == "-f":
			i++
		case r.row.has("known", t), strings.HasPrefix(t, "-O"):
		case strings.HasPrefix(t, "-"), t == "(", t == "!", t == ")", t == ",":
			return i, starts
		default:
			starts = append(starts, w)
		}
	}
	return i, starts
}

// findCommand reads the command after -exec, from args[i] on, and returns where it ends.
func findCommand(r *reader, action string, i int, starts []argv.Word) int {
	end, plus := i, false
	for ; end < len(r.args); end++ {
		w := r.args[end]
		if w.Many || w.Open && w.Text == "" && end == i {
			r.out.Maybe = true
			return len(r.args)
		}
		if w.Open {
			continue
		}
		if w.Text == ";" {
			break
		}
		before := r.args[max(end-1, i)]
		plus = w.Text == "+" && !strings.HasPrefix(action, "-ok") && before.Text == "{}" && !before.Open
		if plus {
			break
		}
	}
	ws := r.args[i:end]
	switch {
	case end == len(r.args):
		r.refuse("the command behind it does not end", action)
		return end
	case len(ws) == 0:
		return end
	case len(starts) > 64:
		r.refuse("it searches in too many places to check its command", action)
		return end
	case strings.Contains(ws[0].Text, "{}"):
		r.refuse("it would start the files that it finds", action)
		return end
	}
	if len(starts) == 0 {
		starts = []argv.Word{argv.Known(".")}
	}
	if strings.HasSuffix(action, "dir") {
		starts = []argv.Word{argv.Known("./")}
	}
	for _, s := range starts {
		filled, some := fill(ws, "{}", argv.Word{Text: s.Text, Fed: true})
		r.startWith(r.name+" "+action, filled, nil, false)
		if !some {
			break
		}
	}
	return end
}

// readFd reads fd: -x and -X are followed by a command up to ";".
func readFd(r *reader) {
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-") && !joined):
			r.out.Maybe = true
			continue
		case w.Text == "--" && !w.Open:
			return
		case !strings.HasPrefix(w.Text, "-"):
			continue
		case r.row.has("valued", name) && !joined:
			i++
			continue
		}
		short, runs := fdRuns(name)
		if !runs {
			continue
		}
		rest := r.args[i+1:]
		if short {
			value = name[strings.IndexAny(name, "xX")+1:]
		}
		if value != "" {
			rest = prepend(argv.Word{Text: value, Open: w.Open}, rest)
		}
		fdCommand(r, rest)
		end := slices.IndexFunc(r.args[i+1:], func(w argv.Word) bool { return w.Text == ";" && !w.Open })
		if end < 0 {
			return
		}
		i += end + 1
	}
	if r.command.More {
		r.out.Maybe = true
	}
}

// fdRuns reports whether an option of fd is followed by a command.
func fdRuns(name string) (short, runs bool) {
	if strings.HasPrefix(name, "--") {
		return false, len(name) > 3 && (strings.HasPrefix("--exec", name) || strings.HasPrefix("--exec-batch", name))
	}
	at := strings.IndexAny(name, "xX")
	short = at >= 0 && !strings.ContainsAny(name[:at], "edtESjoc")
	return short, short
}

// fdCommand reads the command of fd.
func fdCommand(r *reader, ws []argv.Word) {
	for i, w := range ws {
		if w.Text == ";" && !w.Open {
			ws = ws[:i]
			break
		}
		if w.Many {
			r.out.Maybe = true
			return
		}
	}
	if len(ws) == 0 {
		return
	}
	some := false
	for _, mark := range r.row.list("input") {
		if strings.Contains(ws[0].Text, mark) {
			r.refuse("it would start the files that it finds", ws[0].Text)
			return
		}
		var filled bool
		ws, filled = fill(ws, mark, argv.Word{Text: "./", Fed: true})
		some = some || filled
	}
	if !some {
		ws = append(ws[:len(ws):len(ws)], argv.Word{Text: "./", Open: true, Fed: true})
	}
	r.start(r.name+" --exec", ws)
}

// readParallel reads GNU parallel: a command line for a shell, filled with the words after ::: or with lines
// of standard input.
func readParallel(r *reader) {
	var template, lists []argv.Word
	files, own := false, ""
	for _, w := range r.args {
		if strings.Contains(w.Text, "{=") {
			r.refuse("it runs a program of perl to build its commands", w.Text)
			return
		}
	}
	for it := range r.items {
		switch {
		case it.effect == "commands":
			files = true
			continue
		case it.name == "-I":
			own = it.value.Text
			r.out.Maybe = r.out.Maybe || it.value.Open
			continue
		case it.unknown:
			r.refuse(unknownOption, it.word.Text)
			return
		case it.name != "":
			r.apply(it)
			continue
		case r.lost:
			return
		}
		template = r.args[it.at:]
		break
	}
	listed, fromFiles := false, files
	for i, w := range template {
		if w.Many {
			r.out.Maybe = true
			return
		}
		if strings.HasPrefix(w.Text, ":::") && !w.Open {
			listed = true
			lists, template = template[i+1:], template[:i]
			fromFiles = fromFiles || strings.HasPrefix(w.Text, "::::") ||
				slices.ContainsFunc(lists, func(w argv.Word) bool { return strings.HasPrefix(w.Text, "::::") })
			break
		}
	}
	switch {
	case r.idle:
	case len(template) > 0:
		parallelTemplate(r, template, own)
	case fromFiles:
		r.refuse("its commands are in a file", r.name)
	case !listed || r.command.More:
		r.shellInput() // each line of standard input is a command
	default:
		for _, w := range lists {
			if !strings.HasPrefix(w.Text, ":::") || w.Open {
				r.text(r.name, w)
			}
		}
	}
}

// parallelTemplate reads the command of parallel: words that a shell reads, with something for each mark, or at the
// end. own is the mark of -I.
func parallelTemplate(r *reader, ws []argv.Word, own string) {
	plain := !slices.ContainsFunc(ws, func(w argv.Word) bool {
		return strings.ContainsAny(w.Text, " \t\n;|&$`<>()'\"\\*?[]#~!")
	})
	first, _, _ := strings.Cut(strings.TrimLeft(ws[0].Text, " \t"), " ")
	if at, _ := parallelMark(first, own); at >= 0 {
		r.refuse("the program that it starts comes from its input", ws[0].Text)
		return
	}
	if !plain {
		parallelText(r, join(ws, false), own)
		return
	}
	out, some := make([]argv.Word, len(ws)), false
	for i, w := range ws {
		out[i] = w
		if at, _ := parallelMark(w.Text, own); at >= 0 {
			out[i], some = argv.Word{Text: w.Text[:at], Open: true, Fed: true}, true
		}
	}
	r.startWith(r.name, out, nil, !some)
}

// parallelText reads shell text in which parallel fills in words. Each of them is a parameter of the text.
func parallelText(r *reader, w argv.Word, own string) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	var b strings.Builder
	text, quote, some := w.Text, byte(0), false
	for text != "" {
		if at, length := parallelMark(text, own); at == 0 && !strings.HasSuffix(b.String(), "$") {
			if quote == '\'' {
				r.refuse("what it fills in stands in quotes, where ringd cannot read it", w.Text)
				return
			}
			b.WriteString(map[byte]string{0: `"$1"`, '"': `${1}`}[quote])
			text, some = text[length:], true
			continue
		}
		n := 1
		switch c := text[0]; {
		case c == '\\' && quote != '\'' && len(text) > 1:
			n = 2
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	if !some {
		b.WriteString(` "$1"`)
	}
	params := []argv.Word{argv.Known(r.name), {Open: true, Fed: true}}
	r.script(r.name, argv.Known(b.String()), "sh", params, true)
}

// parallelMark finds the first text that parallel replaces: the mark of -I, or braces with a name in them. at is -1
// if there is none.
func parallelMark(text, own string) (at, length int) {
	for at = range len(text) {
		if own != "" && strings.HasPrefix(text[at:], own) {
			return at, len(own)
		}
		if text[at] != '{' {
			continue
		}
		end := strings.IndexAny(text[at+1:], " \t\n{},;|&$`<>()'\"\\")
		if end >= 0 && text[at+1+end] == '}' {
			return at, end + 2
		}
	}
	return -1, 0
}
