package programs

import (
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

// readAwk reads awk: its program is the first operand, or in options.
func readAwk(r *reader) {
	var parts []argv.Word
	files, sandbox := false, false
	for it := range r.items {
		switch {
		case it.effect == "text":
			parts = append(parts, it.value)
		case it.effect == "file":
			files = files || it.name != "-i" // beside a file that is included there is a program
			r.fromFile(it.value)
			if it.name == "-E" {
				r.next = len(r.args)
			}
		case it.effect == "awk-mode":
			text, ok := awkMode(r, it, &files)
			if ok {
				parts = append(parts, text)
			}
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
			r.ended, r.next = true, len(r.args)
		}
	}
	if r.idle || sandbox {
		return
	}
	awkText(r, parts, files)
}

// awkMode reads awk -W: a long option without its dashes, and in mawk a word of its own, as in -We FILE. It returns
// the program text, if it is one.
func awkMode(r *reader, it item, files *bool) (text argv.Word, is bool) {
	name, value, joined := strings.Cut(it.value.Text, "=")
	if it.value.Open && !joined {
		r.out.Maybe = true
		return text, false
	}
	text = argv.Word{Text: value, Open: it.value.Open, Fed: it.value.Fed}
	o := r.option("--" + name)
	switch {
	case strings.HasPrefix(name, "e") || o != nil && o.Effect == "file" && o.Names[0] != "-i":
		*files, r.out.Interpreter = true, true
	case o == nil, o.Value == tables.NoValue && o.Effect == "":
	case len(name) > 2 && strings.HasPrefix("interactive", name): // of mawk
	case o.Effect == "text" && joined:
		return text, true
	case o.Effect == "~":
		r.idle = true
	case o.Names[0] == "-i" && joined:
		r.out.Interpreter = true
	case o.Value == tables.Next && !joined, o.Effect != "":
		r.refuse("write the option behind -W as an option", it.value.Text)
	}
	return text, false
}

// awkText judges the program of awk.
func awkText(r *reader, parts []argv.Word, files bool) {
	text := pieces(parts)
	if text.Open {
		r.out.Maybe = true
		return
	}
	p := parseAwk(text.Text)
	r.out.Interpreter = r.out.Interpreter || p.Files
	startsFromText(r, "awk", p.Texts, p.Refused, text.Text)
	if len(parts) == 0 && !files && r.command.More {
		r.refuse("its program comes from the input of another", "")
	}
}

// startsFromText records what a program text starts.
func startsFromText(r *reader, via string, texts []string, refused, word string) {
	for _, t := range texts {
		r.text(via, argv.Known(t))
	}
	if refused != "" {
		r.refuse(refused, word)
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

// readSed reads sed: its program is the first operand, or in options.
func readSed(r *reader) {
	var parts, operands []argv.Word
	sandbox, file := false, false
	for it := range r.items {
		switch {
		case it.effect == "text":
			parts = append(parts, it.value)
		case it.effect == "file":
			file = true
			r.fromFile(it.value)
		case it.name != "":
			sandbox = sandbox || it.name == "--sandbox"
			r.apply(it)
		default:
			operands = append(operands, it.word)
		}
	}
	if len(parts) == 0 && !file {
		if len(operands) == 0 {
			if r.command.More && !sandbox && !r.idle {
				r.refuse("its program comes from the input of another", "")
			}
			return
		}
		// BSD's -i takes a word, an empty one mostly: then the next is the program.
		if operands[0].Text == "" && !operands[0].Open && len(operands) > 1 {
			operands = operands[1:]
		}
		parts = operands[:1]
	}
	if r.idle || sandbox || len(parts) == 0 {
		return
	}
	text := pieces(parts)
	if text.Open {
		if text.Fed {
			r.refuse("its program comes from the input of another", text.Text)
		}
		r.out.Maybe = true
		return
	}
	p := parseSed(text.Text)
	startsFromText(r, "sed", p.Texts, p.Refused, text.Text)
}

// readVim reads vim: it refuses all commands of vim except those that only edit.
func readVim(r *reader) {
	ends := false // otherwise it goes on with its input
	for it := range r.items {
		switch {
		case it.effect == "text":
			ends = vimCommand(r, it.value) || ends
		case it.effect == "vimrc":
			if v := it.value.Text; v != "NONE" && v != "NORC" && v != "DEFAULTS" || it.value.Open {
				r.refuse("its settings may start programs", it.word.Text)
			}
		case it.name == "-s" && r.name != "ex" && !it.has && r.next < len(r.args):
			// -es is silent; -s alone names a file of keys
			if !strings.ContainsAny(it.word.Text, "eE") && !r.hasWord("-e", "-E") {
				r.refuse("its keys are read from a file", it.word.Text)
			}
		case it.name != "":
			r.apply(it)
		case strings.HasPrefix(it.word.Text, "+") && !r.ended:
			ends = vimCommand(r, argv.Word{Text: it.word.Text[1:], Open: it.word.Open}) || ends
		}
	}
	if !r.idle && !ends {
		r.out.Stdin = r.row.language
	}
}

// vimCommand reads commands, which end at a bar or a line end. It reports whether they end vim, or are refused.
func vimCommand(r *reader, w argv.Word) (ends bool) {
	if w.Open {
		r.out.Maybe = true
		return false
	}
	for part := range strings.FieldsFuncSeq(w.Text, func(c rune) bool { return c == '|' || unicode.IsControl(c) }) {
		if part = strings.TrimSpace(part); !vimHarmless(r, part) {
			r.refuse("an editor's command may start programs", w.Text)
			return true
		}
		name := strings.Trim(part, ": !")
		ends = ends || strings.ContainsAny(name, "qx") && strings.Trim(name, "wquitaxl") == ""
	}
	return ends
}

// vimHarmless reports a command that saves, ends, moves, switches a setting or substitutes.
func vimHarmless(r *reader, c string) bool {
	c = strings.TrimLeft(c, ": \t")
	if r.row.has("harmless", c) || r.row.has("text", c) || strings.Trim(c, "0123456789") == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(c, "set "); ok {
		return !strings.ContainsAny(rest, "|!=:") // vim reads a colon as =, and evaluates some values
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
	r.out.Stdin = r.row.language
}

// readLanguage reads programs with a language of their own: texts in options and operands, files, otherwise
// standard input. The row says which of these the program has.
func readLanguage(r *reader) {
	some, count := false, 0
	for it := range r.items {
		switch {
		case it.effect == "text":
			some = true
			r.inline(r.row.language, it.value)
		case it.effect == "text-before": // the program reads its input all the same
			r.inline(r.row.language, it.value)
		case it.effect == "file":
			some = true
			r.fromFile(it.value)
		case it.name != "":
			r.apply(it)
		case r.row.operands == fileOperands:
			some = true
			r.fromFile(it.word)
		case r.row.operands == programOperands:
			if count++; count > r.row.skip {
				some = true
				r.inline(r.row.language, it.word)
			}
		}
	}
	if r.row.flags&readsInput != 0 && !some && !r.idle {
		r.out.Stdin = r.row.language
	}
}

func readFtp(r *reader) {
	for i, w := range r.args {
		switch {
		case w.Open && w.Text == "":
			r.out.Maybe = true
		case r.row.has("runs", w.Text):
			if i+1 < len(r.args) && w.Text != "-f" {
				r.inline(r.row.language, r.args[i+1])
			} else {
				r.refuse("its commands may start programs", w.Text)
			}
		case strings.HasPrefix(w.Text, "|"):
			r.refuse("it is a command", w.Text)
		}
	}
	r.out.Stdin = r.row.language
}

// readRename reads rename, whose first operand is perl where Debian made it.
func readRename(r *reader) {
	some := false
	for it := range r.items {
		switch {
		case it.effect == "text":
			some = true
			r.inline(r.row.language, it.value)
		case it.name != "":
			r.apply(it)
		case !some:
			some = true
			r.inline(r.row.language, it.word)
		}
	}
}

// readRails reads rails: runner has Ruby on the command line.
func readRails(r *reader) {
	sub := ""
	for it := range r.items {
		switch {
		case it.name != "":
			r.apply(it)
		case sub == "":
			sub = it.word.Text
			if slices.ContainsFunc(r.row.list("input"), func(p string) bool { return tables.Match(p, sub) }) {
				r.out.Stdin = r.row.language
			}
		case sub == "runner" || sub == "r":
			if strings.ContainsAny(it.word.Text, " (;`") || it.word.Open {
				r.inline(r.row.language, it.word)
			}
			return
		}
	}
}
