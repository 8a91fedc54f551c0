package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/tables"
)

// item is an option or an operand.
type item struct {
	name    string // the first name in the table; an operand has none
	effect  string // its effect in the table
	value   argv.Word
	has     bool // it has a value
	word    argv.Word
	at      int // index of word in args
	unknown bool
}

// mostLetters is the largest number of options in one word.
const mostLetters = 128

const unknownOption = "an option is not known, so neither is the command behind it"

// reader reads the words after a program's name. It is for one command and one goroutine.
type reader struct {
	command argv.Command
	name    string
	args    []argv.Word
	row     row // a copy, which readers change
	table   *table

	next        int               // in args
	ended       bool              // no more options follow
	lost        bool              // after unknown words the position of the next operand is unknown
	idle        bool              // the program only prints its help or version
	cluster     string            // the unread short options of a word
	openCluster bool              // the cluster ends unknown
	set         []argv.Assignment // for the programs that it starts
	letters     int               // letters read in the clusters of one word
	out         Result
}

// items yields the remaining options and operands.
func (r *reader) items(yield func(item) bool) {
	for {
		it, ok := r.item()
		if !ok || !yield(it) {
			return
		}
	}
}

// item returns the next option or operand.
func (r *reader) item() (item, bool) {
	if r.cluster != "" {
		return r.letter(), true
	}
	if r.next >= len(r.args) {
		if r.command.More && !r.ended {
			r.unsure(argv.Word{Open: true, Many: true, Fed: true})
		}
		return item{}, false
	}
	w := r.args[r.next]
	it := item{word: w, at: r.next}
	r.next++
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
		return r.item()
	case !strings.HasPrefix(w.Text, "-") || w.Text == "-" && !w.Open:
		return it, true
	case strings.HasPrefix(w.Text, "--") || r.row.flags&longOptions != 0:
		return r.long(it), true
	}
	r.cluster, r.openCluster, r.letters = w.Text[1:], w.Open, 0
	if r.cluster == "" { // an open dash
		r.unsure(w)
		return it, true
	}
	return r.letter(), true
}

// unsure records that options may hide in an unknown word.
func (r *reader) unsure(w argv.Word) {
	if w.Fed && r.row.flags&inputIsOperands != 0 {
		return
	}
	r.out.Maybe, r.lost = true, true
}

// named gives an item the name and the effect of an option, and returns the kind of its value.
func (r *reader) named(it *item, name string) tables.Value {
	o := r.option(name)
	if o == nil {
		it.name, it.unknown = name, true
		return tables.NoValue
	}
	it.name, it.effect = o.Names[0], o.Effect
	return o.Value
}

// long reads an option of many letters.
func (r *reader) long(it item) item {
	text := it.word.Text
	if r.row.flags&longOptions != 0 && strings.HasPrefix(text, "--") {
		text = text[1:]
	}
	name, value, joined := strings.Cut(text, "=")
	if it.word.Open && !joined {
		r.unsure(it.word)
	}
	takes := r.named(&it, name)
	if joined {
		it.value, it.has = argv.Word{Text: value, Open: it.word.Open, Fed: it.word.Fed}, true
	} else if takes == tables.Next {
		r.takeValue(&it)
	}
	return it
}

// letter reads the next letter of a cluster of short options.
func (r *reader) letter() item {
	c := r.cluster[:1]
	r.cluster = r.cluster[1:]
	if r.letters++; r.letters > mostLetters {
		r.refuse("one word has more options than a program has", "")
		r.cluster, r.openCluster = "", false
	}
	it := item{word: r.args[r.next-1], at: r.next - 1}
	takes := r.named(&it, "-"+c)
	if takes != tables.NoValue && (r.cluster != "" || r.openCluster) {
		it.value = argv.Word{Text: r.cluster, Open: r.openCluster, Fed: r.openCluster && it.word.Fed}
		it.has = true
		if r.cluster == "" && takes == tables.Next {
			r.unsure(it.word) // its value is the next word, if nothing is joined
		}
		r.cluster, r.openCluster = "", false
		return it
	}
	if r.cluster == "" && r.openCluster {
		r.unsure(it.word)
		r.openCluster = false
	}
	if takes == tables.Next {
		r.takeValue(&it)
	}
	return it
}

