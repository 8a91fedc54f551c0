package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// Texts are programs that read a program of their own language from a word.
func Texts(name string) (row, bool) {
	switch name {
	case "awk", "gawk", "mawk", "nawk", "original-awk", "bwk", "goawk", "igawk":
		return row{Own: ownInterpreter(readAwk), Opts: "-F,--field-separator= -v,--assign= -f,--file=f -e,--source=e -i,--include=f -l,--load=! -E,--exec=f -b,--characters-as-bytes -c,--traditional -C,--copyright~ -d,--dump-variables? -D,--debug?! -g,--gen-pot -h,--help~ -I,--trace -k,--csv -L,--lint? -M,--bignum -n,--non-decimal-data -N,--use-lc-numeric -o,--pretty-print? -O,--optimize -p,--profile? -P,--posix -r,--re-interval -s,--no-optimize -S,--sandbox -t,--lint-old -V,--version~ -W=w", Flags: data}, true
	case "sed", "gsed", "ssed":
		return row{Own: ownInterpreter(readSed), Opts: "-n,--quiet,--silent -e,--expression=e -f,--file=f -E,-r,--regexp-extended -i,--in-place? -I? -l,--line-length= -s,--separate -u,--unbuffered -z,--null-data --posix --debug --sandbox --follow-symlinks -b,--binary -a --help,--version~", Flags: data}, true
	case "vi", "vim", "nvim", "view", "vimdiff", "rvim", "gvim", "ex", "rview", "vim.basic":
		return row{Own: ownInterpreter(readVim), Opts: "-c=k -S?! -s?s -w= -W= -u=u -U=u -i= -T= -r? -t= -q? -V? -b -d -D! -e -E -f -F -g -h,--help~ -l! -L -m -M -n -N -o? -O? -p? -P= -R -v -x -X -y -Z --cmd=k --version~ --noplugin --clean --not-a-term --ttyfail --startuptime= --remote?! --remote-expr=! --remote-send=! --headless --embed --api-info~ --listen=! --server=! --luamod-dev"}, true
	case "ed", "red":
		return row{Own: ownInterpreter(readEd)}, true
	case "emacs", "emacsclient", "emacs-nox":
		return row{Own: ownInterpreter(readEmacs)}, true
	case "nano", "pico", "joe", "micro", "kak", "helix", "hx", "mcedit", "jed", "ne":
		return row{Opts: "-s,--speller=p -f,--rcfile=! -e,--eval=! -config-dir=! -T= -r= -Y= -o= --help,--version~"}, true
	case "sqlite3", "sqlite", "sqlcipher":
		return row{Own: ownInterpreter(readSqlite)}, true
	case "psql":
		return row{Own: ownInterpreter(readSQL), Opts: "-c,--command=t -f,--file=f -d,--dbname= -h,--host= -p,--port= -U,--username= -v,--set,--variable= -F,--field-separator= -R,--record-separator= -o,--output=| -L,--log-file= -P,--pset= -T,--table-attr= -l,--list~ -V,--version~ --help~ -A -a -b -e -E -H -n -q -s -S -t -w -W -x -X,--no-psqlrc -z -0 -1"}, true
	case "mysql", "mariadb":
		return row{Own: ownInterpreter(readSQL), Opts: "-e,--execute=t --pager?! -h,--host= -u,--user= -P,--port= -p,--password? -D,--database= -S,--socket= --default-character-set= --plugin-dir=! --default-auth=! --defaults-file=! --defaults-extra-file=! --defaults-group-suffix=! --init-command=t --tee= --delimiter= --prompt= --ssl-ca= --ssl-mode= --connect-timeout= -V,--version~ --help~ -B -N -s -t -v -A -C -E -H -X -f -n -q -r -w"}, true
	case "dc":
		return row{Own: ownInterpreter(readSQL), Opts: "-e,--expression=t -f,--file=f -V,--version~ -h,--help~"}, true
	case "m4", "gm4":
		return row{Own: ownInterpreter(readM4), Opts: "-D,--define= -U,--undefine= -I,--include= -F,--freeze-state= -R,--reload-state=! -E -P -Q -e,--interactive -s -G -g -H= -L= -l= -o= -t= -d? -B= -S= --help,--version~"}, true
	case "rename", "prename", "file-rename", "perl-rename":
		return row{Own: ownInterpreter(readRename), Opts: "-e=t -E=t -v,--verbose -n,--no-act,--nono -f,--force -d,--filename,--nopath,--nofullpath --path,--fullpath -0,--null -s,--symlink -o,--no-overwrite -l,--last -a,--all -u,--unicode? -h,--help,-V,--version,--man~"}, true
	case "smbclient", "rpcclient":
		return row{Own: ownInterpreter(readSamba), Opts: "-c,--command=t -U,--user= -W= -p,--port= -I= -D= -s=! --configfile=! --option=! -A= -m= -d= -n= -R= -t= -b= -T= -L= -N -E -P -q -k -h,--help,-V,--version~"}, true
	case "rails", "spring":
		return row{Own: ownInterpreter(readRails), Flags: runsFiles, Opts: "-e,--environment= -b= -p= -h,--help,-v,--version~"}, true
	case "ftp", "lftp", "tnftp", "telnet":
		return row{Own: ownInterpreter(readFtp)}, true
	default:
		return row{}, false
	}
}

