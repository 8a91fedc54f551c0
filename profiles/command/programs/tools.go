package programs

import (
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

// readTar reads tar, whose first word may be options without a dash: xzf a.tgz.
func readTar(r *reader) {
	if len(r.args) > 0 && !r.args[0].Open && r.args[0].Text != "" && !strings.HasPrefix(r.args[0].Text, "-") {
		r.args = dashed(r)
	}
	r.plain()
}

// dashed writes tar's first word as options with a dash.
func dashed(r *reader) []argv.Word {
	letters, rest := r.args[0].Text, r.args[1:]
	out := make([]argv.Word, 0, len(r.args)+len(letters))
	for i := range len(letters) {
		out = append(out, argv.Known("-"+letters[i:i+1]))
		if o := r.option("-" + letters[i:i+1]); o != nil && o.Value == tables.Next && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// checkpointAction reads what tar does at a checkpoint.
func checkpointAction(r *reader, it item) {
	if !it.has {
		return
	}
	action, text, _ := strings.Cut(it.value.Text, "=")
	switch {
	case it.value.Open && !strings.Contains(it.value.Text, "="):
		r.out.Maybe = true
	case strings.HasPrefix("exec", action) && action != "" && action != "e":
		r.text("tar "+it.name, argv.Word{Text: text, Open: it.value.Open})
	case action == "e":
		r.refuse("write the action out", it.value.Text)
	}
}

// archiveName reads the name of an archive: host:file starts a remote shell.
func archiveName(r *reader, it item) {
	name := it.value.Text
	before, _, colon := strings.Cut(name, ":")
	switch {
	case colon && !strings.Contains(before, "/") && before != "":
		r.refuse("an archive of another host is reached by a program that tar starts; "+
			"use --force-local with a ./ in front if it is a file", name)
	case strings.HasPrefix(name, "|") || strings.HasPrefix(name, "!"):
		r.refuse("its value is a command", name)
	}
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
			if len(name) <= 4 || !strings.HasPrefix("--unzip-command", name) {
				continue
			}
			if !joined && i+1 < len(r.args) {
				i++
				value = r.args[i].Text
			}
			r.text("zip --unzip-command", argv.Known(value))
		case strings.Contains(name, "TT"):
			i += zipTest(r, w.Text[strings.Index(w.Text, "TT")+2:], i+1)
		}
	}
	if r.command.More {
		r.out.Maybe = true
	}
}

// zipTest reads the command of -TT: the rest of its word, or the next word. It returns how many
// words it took.
func zipTest(r *reader, text string, next int) int {
	taken := 0
	if text == "" && next < len(r.args) {
		taken = 1
		if text = r.args[next].Text; r.args[next].Open {
			r.out.Maybe = true
			return taken
		}
	}
	r.text("zip -TT", argv.Known(strings.TrimPrefix(text, "=")))
	return taken
}

// readPager reads less and its like: + begins a command of the pager.
func readPager(r *reader) {
	for it := range r.items {
		switch {
		case it.name == "-p" && strings.ContainsFunc(it.value.Text, unicode.IsControl):
			r.refuse("a pager's command may start a program", it.value.Text)
		case it.name != "":
			r.apply(it)
		case !r.ended && strings.HasPrefix(it.word.Text, "+"):
			r.out.Maybe = r.out.Maybe || it.word.Open
			if strings.ContainsAny(it.word.Text, "!|#vVsSoO:&") && !strings.HasPrefix(it.word.Text, "+/") ||
				strings.ContainsFunc(it.word.Text, unicode.IsControl) { // a line end ends the pattern
				r.refuse("a pager's command may start a program", it.word.Text)
			}
		}
	}
}

// nmapScript reads --script: the names of nmap's own library, nothing else.
func nmapScript(r *reader, it item) {
	switch {
	case it.value.Open:
		r.out.Maybe = true
	case strings.ContainsAny(it.value.Text, "/."):
		r.refuse("its script may start programs", it.value.Text)
	}
}

// wgetrcLine reads wget -e: a line of its configuration.
func wgetrcLine(r *reader, it item) {
	if it.value.Open {
		r.out.Maybe = true
		return
	}
	key, _, _ := strings.Cut(it.value.Text, "=")
	key = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
	if key = strings.TrimSpace(key); key == "config" || strings.Contains(key, "askpass") {
		r.refuse(r.because(), it.value.Text)
	}
}

// pandocFormat reads the name of a format of pandoc, which may be a file with a program in Lua.
func pandocFormat(r *reader, it item) {
	switch {
	case strings.Contains(it.value.Text, ".lua"):
		r.refuse("it runs the program in this file", it.value.Text)
	case it.value.Open:
		r.out.Maybe = true
	}
}

// readIP reads ip: in a network namespace it starts a command.
func readIP(r *reader) {
	all, object := false, false
	for i, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case strings.HasPrefix(w.Text, "-a"):
			all = true
		case r.row.has("known", w.Text):
			object = true
		case w.Text != "" && strings.HasPrefix("exec", w.Text) && (object || len(w.Text) > 1):
			command := r.args[i+1:]
			if !all && len(command) > 0 { // a namespace or a VRF stands between
				command = command[1:]
			}
			r.start("ip exec", command)
			return
		case w.Text == "-b" || strings.HasPrefix(w.Text, "-ba"):
			r.refuse("its commands are in a file", w.Text)
		}
	}
}

// backupSetting reads a setting of restic and its like.
func backupSetting(r *reader, it item) {
	switch t := it.value.Text; {
	case it.value.Open:
		r.out.Maybe = true
	case strings.Contains(t, "command"), strings.Contains(t, "program"), strings.Contains(t, "args"):
		r.refuse("this setting names a program", t)
	}
}

// codegen reads a setting of rustc: its linker is a program.
func codegen(r *reader, it item) {
	if it.value.Open {
		r.out.Maybe = true
		return
	}
	key, value, _ := strings.Cut(it.value.Text, "=")
	key = strings.ReplaceAll(key, "_", "-")
	refused := false
	switch {
	case key == "linker" && r.row.has("known", value):
		r.program("rustc linker", argv.Known(value))
	case key == "linker", key == "codegen-backend", key == "llvm-plugins":
		refused = true
	case strings.HasPrefix(key, "link-arg"):
		for _, mark := range []string{"-B", "plugin", "-wrapper", "-specs", "fuse-ld=/", "@"} {
			refused = refused || strings.Contains(value, mark)
		}
	}
	if refused {
		r.refuse("rustc starts, or loads, what it names", it.value.Text)
	}
}
