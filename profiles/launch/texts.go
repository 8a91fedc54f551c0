package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/launch/awk"
	"github.com/ringd/ringd/profiles/launch/inline"
	"github.com/ringd/ringd/profiles/launch/sed"
	"github.com/ringd/ringd/profiles/words"
)

// rowsTexts are programs that read a program of their own language from a word.
func rowsTexts(name string) (row, bool) {
	switch name {
	case "awk", "gawk", "mawk", "nawk", "original-awk", "bwk", "goawk", "igawk":
		return row{own: readAwk, opts: "-F,--field-separator= -v,--assign= -f,--file=f -e,--source=e -i,--include=f -l,--load=! -E,--exec=f -b,--characters-as-bytes -c,--traditional -C,--copyright~ -d,--dump-variables? -D,--debug?! -g,--gen-pot -h,--help~ -I,--trace -k,--csv -L,--lint? -M,--bignum -n,--non-decimal-data -N,--use-lc-numeric -o,--pretty-print? -O,--optimize -p,--profile? -P,--posix -r,--re-interval -s,--no-optimize -S,--sandbox -t,--lint-old -V,--version~ -W=w", flags: data}, true
	case "sed", "gsed", "ssed":
		return row{own: readSed, opts: "-n,--quiet,--silent -e,--expression=e -f,--file=f -E,-r,--regexp-extended -i,--in-place? -I? -l,--line-length= -s,--separate -u,--unbuffered -z,--null-data --posix --debug --sandbox --follow-symlinks -b,--binary -a --help,--version~", flags: data}, true
	case "vi", "vim", "nvim", "view", "vimdiff", "rvim", "gvim", "ex", "rview", "vim.basic":
		return row{own: readVim, opts: "-c=k -S?! -s?s -w= -W= -u=u -U=u -i= -T= -r? -t= -q? -V? -b -d -D! -e -E -f -F -g -h,--help~ -l! -L -m -M -n -N -o? -O? -p? -P= -R -v -x -X -y -Z --cmd=k --version~ --noplugin --clean --not-a-term --ttyfail --startuptime= --remote?! --remote-expr=! --remote-send=! --headless --embed --api-info~ --listen=! --server=! --luamod-dev"}, true
	case "ed", "red":
		return row{own: readEd}, true
	case "emacs", "emacsclient", "emacs-nox":
		return row{own: readEmacs}, true
	case "nano", "pico", "joe", "micro", "kak", "helix", "hx", "mcedit", "jed", "ne":
		return row{opts: "-s,--speller=p -f,--rcfile=! -e,--eval=! -config-dir=! -T= -r= -Y= -o= --help,--version~"}, true
	case "sqlite3", "sqlite", "sqlcipher":
		return row{own: readSqlite}, true
	case "psql":
		return row{own: readSQL, opts: "-c,--command=t -f,--file=f -d,--dbname= -h,--host= -p,--port= -U,--username= -v,--set,--variable= -F,--field-separator= -R,--record-separator= -o,--output=| -L,--log-file= -P,--pset= -T,--table-attr= -l,--list~ -V,--version~ -?,--help~ -A -a -b -e -E -H -n -q -s -S -t -w -W -x -X,--no-psqlrc -z -0 -1"}, true
	case "mysql", "mariadb":
		return row{own: readSQL, opts: "-e,--execute=t --pager?! -h,--host= -u,--user= -P,--port= -p,--password? -D,--database= -S,--socket= --default-character-set= --plugin-dir=! --default-auth=! --defaults-file=! --defaults-extra-file=! --defaults-group-suffix=! --init-command=t --tee= --delimiter= --prompt= --ssl-ca= --ssl-mode= --connect-timeout= -V,--version~ -?,--help~ -B -N -s -t -v -A -C -E -H -X -f -n -q -r -w"}, true
	case "dc":
		return row{own: readSQL, opts: "-e,--expression=t -f,--file=f -V,--version~ -h,--help~"}, true
	case "m4", "gm4":
		return row{own: readM4, opts: "-D,--define= -U,--undefine= -I,--include= -F,--freeze-state= -R,--reload-state=! -E -P -Q -e,--interactive -s -G -g -H= -L= -l= -o= -t= -d? -B= -S= --help,--version~"}, true
	case "ftp", "lftp", "tnftp", "telnet":
		return row{own: readFtp}, true
	default:
		return row{}, false
	}
}

