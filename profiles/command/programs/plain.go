package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

// as reads the command by another row.
func (r *reader) as(row *row) {
	r.row = *row
	switch {
	case row.refused != "":
		r.refused()
	case row.reader == nil:
		r.plain()
	default:
		row.reader(r)
	}
}

// refused refuses a program, unless its words only list or print something.
func (r *reader) refused() {
	alone := len(r.args) == 1 && !r.args[0].Open && r.row.has("alone", r.args[0].Text)
	if !alone && !r.hasWord(r.row.list("unless")...) {
		r.refuse(r.row.refused, r.name)
	}
}

// plain reads a program by its row alone.
func (r *reader) plain() {
	count := 0
	for it := range r.items {
		if it.name != "" {
			r.apply(it)
			continue
		}
		count++
		r.refuseByRules(count-1, it.word.Text)
		if r.lost && (r.row.operands == commandOperands || r.row.operands == shellOperands) {
			return
		}
		if r.operand(it) {
			return
		}
	}
	if !r.idle && !r.lost && (r.row.operands == commandOperands || r.row.operands == shellOperands) {
		r.bare()
	}
}

// operand reads an operand. It returns true if everything has been read.
func (r *reader) operand(it item) bool {
	switch r.row.operands {
	case commandOperands:
		if r.row.skip > 0 {
			r.row.skip--
			r.ended = true // options end at the first operand
			r.out.Maybe = r.out.Maybe || r.args[it.at].Many
			return r.args[it.at].Many // the command may be among its words
		}
		if !r.idle {
			r.refusePermuted(it.at)
			r.start(r.name, r.args[it.at:])
		}
		return true
	case shellOperands:
		if !r.idle {
			r.text(r.name, join(r.args[it.at:], r.command.More))
		}
		return true
	case textOperands:
		r.text(r.name, it.word)
	case plainOperands, fileOperands, programOperands:
	}
	return false
}

// refusePermuted refuses options among the words of a command, which begins at args[at], if the program takes
// them for its own.
func (r *reader) refusePermuted(at int) {
	if r.row.flags&permutes == 0 || r.ended {
		return
	}
	for _, w := range r.args[at:] {
		switch {
		case w.Open && (w.Text == "" || w.Many):
			r.out.Maybe = true
		case strings.HasPrefix(w.Text, "-"):
			r.refuse("it takes this option from its command; put -- in front of the command", w.Text)
			return
		}
	}
}

// bare handles a launcher without a command.
func (r *reader) bare() {
	switch {
	case r.command.More:
		r.refuse("what it starts is read from the input of another program", "")
	case r.row.flags&bareShell != 0:
		r.shellInput()
	}
}

// launchNothing is bare for a launcher that only prints its help or version.
func launchNothing(r *reader) {
	if r.command.More && !r.idle {
		r.bare()
	}
}

// apply applies the effect of an option in the table.
func (r *reader) apply(it item) {
	if it.unknown {
		if r.row.operands == commandOperands || r.row.operands == shellOperands {
			r.refuse(unknownOption, it.word.Text)
		}
		return
	}
	via := r.name + " " + it.name
	switch it.effect {
	case "!":
		r.refuse(r.because(), it.name)
	case "~":
		r.idle = true
	case "program":
		if it.has {
			r.program(via, it.value)
		}
	case "command":
		if it.has {
			r.line(via, it.value)
		}
	case "shell":
		if it.has {
			r.text(via, it.value)
		}
	case "variable":
		setVariable(r, it.value)
	case "output":
		switch {
		case it.value.Open && it.value.Text == "":
			r.out.Maybe = true
		case it.has && strings.IndexAny(strings.TrimLeft(it.value.Text, " \t"), "|!") == 0:
			r.refuse("its value is a command that cannot be checked", it.name)
		}
	default:
		if read := valueReader(it.effect); read != nil {
			read(r, it)
		}
	}
}

