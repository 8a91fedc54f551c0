package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// readFind reads find: what stands behind -exec and its like is a command, with
// the files that are found for {}.
func readFind(r *reader) {
	var starts []words.Word
	i := 0
	for ; i < len(r.args); i++ {
		w := r.args[i]
		switch t := w.Text; {
		case w.Open && (t == "" || w.Many):
			r.out.Maybe = r.out.Maybe || !w.Fed || len(starts) == 0
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
	for ; i < len(r.args); i++ {
		w := r.args[i]
		switch {
		case w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-")):
			r.out.Maybe = true
		case w.Open:
		case w.Text == "-files0-from":
			i++
			starts = append(starts, words.Word{Open: true, Fed: true})
		case findRuns(w.Text):
			i = r.found(w.Text, i+1, starts)
		case w.Text == "-fprintf":
			i += 2
		default:
			i += findArgs(w.Text)
			if i < len(r.args) && r.args[i].Many {
				r.out.Maybe = true
			}
		}
	}
	if r.c.More {
		r.out.Maybe = true
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
func (r *reader) found(action string, i int, starts []words.Word) int {
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
		if plus = w.Text == "+" && end > i && r.args[end-1].Text == "{}" && !r.args[end-1].Open; plus {
			break
		}
	}
	via := r.name + " " + action
	ws := r.args[i:end]
	switch {
	case end == len(r.args):
		r.refuse("the command behind it does not end", action)
		return end
	case len(ws) == 0:
		return end
	case len(starts) > 64:
		r.refuse("it searches in too many places for its command to be judged", action)
		return end
	case strings.Contains(ws[0].Text, "{}"):
		r.refuse("it would start the files that it finds", action)
		return end
	}
	if len(starts) == 0 {
		starts = []words.Word{words.Known(".")}
	}
	if strings.HasSuffix(action, "dir") {
		starts = []words.Word{words.Known("./")}
	}
	for _, s := range starts {
		filled, some := fill(ws, "{}", words.Word{Text: s.Text, Fed: true})
		r.startWith(via, filled, nil, false)
		if !some {
			break
		}
	}
	return end
}

// readFd reads fd: what stands behind -x or -X is a command up to ;.
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
		case fdValued(name) && !joined:
			i++
			continue
		}
		long := strings.HasPrefix(name, "--") && len(name) > 3 && (strings.HasPrefix("--exec", name) || strings.HasPrefix("--exec-batch", name))
		short := !strings.HasPrefix(name, "--") && strings.ContainsAny(name, "xX") && !strings.ContainsAny(name[:strings.IndexAny(name, "xX")], "edtESjoc")
		if !long && !short {
			continue
		}
		rest := r.args[i+1:]
		if short {
			value = name[strings.IndexAny(name, "xX")+1:]
		}
		if value != "" {
			rest = append([]words.Word{{Text: value, Open: w.Open}}, rest...)
		}
		r.fdCommand(rest)
		return
	}
	if r.c.More {
		r.out.Maybe = true
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
func (r *reader) fdCommand(ws []words.Word) {
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
	found := words.Word{Text: "./", Fed: true}
	some := false
	for _, mark := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
		if strings.Contains(ws[0].Text, mark) {
			r.refuse("it would start the files that it finds", ws[0].Text)
			return
		}
		var filled bool
		ws, filled = fill(ws, mark, found)
		some = some || filled
	}
	if !some {
		ws = append(ws[:len(ws):len(ws)], words.Word{Text: "./", Open: true, Fed: true})
	}
	r.start(r.name+" --exec", ws)
}

// readTar reads tar: options with and without a dash, and what of them starts.
func readTar(r *reader) {
	r.row.opts = "--checkpoint-action=a --to-command=s -I,--use-compress-program=s -F,--info-script,--new-volume-script=s --rsh-command=! --rmt-command=! --checkpoint? -f,--file=r --force-local -C,--directory= -T,--files-from= -X,--exclude-from= -b,--blocking-factor= -g,--listed-incremental= -K,--starting-file= -L,--tape-length= -N,--newer,--after-date= -V,--label= --exclude= --mode= --mtime= --owner= --group= --owner-map= --group-map= --transform,--xform= --strip-components= --suffix= --sort= -H,--format= --to-stdout -O --overwrite --totals? --index-file= --level= --newer-mtime= --pax-option= --quoting-style= --record-size= --volno-file= --warning= --xattrs-include= --xattrs-exclude= --exclude-tag= --exclude-vcs --exclude-ignore= --add-file= --no-quote-chars= --quote-chars= --occurrence? --backup? --one-top-level? --hole-detection= --sparse-version= --clamp-mtime --set-mtime-command=s -z,--gzip,--gunzip,--ungzip -j,--bzip2 -J,--xz -Z,--compress --zstd --lzma --lzip --lzop -a,--auto-compress -c,--create -x,--extract,--get -t,--list -r,--append -u,--update -A,--catenate,--concatenate -d,--diff,--compare -v,--verbose -w,--interactive -p,--preserve-permissions -P,--absolute-names -k,--keep-old-files -h,--dereference -m,--touch -o,--no-same-owner -s -S,--sparse -M,--multi-volume -n -i,--ignore-zeros -B,--read-full-records -G,--incremental -l,--check-links -R,--block-number -U,--unlink-first -W,--verify --delete --help~ --version~"
	old := len(r.args) > 0 && !r.args[0].Open && r.args[0].Text != "" && !strings.HasPrefix(r.args[0].Text, "-")
	if old {
		r.args = oldStyle(r.args)
	}
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "a":
			r.tarAction(it)
		case it.effect == "r":
			r.tarFile(it.value)
		case it.name == "-z":
			r.out.Needs = append(r.out.Needs, "gzip")
		case it.name == "-j":
			r.out.Needs = append(r.out.Needs, "bzip2")
		case it.name == "-J":
			r.out.Needs = append(r.out.Needs, "xz")
		case it.name == "--zstd":
			r.out.Needs = append(r.out.Needs, "zstd")
		case it.name != "":
			r.apply(it)
		}
	}
}

