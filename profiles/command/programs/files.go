package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// toolReader is the engine's, with what this package reads by itself.
type toolReader struct{ *Reader }

// ownTool makes a reader of this package one of the engine.
func ownTool(f func(*toolReader)) func(*Reader) {
	return func(r *Reader) { f(&toolReader{r}) }
}

// readTar reads tar: options with and without a dash, and what of them starts.
func readTar(r *toolReader) {
	r.Row.Opts = "--checkpoint-action=a --to-command=s -I,--use-compress-program=s -F,--info-script,--new-volume-script=s --rsh-command=! --rmt-command=! --checkpoint? -f,--file=r --force-local -C,--directory= -T,--files-from= -X,--exclude-from= -b,--blocking-factor= -g,--listed-incremental= -K,--starting-file= -L,--tape-length= -N,--newer,--after-date= -V,--label= --exclude= --mode= --mtime= --owner= --group= --owner-map= --group-map= --transform,--xform= --strip-components= --suffix= --sort= -H,--format= --to-stdout -O --overwrite --totals? --index-file= --level= --newer-mtime= --pax-option= --quoting-style= --record-size= --volno-file= --warning= --xattrs-include= --xattrs-exclude= --exclude-tag= --exclude-vcs --exclude-ignore= --add-file= --no-quote-chars= --quote-chars= --occurrence? --backup? --one-top-level? --hole-detection= --sparse-version= --clamp-mtime --set-mtime-command=s -z,--gzip,--gunzip,--ungzip -j,--bzip2 -J,--xz -Z,--compress --zstd --lzma --lzip --lzop -a,--auto-compress -c,--create -x,--extract,--get -t,--list -r,--append -u,--update -A,--catenate,--concatenate -d,--diff,--compare -v,--verbose -w,--interactive -p,--preserve-permissions -P,--absolute-names -k,--keep-old-files -h,--dereference -m,--touch -o,--no-same-owner -s -S,--sparse -M,--multi-volume -n -i,--ignore-zeros -B,--read-full-records -G,--incremental -l,--check-links -R,--block-number -U,--unlink-first -W,--verify --delete --help~ --version~"
	old := len(r.Args) > 0 && !r.Args[0].Open && r.Args[0].Text != "" && !strings.HasPrefix(r.Args[0].Text, "-")
	if old {
		r.Args = oldStyle(r.Args)
	}
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "a":
			r.tarAction(it)
		case it.Effect == "r":
			r.tarFile(it.Value)
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// tarAction reads what tar does at a checkpoint.
func (r *toolReader) tarAction(it item) {
	if !it.Has {
		return
	}
	action, text, _ := strings.Cut(it.Value.Text, "=")
	switch {
	case it.Value.Open && !strings.Contains(it.Value.Text, "="):
		r.Out.Maybe = true
	case strings.HasPrefix("exec", action) && action != "" && action != "e":
		r.Text("tar "+it.Name, argv.Word{Text: text, Open: it.Value.Open})
	case action == "e":
		r.Refuse("write the action out", it.Value.Text)
	}
}

// tarFile reads the archive's name: host:file starts a remote shell.
func (r *toolReader) tarFile(w argv.Word) {
	before, _, colon := strings.Cut(w.Text, ":")
	switch {
	case colon && !strings.Contains(before, "/") && before != "":
		r.Refuse("an archive of another host is reached by a program that tar starts; use --force-local with a ./ in front if it is a file", w.Text)
	case strings.HasPrefix(w.Text, "|") || strings.HasPrefix(w.Text, "!"):
		r.Refuse("its value is a command", w.Text)
	}
}

// oldStyle writes tar's first word as options with a dash: xzf a.tgz.
func oldStyle(args []argv.Word) []argv.Word {
	letters, rest := args[0].Text, args[1:]
	out := make([]argv.Word, 0, len(args)+len(letters))
	for i := range len(letters) {
		out = append(out, argv.Known("-"+letters[i:i+1]))
		if strings.IndexByte("fbCTXgIFHKLNV", letters[i]) >= 0 && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// readZip reads zip, whose -TT is one option of two letters.
func readZip(r *toolReader) {
	for i := 0; i < len(r.Args); i++ {
		w := r.Args[i]
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case w.Open && (w.Text == "" || w.Many):
			r.Out.Maybe = r.Out.Maybe || !w.Fed || i == 0
		case w.Text == "--" && !w.Open:
			return
		case !strings.HasPrefix(w.Text, "-"):
		case w.Open && !joined:
			r.Out.Maybe = true
		case strings.HasPrefix(name, "--"):
			if len(name) > 4 && strings.HasPrefix("--unzip-command", name) {
				if !joined && i+1 < len(r.Args) {
					i++
					value = r.Args[i].Text
				}
				r.Text("zip --unzip-command", argv.Known(value))
			}
		case strings.Contains(name, "TT"):
			text := w.Text[strings.Index(w.Text, "TT")+2:]
			if text == "" && i+1 < len(r.Args) {
				i++
				if text = r.Args[i].Text; r.Args[i].Open {
					r.Out.Maybe = true
					continue
				}
			}
			r.Text("zip -TT", argv.Known(strings.TrimPrefix(text, "=")))
		}
	}
	if r.C.More {
		r.Out.Maybe = true
	}
}

func readCpio(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		if it.Effect == "r" {
			r.tarFile(it.Value)
		} else if it.Name != "" {
			r.Apply(it)
		}
	}
}

// readPager reads less and its like: + brings a command of the pager.
func readPager(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Name != "":
			r.Apply(it)
		case !r.Ended && strings.HasPrefix(it.Word.Text, "+"):
			if it.Word.Open {
				r.Out.Maybe = true
			}
			if strings.ContainsAny(it.Word.Text, "!|#vVsSoO:&") && !strings.HasPrefix(it.Word.Text, "+/") {
				r.Refuse("a pager's command may start a program", it.Word.Text)
			}
		}
	}
}