// readAwk reads awk: its program is the first operand, or stands in options.
func readAwk(r *reader) {
	var parts []words.Word
	files, sandbox := false, false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "e":
			parts = append(parts, it.value)
		case it.effect == "f":
			files = true
			r.fromFile(it.value, "awk")
			if it.name == "-E" {
				r.i = len(r.args)
			}
		case it.effect == "w":
			files = files || strings.HasPrefix(it.value.Text, "e")
			r.out.Interpreter = r.out.Interpreter || files
		case it.name != "":
			sandbox = sandbox || it.name == "-S"
			r.apply(it)
		default:
			if !files && len(parts) == 0 {
				if it.word.Open && it.word.Fed {
					r.refuse("its program comes from the input of another", it.word.Text)
					return
				}
				parts = append(parts, it.word)
			}
			r.ended, r.i = true, len(r.args)
		}
	}
	if r.idle || sandbox {
		return
	}
	text := pieces(parts)
	if text.Open {
		r.out.Maybe = true
	}
	// What is known of a program decides already where it starts something.
	p := awk.Read(text.Text)
	if text.Open {
		return
	}
	r.out.Interpreter = r.out.Interpreter || p.Files
	r.starts("awk", p.Texts, p.Refused, text.Text)
	if len(parts) == 0 && !files && r.c.More {
		r.refuse("its program comes from the input of another", "")
	}
}

// fromFile notes a program in a file: from standard input it is Stdin.
func (r *reader) fromFile(w words.Word, language string) {
	if w.Text == "-" || stdinFile(w.Text) {
		r.out.Stdin = language
		return
	}
	if w.Open && w.Text == "" {
		r.out.Maybe = !w.Fed || r.out.Maybe
	}
	r.out.Interpreter = true
}

func stdinFile(path string) bool {
	switch path {
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	default:
		return false
	}
}

// starts notes what a program text starts.
func (r *reader) starts(via string, texts []string, refused, word string) {
	for _, t := range texts {
		r.text(via, words.Known(t))
	}
	if refused != "" {
		r.refuse(refused, word)
	}
}

// pieces joins parts of a program by line ends.
func pieces(ws []words.Word) words.Word {
	if len(ws) == 1 {
		return ws[0]
	}
	out := words.Word{}
	for i, w := range ws {
		if i > 0 {
			out.Text += "\n"
		}
		out.Text += w.Text
		out.Open, out.Fed = out.Open || w.Open, out.Fed || w.Fed
	}
	return out
}

// readSed reads sed: its program is the first operand, or stands in options.
func readSed(r *reader) {
	var parts, files []words.Word
	sandbox, file := false, false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "e":
			parts = append(parts, it.value)
		case it.effect == "f":
			file = true
			r.fromFile(it.value, "sed")
		case it.name != "":
			sandbox = sandbox || it.name == "--sandbox"
			r.apply(it)
		default:
			files = append(files, it.word)
		}
	}
	if len(parts) == 0 && !file {
		if len(files) == 0 {
			if r.c.More && !sandbox && !r.idle {
				r.refuse("its program comes from the input of another", "")
			}
			return
		}
		// BSD's -i takes a word, an empty one mostly: then the next is the program.
		if files[0].Text == "" && !files[0].Open && len(files) > 1 {
			files = files[1:]
		}
		parts = files[:1]
	}
	text := pieces(parts)
	if r.idle || sandbox || len(parts) == 0 {
		return
	}
	if text.Open {
		if text.Fed {
			r.refuse("its program comes from the input of another", text.Text)
		}
		r.out.Maybe = true
		return
	}
	p := sed.Read(text.Text)
	r.starts("sed", p.Texts, p.Refused, text.Text)
}

// inlineText notes a text of a language on the command line.
func (r *reader) inlineText(language string, w words.Word) {
	if w.Open {
		if r.out.Maybe = true; w.Fed {
			r.refuse("its program comes from the input of another", w.Text)
		}
		return
	}
	if what, starts := Inline(language, w.Text); starts {
		r.refuse("its text names what starts programs", what)
	}
}

// Inline reports what in a program text starts programs. The language is one that
// Result.Stdin gives: a caller that knows what stands on standard input asks it.
func Inline(language, text string) (what string, starts bool) {
	switch language {
	case "awk":
		p := awk.Read(text)
		if p.Refused == "" && len(p.Texts) > 0 {
			return p.Texts[0], true
		}
		return p.Refused, p.Refused != ""
	case "sed":
		p := sed.Read(text)
		if p.Refused == "" && len(p.Texts) > 0 {
			return p.Texts[0], true
		}
		return p.Refused, p.Refused != ""
	default:
		return inline.Starts(language, text)
	}
}

// readVim reads vim: commands of it are refused but for those that edit.
func readVim(r *reader) {
	some := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "k":
			some = true
			r.vimCommand(it.value)
		case it.effect == "u":
			if v := it.value.Text; v != "NONE" && v != "NORC" && v != "DEFAULTS" || it.value.Open {
				r.refuse("its settings may start programs", it.word.Text)
			}
		case it.name == "-s" && r.name != "ex" && !it.has && r.i < len(r.args):
			// -es is silent; -s alone names a file of keys
			if !strings.Contains(it.word.Text, "e") && !strings.Contains(it.word.Text, "E") && !r.has("-e", "-E") {
				r.refuse("its keys are read from a file", it.word.Text)
			}
		case it.name != "":
			r.apply(it)
		case strings.HasPrefix(it.word.Text, "+") && !r.ended:
			some = true
			r.vimCommand(words.Word{Text: it.word.Text[1:], Open: it.word.Open})
		}
	}
	if !r.idle && !some {
		r.out.Stdin = "vim"
	}
}