// takeValue takes the next word as an option's value.
func (r *reader) takeValue(it *item) {
	if r.next >= len(r.args) {
		if r.command.More {
			r.out.Maybe, r.lost = true, true
		}
		return
	}
	it.value, it.has = r.args[r.next], true
	if it.value.Many {
		r.unsure(it.value)
	}
	r.next++
}

// option finds an option of the row, or nil. An abbreviation selects the strictest option that it can mean.
func (r *reader) option(name string) *tables.Option {
	options := r.row.options
	for i := range options {
		if slices.Contains(options[i].Names, name) {
			return &options[i]
		}
	}
	if len(name) <= 2 || !strings.HasPrefix(name, "--") || r.row.flags&noAbbreviations != 0 {
		return nil
	}
	var found *tables.Option
	for i := range options {
		o := &options[i]
		begins := slices.ContainsFunc(o.Names, func(n string) bool { return strings.HasPrefix(n, name) })
		if begins && (found == nil || strictness(o.Effect) > strictness(found.Effect)) {
			found = o
		}
	}
	return found
}

func strictness(effect string) int {
	switch effect {
	case "":
		return 1
	case "~":
		return 0
	default:
		return 2
	}
}

// refuse records a part that would start something that cannot be read in advance.
func (r *reader) refuse(reason, word string) {
	r.out.Refused = append(r.out.Refused, refusal{Reason: reason, Word: word})
}

// because returns why an option of the program is refused.
func (r *reader) because() string {
	if r.row.reason != "" {
		return r.row.reason
	}
	return "this option starts a program, or loads code that does"
}

// start records a command that is started, with the variables that the program sets for it.
func (r *reader) start(via string, ws []argv.Word) { r.startWith(via, ws, r.set, r.command.More) }

// startWith records a command. If more is true, further unknown words may follow.
func (r *reader) startWith(via string, ws []argv.Word, set []argv.Assignment, more bool) {
	if len(ws) == 0 {
		return
	}
	r.out.Commands = append(r.out.Commands, Start{
		Command: argv.Command{Words: ws, Set: set, More: more, Outside: true}, Via: via,
	})
}

// program records a program that is started with unknown words.
func (r *reader) program(via string, w argv.Word) {
	switch {
	case w.Open:
		r.out.Maybe = true
	case w.Text != "":
		r.startWith(via, []argv.Word{w}, nil, true)
	}
}

// line records a command line that is split at blanks without a shell.
func (r *reader) line(via string, w argv.Word) {
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

// text records shell text that a program runs.
func (r *reader) text(via string, w argv.Word) { r.script(via, w, "sh", nil, true) }

func (r *reader) script(via string, w argv.Word, shell string, params []argv.Word, outside bool) {
	if w.Open {
		r.out.Maybe = true
		return
	}
	r.out.Scripts = append(r.out.Scripts, argv.Script{
		Text: w.Text, Known: true, Params: params, Chain: []string{via}, Shell: shell, Outside: outside,
	})
}

// shellInput records a shell that reads its commands from standard input.
func (r *reader) shellInput() {
	r.out.Scripts = append(r.out.Scripts, argv.Script{Shell: "sh", Outside: true, Chain: []string{r.name}})
}

// fromFile records a program in a file, or on standard input.
func (r *reader) fromFile(w argv.Word) {
	if w.Text == "-" || isStdin(w.Text) {
		r.out.Stdin = r.row.language
		return
	}
	if w.Open && w.Text == "" {
		r.out.Maybe = !w.Fed || r.out.Maybe
	}
	r.out.Interpreter = true
}

// first returns the first word after the program, if it is known.
func (r *reader) first() (string, bool) {
	if len(r.args) == 0 {
		return "", false
	}
	return r.args[0].Text, !r.args[0].Open
}

// hasWord reports whether one of the names is a word after the program.
func (r *reader) hasWord(names ...string) bool {
	return slices.ContainsFunc(r.args, func(w argv.Word) bool { return !w.Open && slices.Contains(names, w.Text) })
}