// tarAction reads what tar does at a checkpoint.
func (r *reader) tarAction(it item) {
	if !it.has {
		return
	}
	action, text, _ := strings.Cut(it.value.Text, "=")
	switch {
	case it.value.Open && !strings.Contains(it.value.Text, "="):
		r.out.Maybe = true
	case strings.HasPrefix("exec", action) && action != "" && action != "e":
		r.text("tar "+it.name, words.Word{Text: text, Open: it.value.Open})
	case action == "e":
		r.refuse("write the action out", it.value.Text)
	}
}

// tarFile reads the archive's name: host:file starts a remote shell.
func (r *reader) tarFile(w words.Word) {
	before, _, colon := strings.Cut(w.Text, ":")
	switch {
	case colon && !strings.Contains(before, "/") && before != "":
		r.refuse("an archive of another host is reached by a program that tar starts; use --force-local with a ./ in front if it is a file", w.Text)
	case strings.HasPrefix(w.Text, "|") || strings.HasPrefix(w.Text, "!"):
		r.refuse("its value is a command", w.Text)
	}
}

// oldStyle writes tar's first word as options with a dash: xzf a.tgz.
func oldStyle(args []words.Word) []words.Word {
	letters, rest := args[0].Text, args[1:]
	out := make([]words.Word, 0, len(args)+len(letters))
	for i := range len(letters) {
		out = append(out, words.Known("-"+letters[i:i+1]))
		if strings.IndexByte("fbCTXgIFHKLNV", letters[i]) >= 0 && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// readZip reads zip, whose -TT is one option of two letters.
func readZip(r *reader) {
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case w.Open && (w.Text == "" || w.Many):
			r.out.Maybe = r.out.Maybe || !w.Fed || i == 0
		case w.Text == "--" && !w.Open:
			return
		case !strings.HasPrefix(w.Text, "-"):
		case w.Open && !joined:
			r.out.Maybe = true
		case strings.HasPrefix(name, "--"):
			if len(name) > 4 && strings.HasPrefix("--unzip-command", name) {
				if !joined && i+1 < len(r.args) {
					i++
					value = r.args[i].Text
				}
				r.text("zip --unzip-command", words.Known(value))
			}
		case strings.Contains(name, "TT"):
			text := w.Text[strings.Index(w.Text, "TT")+2:]
			if text == "" && i+1 < len(r.args) {
				i++
				if text = r.args[i].Text; r.args[i].Open {
					r.out.Maybe = true
					continue
				}
			}
			r.text("zip -TT", words.Known(strings.TrimPrefix(text, "=")))
		}
	}
	if r.c.More {
		r.out.Maybe = true
	}
}