// valueReader returns the code for an effect that only a few programs have.
func valueReader(effect string) func(*reader, item) {
	switch effect {
	case "apt-setting":
		return aptSetting
	case "archive":
		return archiveName
	case "backup-setting":
		return backupSetting
	case "checkpoint-action":
		return checkpointAction
	case "codegen":
		return codegen
	case "long-option":
		return longOption
	case "mount-settings":
		return mountSettings
	case "nmap-script":
		return nmapScript
	case "pandoc-format":
		return pandocFormat
	case "remote-rsync":
		return remoteRsync
	case "remote-shell":
		return remoteShell
	case "ssh-setting":
		return func(r *reader, it item) { sshSetting(r, it.value) }
	case "wgetrc":
		return wgetrcLine
	default:
		return nil
	}
}

// longOption reads an option whose value is a long option without its dashes.
func longOption(r *reader, it item) {
	if it.has {
		w := it.value
		w.Text = "--" + w.Text
		r.apply(r.long(item{word: w, at: it.at}))
	}
}

// setVariable records NAME=VALUE for the programs that are started.
func setVariable(r *reader, w argv.Word) {
	if a, ok := assignment(w); ok {
		r.set = append(r.set, a)
	} else {
		r.out.Maybe = r.out.Maybe || w.Open
	}
}

// assignment reads NAME=VALUE.
func assignment(w argv.Word) (argv.Assignment, bool) {
	name, value, ok := strings.Cut(w.Text, "=")
	return argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: w.Open, Fed: w.Fed}}, ok
}

// refuseByRules refuses a word if the first rule that names it says so. With the mode "every" of a reader all
// rules apply.
func (r *reader) refuseByRules(at int, text string) (refused bool) {
	every := slices.Contains(r.row.modes, "every")
	for _, rule := range r.row.rules {
		if !rule.applies(r, at) || !rule.matches(text) {
			continue
		}
		if rule.allow {
			return refused
		}
		r.refuse(rule.reason, text)
		if refused = true; !every {
			return true
		}
	}
	return refused
}

// applies reports whether a rule is for the word at a position.
func (x rule) applies(r *reader, at int) bool {
	switch x.when {
	case "":
		return true
	case "first":
		return at == 0
	case "later":
		return at > 0
	case "path", "key", "dashes": // readers ask for these
		return false
	default:
		return r.hasWord(x.when)
	}
}

// matches reports whether a rule names a word.
func (x rule) matches(text string) bool {
	return slices.ContainsFunc(x.patterns, func(p string) bool { return tables.Match(p, text) })
}

// readWords reads a program with rules that name the words that start something. Its modes say what an
// unknown word means.
func readWords(r *reader) {
	mode := r.row.modes[0]
	for i, w := range r.args {
		t := w.Text
		unsure, decided := false, false
		switch mode {
		case "any": // it may be any number of words, including one that starts something
			decided = w.Open && (t == "" || w.Many)
			unsure = decided && !w.Fed
		case "first": // the first word selects what the program does
			decided = w.Open && t == "" && i == 0 || w.Open && !w.Fed && beginsWord(r, "unsure", t)
			unsure = decided
		case "java":
			decided = w.Open && (t == "" || w.Many || strings.HasPrefix(t, "-X") || t == "-")
			unsure = decided
		case "every":
			unsure = w.Open && !w.Fed
		}
		r.out.Maybe = r.out.Maybe || unsure
		switch {
		case decided:
		case r.refuseByRules(i, t):
			if slices.Contains(r.row.modes, "once") {
				return
			}
		case mode == "java" && !strings.HasPrefix(t, "-") && !w.Open:
			return // the following words are for the program that runs
		}
	}
}

// beginsWord reports whether a text is the beginning of a word in a list.
func beginsWord(r *reader, key, text string) bool {
	return slices.ContainsFunc(r.row.list(key), func(w string) bool { return strings.HasPrefix(w, text) })
}