// readMarks reads programs that start others by a mark in a word.
func readMarks(marks ...string) func(*toolReader) {
	return func(r *toolReader) {
		for _, w := range r.Args {
			if w.Open && !w.Fed {
				r.Out.Maybe = true
			}
			for _, m := range marks {
				if m == "|" && strings.HasPrefix(w.Text, m) || m != "|" && len(m) > 4 && strings.Contains(w.Text, m) || m != "|" && strings.HasPrefix(w.Text, m) || m == "|" && strings.Contains(w.Text, ":|") {
					r.Refuse("it makes the program start another", w.Text)
				}
			}
		}
	}
}

// readNmap reads nmap: scripts by the names of its own library, nothing else.
func readNmap(r *toolReader) {
	r.Row.Opts = "-script=n -script-args= -script-args-file= -interactive! -datadir=! -servicedb= -versiondb= -oN= -oX= -oG= -oA= -oS= -iL= -p= -T= -e= -stylesheet="
	r.Row.Flags = longOnly | data
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "n" && it.Value.Open:
			r.Out.Maybe = true
		case it.Effect == "n" && strings.ContainsAny(it.Value.Text, "/."):
			r.Refuse("a script of its own may start programs", it.Value.Text)
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// readWget reads wget: -e is a line of its configuration.
func readWget(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "e" && it.Value.Open:
			r.Out.Maybe = true
		case it.Effect == "e":
			key, _, _ := strings.Cut(it.Value.Text, "=")
			key = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
			if key == "useaskpass" || key == "config" || strings.Contains(key, "askpass") {
				r.Refuse(r.Because(), it.Value.Text)
			}
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// readIP reads ip: in a network namespace it starts a command.
func readIP(r *toolReader) {
	all, object := false, false
	for i, w := range r.Args {
		switch {
		case w.Open:
			r.Out.Maybe = true
			return
		case strings.HasPrefix(w.Text, "-a"):
			all = true
		case w.Text == "vr" || w.Text == "vrf" || strings.HasPrefix(w.Text, "net") && strings.HasPrefix("netns", w.Text):
			object = true
		case w.Text != "" && strings.HasPrefix("exec", w.Text) && (object || len(w.Text) > 1):
			command := r.Args[i+1:]
			if !all && len(command) > 0 { // a namespace or a VRF stands between
				command = command[1:]
			}
			r.Start("ip exec", command)
			return
		case w.Text == "-b" || strings.HasPrefix(w.Text, "-ba"):
			r.Refuse("its commands stand in a file", w.Text)
		}
	}
}

// readSystemctl reads systemctl: edit starts an editor.
func readSystemctl(r *toolReader) {
	first := true
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Name != "":
			r.Apply(it)
		case first:
			first = false
			switch it.Word.Text {
			case "edit", "shell", "set-environment", "import-environment", "link", "set-property", "revert":
				r.Refuse("it changes what the system starts", it.Word.Text)
			}
		}
	}
}
