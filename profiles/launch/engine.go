package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// row says how a program's words are read.
type row struct {
	// opts are its options, apart by blanks: names of one option apart by commas,
	// then what it takes and means:
	//
	//	-v       nothing, harmless      -n=     a value, harmless
	//	-i?      a value only if joined -x!     refused         -x=!  refused, with a value
	//	-h~      then nothing starts    -p=p    a program       -x=c  a command line, split at blanks
	//	-c=s     shell text             -o=|    a value that is refused where it begins as a pipe
	opts  string
	rest  rest
	skip  int // operands in front of the command
	flags flags
	own   func(*reader) // reads all of it instead
	why   string        // why its refused options are
}

// rest is what the operands of a program are.
type rest uint8

const (
	operands  rest = iota // nothing that starts
	command               // a command from the first one on; options end there
	shellText             // joined by blanks: shell text; options end there
	programs              // each names a program
	stops                 // nothing that starts, and options end at the first one
)

type flags uint8

const (
	runsFiles flags = 1 << iota // it runs programs from files
	bareShell                   // without a command it starts a shell
	longOnly                    // its options have one dash or two and many letters
	data                        // words fed to it count as operands, see below
	exact                       // no abbreviations
)

// A program's words that come from another's input may look like options: a file
// can have the name --use-compress-program=x. Rows with data take them as operands
// nevertheless: find | xargs sed -i is everyday work, and what sed would start by
// such a name the kernel refuses. tar, zip and their like, known for it, have it not.

// item is an option or an operand.
type item struct {
	name    string // the first name in the table; "" is an operand
	effect  string // what follows the names there, without =
	value   words.Word
	has     bool // it has a value
	word    words.Word
	at      int // where word stands in args
	unknown bool
}

// reader reads the words behind a program's name.
type reader struct {
	c       words.Command
	name    string
	args    []words.Word
	row     row
	i       int
	ended   bool // no more options
	lost    bool // unknown words: where the next operand is is not known
	idle    bool // it only tells about itself
	cluster string
	open    bool // the cluster ends unknown
	out     Result
}

// next gives the next option or operand.
func (r *reader) next() (item, bool) {
	if r.cluster != "" {
		return r.letter(), true
	}
	if r.i >= len(r.args) {
		if r.c.More && !r.ended {
			r.unsure(words.Word{Open: true, Many: true, Fed: true})
		}
		return item{}, false
	}
	at := r.i
	w := r.args[r.i]
	r.i++
	it := item{word: w, at: at}
	if r.ended {
		return it, true
	}
	if w.Open && (w.Text == "" || w.Many) {
		r.unsure(w)
		return it, true
	}
	switch {
	case w.Text == "--" && !w.Open:
		r.ended = true
		return r.next()
	case !strings.HasPrefix(w.Text, "-") || w.Text == "-" && !w.Open:
		return it, true
	case strings.HasPrefix(w.Text, "--") || r.row.flags&longOnly != 0:
		return r.long(it), true
	}
	r.cluster, r.open = w.Text[1:], w.Open
	if r.cluster == "" { // an open dash
		r.unsure(w)
		return it, true
	}
	return r.letter(), true
}

// unsure notes that options may hide in an unknown word.
func (r *reader) unsure(w words.Word) {
	if w.Fed && r.row.flags&data != 0 {
		return
	}
	r.out.Maybe, r.lost = true, true
}

// long reads an option of many letters.
func (r *reader) long(it item) item {
	text := it.word.Text
	if r.row.flags&longOnly != 0 && strings.HasPrefix(text, "--") {
		text = text[1:]
	}
	name, value, joined := strings.Cut(text, "=")
	if it.word.Open && !joined {
		r.unsure(it.word)
	}
	found, effect, ok := r.lookup(name)
	it.name, it.effect, it.unknown = found, effect, !ok
	if !ok {
		it.name = name
	}
	if joined {
		it.value, it.has = words.Word{Text: value, Open: it.word.Open, Fed: it.word.Fed}, true
		it.effect = strings.TrimLeft(it.effect, "=?")
		return it
	}
	r.takeValue(&it)
	return it
}