func readCpio(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		if it.effect == "r" {
			r.tarFile(it.value)
		} else if it.name != "" {
			r.apply(it)
		}
	}
}

// readPager reads less and its like: + brings a command of the pager.
func readPager(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.name != "":
			r.apply(it)
		case !r.ended && strings.HasPrefix(it.word.Text, "+"):
			if it.word.Open {
				r.out.Maybe = true
			}
			if strings.ContainsAny(it.word.Text, "!|#vVsSoO:&") && !strings.HasPrefix(it.word.Text, "+/") {
				r.refuse("a pager's command may start a program", it.word.Text)
			}
		}
	}
}

// readMarks reads programs that start others by a mark in a word.
func readMarks(marks ...string) func(*reader) {
	return func(r *reader) {
		for _, w := range r.args {
			if w.Open && !w.Fed {
				r.out.Maybe = true
			}
			for _, m := range marks {
				if m == "|" && strings.HasPrefix(w.Text, m) || m != "|" && len(m) > 4 && strings.Contains(w.Text, m) || m != "|" && strings.HasPrefix(w.Text, m) {
					r.refuse("it makes the program start another", w.Text)
				}
			}
		}
	}
}

// readNmap reads nmap: scripts by the names of its own library, nothing else.
func readNmap(r *reader) {
	r.row.opts = "-script=n -script-args= -script-args-file= -interactive! -datadir=! -servicedb= -versiondb= -oN= -oX= -oG= -oA= -oS= -iL= -p= -T= -e= -stylesheet="
	r.row.flags = longOnly | data
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "n" && it.value.Open:
			r.out.Maybe = true
		case it.effect == "n" && strings.ContainsAny(it.value.Text, "/."):
			r.refuse("a script of its own may start programs", it.value.Text)
		case it.name != "":
			r.apply(it)
		}
	}
}

// readWget reads wget: -e is a line of its configuration.
func readWget(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "e" && it.value.Open:
			r.out.Maybe = true
		case it.effect == "e":
			key, _, _ := strings.Cut(it.value.Text, "=")
			key = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
			if key == "useaskpass" || key == "config" || strings.Contains(key, "askpass") {
				r.refuse(r.because(), it.value.Text)
			}
		case it.name != "":
			r.apply(it)
		}
	}
}

// readIP reads ip: in a network namespace it starts a command.
func readIP(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "exec" || w.Text == "exe" || w.Text == "ex":
			if i+2 < len(r.args) { // a namespace or a VRF stands between
				r.start("ip exec", r.args[i+2:])
			}
			return
		case w.Text == "-b" || strings.HasPrefix(w.Text, "-ba"):
			r.refuse("its commands stand in a file", w.Text)
		}
	}
}

// readSystemctl reads systemctl: edit starts an editor.
func readSystemctl(r *reader) {
	first := true
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.name != "":
			r.apply(it)
		case first:
			first = false
			switch it.word.Text {
			case "edit", "shell", "set-environment", "import-environment", "link", "set-property", "revert":
				r.refuse("it changes what the system starts", it.word.Text)
			}
		}
	}
}
