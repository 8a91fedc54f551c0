package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readFind reads find: what stands behind -exec and its like is a command, with
// the files that are found for {}.
func readFind(r *runningReader) {
	var starts []argv.Word
	i := 0
	for ; i < len(r.Args); i++ {
		w := r.Args[i]
		switch t := w.Text; {
		case w.Open && (t == "" || w.Many):
			r.Out.Maybe = r.Out.Maybe || !w.Fed || len(starts) == 0
			starts = append(starts, w)
		case t == "-D" || t == "-f":
			i++
		case t == "-H" || t == "-L" || t == "-P" || t == "-E" || t == "-X" || t == "-d" || t == "-s" || t == "-x" || t == "--" || strings.HasPrefix(t, "-O"):
		case strings.HasPrefix(t, "-"), t == "(", t == "!", t == ")", t == ",":
			goto expression
		default:
			starts = append(starts, w)
		}
	}
expression:
	for ; i < len(r.Args); i++ {
		w := r.Args[i]
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.Out.Maybe = true
		case w.Open:
		case w.Text == "-files0-from":
			i++
			starts = append(starts, argv.Word{Open: true, Fed: true})
		case findRuns(w.Text):
			i = r.found(w.Text, i+1, starts)
		case w.Text == "-fprintf":
			i += 2
		default:
			i += findArgs(w.Text)
			if i < len(r.Args) && r.Args[i].Many {
				r.Out.Maybe = true
			}
		}
	}
	if r.C.More {
		r.Out.Maybe = true
	}
}

func findRuns(t string) bool { return t == "-exec" || t == "-execdir" || t == "-ok" || t == "-okdir" }

// findArgs is how many words belong to a test or an action of find.
func findArgs(t string) int {
	switch t {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname", "-ilname", "-regex", "-iregex", "-regextype", "-type", "-xtype",
		"-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-newer", "-anewer", "-cnewer", "-samefile", "-perm", "-user", "-group", "-uid", "-gid",
		"-links", "-inum", "-used", "-fstype", "-context", "-maxdepth", "-mindepth", "-printf", "-fprint", "-fprint0", "-fls", "-flags", "-Bmin", "-Btime", "-depth-n":
		return 1
	}
	if strings.HasPrefix(t, "-newer") {
		return 1
	}
	return 0
}

// found reads the command behind -exec, from args[i] on, and gives where it ends.
func (r *runningReader) found(action string, i int, starts []argv.Word) int {
	end, plus := i, false
	for ; end < len(r.Args); end++ {
		w := r.Args[end]
		if w.Many || w.Open && w.Text == "" && end == i {
			r.Out.Maybe = true
			return len(r.Args)
		}
		if w.Open {
			continue
		}
		if w.Text == ";" {
			break
		}
		if plus = w.Text == "+" && end > i && r.Args[end-1].Text == "{}" && !r.Args[end-1].Open; plus {
			break
		}
	}
	via := r.Name + " " + action
	ws := r.Args[i:end]
	switch {
	case end == len(r.Args):
		r.Refuse("the command behind it does not end", action)
		return end
	case len(ws) == 0:
		return end
	case len(starts) > 64:
		r.Refuse("it searches in too many places for its command to be judged", action)
		return end
	case strings.Contains(ws[0].Text, "{}"):
		r.Refuse("it would start the files that it finds", action)
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
		r.StartWith(via, filled, nil, false)
		if !some {
			break
		}
	}
	return end
}

// readFd reads fd: what stands behind -x or -X is a command up to ;.
func readFd(r *runningReader) {
	for i := 0; i < len(r.Args); i++ {
		w := r.Args[i]
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-") && !joined):
			r.Out.Maybe = true
			continue
		case w.Text == "--" && !w.Open:
			return
		case !strings.HasPrefix(w.Text, "-"):
			continue
		case fdValued(name) && !joined:
			i++
			continue
		}
		long := strings.HasPrefix(name, "--") && len(name) > 3 && (strings.HasPrefix("--exec", name) || strings.HasPrefix("--exec-batch", name))
		short := !strings.HasPrefix(name, "--") && strings.ContainsAny(name, "xX") && !strings.ContainsAny(name[:strings.IndexAny(name, "xX")], "edtESjoc")
		if !long && !short {
			continue
		}
		rest := r.Args[i+1:]
		if short {
			value = name[strings.IndexAny(name, "xX")+1:]
		}
		if value != "" {
			rest = append([]argv.Word{{Text: value, Open: w.Open}}, rest...)
		}
		r.fdCommand(rest)
		end := slices.IndexFunc(r.Args[i+1:], func(w argv.Word) bool { return w.Text == ";" && !w.Open })
		if end < 0 {
			return
		}
		i += end + 1
	}
	if r.C.More {
		r.Out.Maybe = true
	}
}

func fdValued(name string) bool {
	switch name {
	case "-e", "--extension", "-d", "--max-depth", "--min-depth", "--exact-depth", "-t", "--type", "-E", "--exclude", "-S", "--size", "-j", "--threads", "-o", "--owner", "-c", "--color", "--changed-within", "--changed-before", "--search-path", "--base-directory", "--max-results", "--batch-size", "--path-separator", "--ignore-file", "--format", "--and":
		return true
	default:
		return false
	}
}

// fdCommand reads the command of fd.
func (r *runningReader) fdCommand(ws []argv.Word) {
	for i, w := range ws {
		if w.Text == ";" && !w.Open {
			ws = ws[:i]
			break
		}
		if w.Many {
			r.Out.Maybe = true
			return
		}
	}
	if len(ws) == 0 {
		return
	}
	found := argv.Word{Text: "./", Fed: true}
	some := false
	for _, mark := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
		if strings.Contains(ws[0].Text, mark) {
			r.Refuse("it would start the files that it finds", ws[0].Text)
			return
		}
		var filled bool
		ws, filled = fill(ws, mark, found)
		some = some || filled
	}
	if !some {
		ws = append(ws[:len(ws):len(ws)], argv.Word{Text: "./", Open: true, Fed: true})
	}
	r.Start(r.Name+" --exec", ws)
}