// letter reads the next letter of a cluster of short options.
func (r *reader) letter() item {
	c := r.cluster[:1]
	r.cluster = r.cluster[1:]
	it := item{word: r.args[r.i-1], at: r.i - 1}
	found, effect, ok := r.lookup("-" + c)
	it.name, it.effect, it.unknown = found, effect, !ok
	if !ok {
		it.name = "-" + c
	}
	takes := strings.HasPrefix(effect, "=")
	if (takes || strings.HasPrefix(effect, "?")) && (r.cluster != "" || r.open) {
		it.value, it.has = words.Word{Text: r.cluster, Open: r.open, Fed: r.open && it.word.Fed}, true
		it.effect = effect[1:]
		if r.cluster == "" && takes {
			r.unsure(it.word) // its value is the next word, if nothing is joined
		}
		r.cluster, r.open = "", false
		return it
	}
	if r.cluster == "" && r.open {
		r.unsure(it.word)
		r.open = false
	}
	r.takeValue(&it)
	return it
}

// takeValue takes the next word as an option's value where it has one.
func (r *reader) takeValue(it *item) {
	optional := strings.HasPrefix(it.effect, "?")
	takes := strings.HasPrefix(it.effect, "=")
	it.effect = strings.TrimLeft(it.effect, "=?")
	if !takes || optional {
		return
	}
	if r.i >= len(r.args) {
		if r.c.More {
			r.out.Maybe, r.lost = true, true
		}
		return
	}
	it.value, it.has = r.args[r.i], true
	if it.value.Many {
		r.unsure(it.value)
	}
	r.i++
}

// lookup finds an option of the row; an abbreviation means the strictest that it
// can mean.
func (r *reader) lookup(name string) (first, effect string, ok bool) {
	abbreviated := len(name) > 2 && strings.HasPrefix(name, "--") && r.row.flags&exact == 0
	for rest := r.row.opts; rest != ""; {
		var token string
		token, rest, _ = strings.Cut(rest, " ")
		end := strings.IndexAny(token, "=?!~")
		if end < 0 {
			end = len(token)
		}
		names, means := token[:end], token[end:]
		lead, _, _ := strings.Cut(names, ",")
		for names != "" {
			var n string
			n, names, _ = strings.Cut(names, ",")
			switch {
			case n == name:
				return lead, means, true
			case abbreviated && strings.HasPrefix(n, name) && (!ok || strict(means) > strict(effect)):
				first, effect, ok = lead, means, true
			}
		}
	}
	return first, effect, ok
}

func strict(effect string) int {
	switch strings.TrimLeft(effect, "=?") {
	case "":
		return 1
	case "~":
		return 0
	default:
		return 2
	}
}

// plain reads a program by its row alone.
func (r *reader) plain() {
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		if it.name != "" {
			r.apply(it)
			continue
		}
		if r.lost && r.row.rest != operands {
			return
		}
		if r.operand(it) {
			return
		}
	}
	if r.idle || r.lost {
		return
	}
	switch r.row.rest {
	case command, shellText:
		r.bare()
	}
}

// operand reads one; true: all is read.
func (r *reader) operand(it item) bool {
	switch r.row.rest {
	case command:
		if r.row.skip > 0 {
			r.row.skip--
			return false
		}
		if !r.idle {
			r.start(r.name, r.args[it.at:])
		}
		return true
	case shellText:
		if !r.idle {
			r.text(r.name, join(r.args[it.at:], r.c.More))
		}
		return true
	case programs:
		r.program(r.name, it.word)
	case stops:
		return true
	}
	return false
}

// bare is a launcher without a command.
func (r *reader) bare() {
	switch {
	case r.c.More:
		r.refuse("what it starts is read from the input of another program", "")
	case r.row.flags&bareShell != 0:
		r.stdin("sh")
	}
}