// readAwk reads awk: its program is the first operand, or stands in options.
func readAwk(r *interpreterReader) {
	var parts []argv.Word
	files, sandbox := false, false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "e":
			parts = append(parts, it.Value)
		case it.Effect == "f":
			files = true
			r.FromFile(it.Value, "awk")
			if it.Name == "-E" {
				r.I = len(r.Args)
			}
		case it.Effect == "w":
			files = files || strings.HasPrefix(it.Value.Text, "e")
			r.Out.Interpreter = r.Out.Interpreter || files
		case it.Name != "":
			sandbox = sandbox || it.Name == "-S"
			r.Apply(it)
		default:
			if !files && len(parts) == 0 {
				if it.Word.Open && it.Word.Fed {
					r.Refuse("its program comes from the input of another", it.Word.Text)
					return
				}
				parts = append(parts, it.Word)
			}
			r.Ended, r.I = true, len(r.Args)
		}
	}
	if r.Idle || sandbox {
		return
	}
	text := pieces(parts)
	if text.Open {
		r.Out.Maybe = true
	}
	// What is known of a program decides already where it starts something.
	p := parseAwk(text.Text)
	if text.Open {
		return
	}
	r.Out.Interpreter = r.Out.Interpreter || p.Files
	r.starts("awk", p.Texts, p.Refused, text.Text)
	if len(parts) == 0 && !files && r.C.More {
		r.Refuse("its program comes from the input of another", "")
	}
}

// starts notes what a program text starts.
func (r *interpreterReader) starts(via string, texts []string, refused, word string) {
	for _, t := range texts {
		r.Text(via, argv.Known(t))
	}
	if refused != "" {
		r.Refuse(refused, word)
	}
}