func (r *reader) has(names ...string) bool {
	for _, w := range r.args {
		for _, n := range names {
			if w.Text == n && !w.Open {
				return true
			}
		}
	}
	return false
}

func (r *reader) vimCommand(w words.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	for part := range strings.SplitSeq(w.Text, "|") {
		if !vimHarmless(strings.TrimSpace(part)) {
			r.refuse("an editor's command may start programs", w.Text)
			return
		}
	}
}

func vimHarmless(c string) bool {
	c = strings.TrimLeft(c, ": \t")
	switch c {
	case "", "q", "q!", "qa", "qa!", "qall", "qall!", "quit", "quit!", "wq", "wq!", "w", "w!", "wa", "wqa", "wqa!", "x", "x!", "xa", "xall", "update", "noh", "retab", "d", "$", "G", "syntax on", "syntax off":
		return true
	}
	if strings.Trim(c, "0123456789") == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(c, "set "); ok {
		return !strings.ContainsAny(rest, "|!") && !strings.Contains(rest, "=") || rest == "nu"
	}
	rest := strings.TrimLeft(c, "%0123456789,$.")
	return len(rest) > 2 && rest[0] == 's' && strings.IndexByte("/#@,", rest[1]) >= 0 && !strings.Contains(rest, `\=`)
}

// readEd reads ed: it reads commands from standard input, and !command as a file.
func readEd(r *reader) {
	for _, w := range r.args {
		if w.Open && w.Text == "" {
			r.out.Maybe = true
		} else if strings.HasPrefix(w.Text, "!") {
			r.refuse("ed runs it to read what it says", w.Text)
		}
	}
	r.out.Stdin = "ed"
}

// readEmacs reads emacs: Lisp on the command line is text, in files a script.
func readEmacs(r *reader) {
	r.row.opts = "-eval,-execute,-e=t -f,-funcall=! -l,-load=f -script=f -x=f -batch -Q,-quick -q,-no-init-file -nw -L,-directory= -u,-user= -c -t -n -a,-alternate-editor=! -s,-socket-name= -F= -d,-display= -T= -version,-help~ -no-site-file -insert= -chdir= -kill -daemon?! -visit= -file= -find-file="
	r.row.flags = longOnly
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch it.effect {
		case "t":
			r.inlineText("lisp", it.value)
		case "f":
			r.fromFile(it.value, "lisp")
		default:
			if it.name != "" {
				r.apply(it)
			}
		}
	}
}

// readSqlite reads sqlite3: SQL and dot commands behind the database.
func readSqlite(r *reader) {
	r.row.opts = "-cmd=t -init=! -csv -json -header -noheader -line -list -html -column -table -markdown -box -readonly -batch -bail -safe -separator= -newline= -nullvalue= -mmap= -maxsize= -vfs= -zip -A! -ascii -echo -interactive -quote -tabs -stats -append -deserialize -lookaside= -pagecache= -heap= -version,-help~"
	r.row.flags = longOnly
	count := 0
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "t":
			r.inlineText("sqlite3", it.value)
		case it.name != "":
			r.apply(it)
		default:
			if count++; count > 1 {
				r.inlineText("sqlite3", it.word)
			}
		}
	}
	if count < 2 && !r.idle {
		r.out.Stdin = "sqlite3"
	}
}

// readSQL reads psql, mysql and dc: text in options, files, else standard input.
func readSQL(r *reader) {
	language, some := r.name, false
	if language == "mariadb" {
		language = "mysql"
	}
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "t":
			some = true
			r.inlineText(language, it.value)
		case it.effect == "f":
			some = true
			r.fromFile(it.value, language)
		case it.name != "":
			r.apply(it)
		case language == "dc":
			some = true
			r.fromFile(it.word, language)
		}
	}
	if !some && !r.idle {
		r.out.Stdin = language
	}
}

func readM4(r *reader) {
	some := false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		if it.name != "" {
			r.apply(it)
			continue
		}
		some = true
		r.fromFile(it.word, "m4")
	}
	if !some && !r.idle {
		r.out.Stdin = "m4"
	}
}

func readFtp(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open && w.Text == "":
			r.out.Maybe = true
		case r.name == "lftp" && (w.Text == "-c" || w.Text == "-e" || w.Text == "-f"):
			if i+1 < len(r.args) && w.Text != "-f" {
				r.inlineText("ftp", r.args[i+1])
			} else {
				r.refuse("its commands may start programs", w.Text)
			}
		case strings.HasPrefix(w.Text, "|"):
			r.refuse("it is a command", w.Text)
		}
	}
	r.out.Stdin = "ftp"
}