// stdin notes that a shell reads its commands from standard input.
func (r *reader) stdin(shell string) {
	r.out.Scripts = append(r.out.Scripts, words.Script{Shell: shell, Outside: true, Chain: []string{r.name}})
}

// apply does what the table says of an option.
func (r *reader) apply(it item) {
	via := r.name + " " + it.name
	if it.unknown {
		if r.row.rest == command || r.row.rest == shellText {
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		}
		return
	}
	switch it.effect {
	case "":
	case "!":
		r.refuse(r.because(), it.name)
	case "~":
		r.idle = true
	case "p":
		if it.has {
			r.program(via, it.value)
		}
	case "c":
		if it.has {
			r.line(via, it.value)
		}
	case "s":
		if it.has {
			r.text(via, it.value)
		}
	case "|":
		switch {
		case it.value.Open && it.value.Text == "":
			r.out.Maybe = true
		case it.has && strings.IndexAny(strings.TrimLeft(it.value.Text, " \t"), "|!") == 0:
			r.refuse("its value is a command, which nobody can read", it.name)
		}
	}
}

func (r *reader) because() string {
	if r.row.why != "" {
		return r.row.why
	}
	return "this option starts a program, or loads what does"
}

func (r *reader) refuse(reason, word string) {
	r.out.Refused = append(r.out.Refused, Refusal{Reason: reason, Word: word})
}

// start notes a nested command.
func (r *reader) start(via string, ws []words.Word) { r.startWith(via, ws, nil, r.c.More) }

func (r *reader) startWith(via string, ws []words.Word, set []words.Assignment, more bool) {
	if len(ws) == 0 {
		return
	}
	r.out.Commands = append(r.out.Commands, Start{
		Command: words.Command{Words: ws, Set: set, More: more, Outside: true}, Via: via,
	})
}

// program notes a program that is started with words of which none is known.
func (r *reader) program(via string, w words.Word) {
	switch {
	case w.Open:
		r.out.Maybe = true
	case w.Text != "":
		r.startWith(via, []words.Word{w}, nil, true)
	}
}

// line notes a command line that is split at blanks without a shell.
func (r *reader) line(via string, w words.Word) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	ws, ok := split(w.Text)
	if !ok {
		r.refuse("its command line cannot be read", w.Text)
		return
	}
	r.startWith(via, ws, nil, true)
}

// text notes shell text that a program runs.
func (r *reader) text(via string, w words.Word) { r.script(via, w, "sh", nil, true) }

func (r *reader) script(via string, w words.Word, shell string, params []words.Word, outside bool) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	r.out.Scripts = append(r.out.Scripts, words.Script{
		Text: w.Text, Known: true, Params: params, Chain: []string{via}, Shell: shell, Outside: outside,
	})
}

// join joins words by blanks; the result is open where one of them is, or more may
// follow.
func join(ws []words.Word, more bool) words.Word {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
		if w.Open {
			return words.Word{Text: b.String(), Open: true, Fed: w.Fed}
		}
	}
	return words.Word{Text: b.String(), Open: more, Fed: more}
}

// split splits a command line at blanks, quotes taken out. False: it has what only
// a shell reads.
func split(text string) ([]words.Word, bool) {
	if strings.ContainsAny(text, "$`\\\n;&|<>(){}") {
		return nil, false
	}
	var out []words.Word
	var b strings.Builder
	in, quote := false, byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				out = append(out, words.Known(b.String()))
				b.Reset()
			}
			in = false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		out = append(out, words.Known(b.String()))
	}
	return out, quote == 0
}

// refuseAlways is the reader of programs that are never readable.
func refuseAlways(reason string) func(*reader) {
	return func(r *reader) {
		if len(r.args) == 1 && !r.args[0].Open && (r.args[0].Text == "--version" || r.args[0].Text == "--help") {
			return
		}
		r.refuse(reason, r.name)
	}
}

// known gives a word's text where all of it is known.
func known(w words.Word) (string, bool) { return w.Text, !w.Open }