// pieces joins parts of a program by line ends.
func pieces(ws []argv.Word) argv.Word {
	if len(ws) == 1 {
		return ws[0]
	}
	out := argv.Word{}
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
func readSed(r *interpreterReader) {
	var parts, files []argv.Word
	sandbox, file := false, false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "e":
			parts = append(parts, it.Value)
		case it.Effect == "f":
			file = true
			r.FromFile(it.Value, "sed")
		case it.Name != "":
			sandbox = sandbox || it.Name == "--sandbox"
			r.Apply(it)
		default:
			files = append(files, it.Word)
		}
	}
	if len(parts) == 0 && !file {
		if len(files) == 0 {
			if r.C.More && !sandbox && !r.Idle {
				r.Refuse("its program comes from the input of another", "")
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
	if r.Idle || sandbox || len(parts) == 0 {
		return
	}
	if text.Open {
		if text.Fed {
			r.Refuse("its program comes from the input of another", text.Text)
		}
		r.Out.Maybe = true
		return
	}
	p := parseSed(text.Text)
	r.starts("sed", p.Texts, p.Refused, text.Text)
}

// inlineText notes a text of a language on the command line.
func (r *interpreterReader) inlineText(language string, w argv.Word) {
	if w.Open {
		if r.Out.Maybe = true; w.Fed {
			r.Refuse("its program comes from the input of another", w.Text)
		}
		return
	}
	if what, starts := inlineText(language, w.Text); starts {
		r.Refuse("its text names what starts programs", what)
	}
}

// inlineText reports what in a program text starts programs. The language is one that
// Result.Stdin gives: a caller that knows what stands on standard input asks it.
func inlineText(language, text string) (what string, starts bool) {
	switch language {
	case "awk":
		p := parseAwk(text)
		if p.Refused == "" && len(p.Texts) > 0 {
			return p.Texts[0], true
		}
		return p.Refused, p.Refused != ""
	case "sed":
		p := parseSed(text)
		if p.Refused == "" && len(p.Texts) > 0 {
			return p.Texts[0], true
		}
		return p.Refused, p.Refused != ""
	default:
		return inlineStarts(language, text)
	}
}

// readVim reads vim: commands of it are refused but for those that edit.
func readVim(r *interpreterReader) {
	some := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "k":
			some = true
			r.vimCommand(it.Value)
		case it.Effect == "u":
			if v := it.Value.Text; v != "NONE" && v != "NORC" && v != "DEFAULTS" || it.Value.Open {
				r.Refuse("its settings may start programs", it.Word.Text)
			}
		case it.Name == "-s" && r.Name != "ex" && !it.Has && r.I < len(r.Args):
			// -es is silent; -s alone names a file of keys
			if !strings.Contains(it.Word.Text, "e") && !strings.Contains(it.Word.Text, "E") && !r.HasWord("-e", "-E") {
				r.Refuse("its keys are read from a file", it.Word.Text)
			}
		case it.Name != "":
			r.Apply(it)
		case strings.HasPrefix(it.Word.Text, "+") && !r.Ended:
			some = true
			r.vimCommand(argv.Word{Text: it.Word.Text[1:], Open: it.Word.Open})
		}
	}
	if !r.Idle && !some {
		r.Out.Stdin = "vim"
	}
}

func (r *interpreterReader) vimCommand(w argv.Word) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	for part := range strings.SplitSeq(w.Text, "|") {
		if !vimHarmless(strings.TrimSpace(part)) {
			r.Refuse("an editor's command may start programs", w.Text)
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
func readEd(r *interpreterReader) {
	for _, w := range r.Args {
		if w.Open && w.Text == "" {
			r.Out.Maybe = true
		} else if strings.HasPrefix(w.Text, "!") {
			r.Refuse("ed runs it to read what it says", w.Text)
		}
	}
	r.Out.Stdin = "ed"
}

// readEmacs reads emacs: Lisp on the command line is text, in files a script.
func readEmacs(r *interpreterReader) {
	r.Row.Opts = "-eval,-execute,-e=t -f,-funcall=! -l,-load=f -script=f -x=f -batch -Q,-quick -q,-no-init-file -nw -L,-directory= -u,-user= -c -t -n -a,-alternate-editor=! -s,-socket-name= -F= -d,-display= -T= -version,-help~ -no-site-file -insert= -chdir= -kill -daemon?! -visit= -file= -find-file="
	r.Row.Flags = longOnly
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch it.Effect {
		case "t":
			r.inlineText("lisp", it.Value)
		case "f":
			r.FromFile(it.Value, "lisp")
		default:
			if it.Name != "" {
				r.Apply(it)
			}
		}
	}
}

// readSqlite reads sqlite3: SQL and dot commands behind the database.
func readSqlite(r *interpreterReader) {
	r.Row.Opts = "-cmd=t -init=! -csv -json -header -noheader -line -list -html -column -table -markdown -box -readonly -batch -bail -safe -separator= -newline= -nullvalue= -mmap= -maxsize= -vfs= -zip -A! -ascii -echo -interactive -quote -tabs -stats -append -deserialize -lookaside= -pagecache= -heap= -version,-help~"
	r.Row.Flags = longOnly
	count := 0
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "t":
			r.inlineText("sqlite3", it.Value)
		case it.Name != "":
			r.Apply(it)
		default:
			if count++; count > 1 {
				r.inlineText("sqlite3", it.Word)
			}
		}
	}
	if count < 2 && !r.Idle {
		r.Out.Stdin = "sqlite3"
	}
}

// readSQL reads psql, mysql and dc: text in options, files, else standard input.
func readSQL(r *interpreterReader) {
	language, some := r.Name, false
	if language == "mariadb" {
		language = "mysql"
	}
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "t":
			some = true
			r.inlineText(language, it.Value)
		case it.Effect == "f":
			some = true
			r.FromFile(it.Value, language)
		case it.Name != "":
			r.Apply(it)
		case language == "dc":
			some = true
			r.FromFile(it.Word, language)
		}
	}
	if !some && !r.Idle {
		r.Out.Stdin = language
	}
}

func readM4(r *interpreterReader) {
	some := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name != "" {
			r.Apply(it)
			continue
		}
		some = true
		r.FromFile(it.Word, "m4")
	}
	if !some && !r.Idle {
		r.Out.Stdin = "m4"
	}
}

func readFtp(r *interpreterReader) {
	for i, w := range r.Args {
		switch {
		case w.Open && w.Text == "":
			r.Out.Maybe = true
		case r.Name == "lftp" && (w.Text == "-c" || w.Text == "-e" || w.Text == "-f"):
			if i+1 < len(r.Args) && w.Text != "-f" {
				r.inlineText("ftp", r.Args[i+1])
			} else {
				r.Refuse("its commands may start programs", w.Text)
			}
		case strings.HasPrefix(w.Text, "|"):
			r.Refuse("it is a command", w.Text)
		}
	}
	r.Out.Stdin = "ftp"
}

// readRename reads rename, whose first operand is perl where Debian made it.
func readRename(r *interpreterReader) {
	some := false
	for {
		it, ok := r.Next()
		switch {
		case !ok:
			return
		case it.Effect == "t":
			some = true
			r.inlineText("perl", it.Value)
		case it.Name != "":
			r.Apply(it)
		case !some:
			some = true
			r.inlineText("perl", it.Word)
		}
	}
}

// readSamba reads smbclient: its commands stand in an option, else on standard
// input.
func readSamba(r *interpreterReader) {
	for some := false; ; {
		it, ok := r.Next()
		switch {
		case !ok:
			if !some && !r.Idle {
				r.Out.Stdin = "ftp"
			}
			return
		case it.Effect == "t":
			some = true
			r.inlineText("ftp", it.Value)
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// readRails reads rails: runner has Ruby on the command line.
func readRails(r *interpreterReader) {
	for sub := ""; ; {
		it, ok := r.Next()
		switch {
		case !ok:
			return
		case it.Name != "":
			r.Apply(it)
		case sub == "":
			sub = it.Word.Text
			if sub == "dbconsole" || sub == "db" || strings.HasPrefix(sub, "credentials:") || strings.HasPrefix(sub, "encrypted:") || sub == "console" || sub == "c" {
				r.Out.Stdin = "ruby"
			}
		case sub == "runner" || sub == "r":
			if strings.ContainsAny(it.Word.Text, " (;`") || it.Word.Open {
				r.inlineText("ruby", it.Word)
			}
			return
		}
	}
}
