// This file owns how a table of programs is read: options with and without
// values, clusters, abbreviations, unknown words, and what each of them starts.
// This file and the packages beside it hold the tables; it decides nothing.

package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// Start is a command that another starts.
type Start struct {
	argv.Command
	Via string // what leads to it: "find -exec", "timeout"
}

// refusal is a part of a command that would start what nobody can read before it
// starts. No filling of unknown words makes it harmless.
type refusal struct {
	Reason string
	Word   string
}

// Result is what a command would start by its words. The zero Result is that of a
// program that is not known to start any.
type Result struct {
	Row bool // the program is in the table
	// Commands are what it starts, each to be judged as if it stood alone.
	Commands []Start
	// Scripts are shell text that it runs. One that is not Known comes from standard
	// input, which is for the caller to fill or to refuse.
	Scripts []argv.Script
	Refused []refusal
	// Sets are variables that it sets for what it starts without being a program we
	// read the start of, as make does. What env sets stands at its command.
	Sets []argv.Assignment
	// Needs are programs that it chooses itself by what it is asked, as tar -z does
	// gzip. No word names them, so nobody judges them; they must be among its helpers.
	Needs []string
	// Stdin is the language of program text that it reads from standard input, as
	// Inline takes it; "" where it reads none. Without input it does nothing.
	Stdin string
	// Interpreter says that it runs programs from files that nobody has read.
	Interpreter bool
	// Maybe says that unknown words could be such options: the final words decide.
	// Nothing final can be Maybe but for words that a program fills (argv.Word.Fed,
	// argv.Command.More): there it is a refusal.
	Maybe bool
}

// Row says how a program's words are read.
type row struct {
	// Opts are its options, apart by blanks: names of one option apart by commas,
	// then what it takes and means:
	//
	//	-v       nothing, harmless      -n=     a value, harmless
	//	-i?      a value only if joined -x!     refused         -x=!  refused, with a value
	//	-h~      then nothing starts    -p=p    a program       -x=c  a command line, split at blanks
	//	-c=s     shell text             -o=|    a value that is refused where it begins as a pipe
	//	-E=v     a variable of what is started
	//
	// Other letters are for the row's own reader.
	Opts  string
	Rest  Rest
	Skip  int // operands in front of the command
	Flags Flags
	Own   func(*Reader) // reads all of it instead
	Why   string        // why its refused options are
}

// Rest is what the operands of a program are.
type Rest uint8

// What operands are.
const (
	operands  Rest = iota // nothing that starts
	Command               // a command from the first one on; options end there
	shellText             // joined by blanks: shell text; options end there
	Programs              // each names a program
	stops                 // nothing that starts, and options end at the first one
)

// Flags say how a program reads its words.
type Flags uint8

// The flags.
const (
	runsFiles Flags = 1 << iota // it runs programs from files
	bareShell                   // without a command it starts a shell
	longOnly                    // its options have one dash or two and many letters
	data                        // words fed to it count as operands, see below
	exact                       // no abbreviations
)

// A program's words that come from another's input may look like options: a file
// can have the name --use-compress-program=x. Rows with Data take them as operands
// nevertheless: find | xargs sed -i is everyday work, and what sed would start by
// such a name the kernel refuses. tar, zip and their like, known for it, have it not.

// item is an option or an operand.
type item struct {
	Name    string // the first name in the table; "" is an operand
	Effect  string // what follows the names there, without =
	Value   argv.Word
	Has     bool // it has a value
	Word    argv.Word
	At      int // where Word stands in Args
	Unknown bool
}

// mostLetters is how many options one word may have.
const mostLetters = 128

// Reader reads the words behind a program's name. It is for one command and one
// goroutine.
type Reader struct {
	C    argv.Command
	Name string
	Args []argv.Word
	Row  row
	// Lookup finds other rows, for programs that are others in disguise.
	Lookup func(name string) (row, bool)

	I           int               // the next of Args
	Ended       bool              // no more options
	Lost        bool              // unknown words: where the next operand is is not known
	Idle        bool              // it only tells about itself
	Cluster     string            // the short options that are left of a word
	OpenCluster bool              // the cluster ends unknown
	Set         []argv.Assignment // for what is started
	letters     int               // that were read of the clusters of one word
	Out         Result
}

// Next gives the next option or operand.
func (r *Reader) Next() (item, bool) {
	if r.Cluster != "" {
		return r.letter(), true
	}
	if r.I >= len(r.Args) {
		if r.C.More && !r.Ended {
			r.Unsure(argv.Word{Open: true, Many: true, Fed: true})
		}
		return item{}, false
	}
	at := r.I
	w := r.Args[r.I]
	r.I++
	it := item{Word: w, At: at}
	if r.Ended {
		return it, true
	}
	if w.Open && (w.Text == "" || w.Many) {
		r.Unsure(w)
		return it, true
	}
	switch {
	case w.Text == "--" && !w.Open:
		r.Ended = true
		return r.Next()
	case !strings.HasPrefix(w.Text, "-") || w.Text == "-" && !w.Open:
		return it, true
	case strings.HasPrefix(w.Text, "--") || r.Row.Flags&longOnly != 0:
		return r.long(it), true
	}
	r.Cluster, r.OpenCluster, r.letters = w.Text[1:], w.Open, 0
	if r.Cluster == "" { // an open dash
		r.Unsure(w)
		return it, true
	}
	return r.letter(), true
}

// Unsure notes that options may hide in an unknown word.
func (r *Reader) Unsure(w argv.Word) {
	if w.Fed && r.Row.Flags&data != 0 {
		return
	}
	r.Out.Maybe, r.Lost = true, true
}

// long reads an option of many letters.
func (r *Reader) long(it item) item {
	text := it.Word.Text
	if r.Row.Flags&longOnly != 0 && strings.HasPrefix(text, "--") {
		text = text[1:]
	}
	name, value, joined := strings.Cut(text, "=")
	if it.Word.Open && !joined {
		r.Unsure(it.Word)
	}
	found, effect, ok := r.lookup(name)
	it.Name, it.Effect, it.Unknown = found, effect, !ok
	if !ok {
		it.Name = name
	}
	if joined {
		it.Value, it.Has = argv.Word{Text: value, Open: it.Word.Open, Fed: it.Word.Fed}, true
		it.Effect = strings.TrimLeft(it.Effect, "=?")
		return it
	}
	r.takeValue(&it)
	return it
}

// letter reads the next letter of a cluster of short options.
func (r *Reader) letter() item {
	c := r.Cluster[:1]
	r.Cluster = r.Cluster[1:]
	if r.letters++; r.letters > mostLetters {
		r.Refuse("more options than a program has stand in one word", "")
		r.Cluster, r.OpenCluster = "", false
	}
	it := item{Word: r.Args[r.I-1], At: r.I - 1}
	found, effect, ok := r.lookup("-" + c)
	it.Name, it.Effect, it.Unknown = found, effect, !ok
	if !ok {
		it.Name = "-" + c
	}
	takes := strings.HasPrefix(effect, "=")
	if (takes || strings.HasPrefix(effect, "?")) && (r.Cluster != "" || r.OpenCluster) {
		it.Value, it.Has = argv.Word{Text: r.Cluster, Open: r.OpenCluster, Fed: r.OpenCluster && it.Word.Fed}, true
		it.Effect = effect[1:]
		if r.Cluster == "" && takes {
			r.Unsure(it.Word) // its value is the next word, if nothing is joined
		}
		r.Cluster, r.OpenCluster = "", false
		return it
	}
	if r.Cluster == "" && r.OpenCluster {
		r.Unsure(it.Word)
		r.OpenCluster = false
	}
	r.takeValue(&it)
	return it
}

// takeValue takes the next word as an option's value where it has one.
func (r *Reader) takeValue(it *item) {
	optional := strings.HasPrefix(it.Effect, "?")
	takes := strings.HasPrefix(it.Effect, "=")
	it.Effect = strings.TrimLeft(it.Effect, "=?")
	if !takes || optional {
		return
	}
	if r.I >= len(r.Args) {
		if r.C.More {
			r.Out.Maybe, r.Lost = true, true
		}
		return
	}
	it.Value, it.Has = r.Args[r.I], true
	if it.Value.Many {
		r.Unsure(it.Value)
	}
	r.I++
}

// lookup finds an option of the row; an abbreviation means the strictest that it
// can mean.
func (r *Reader) lookup(name string) (first, effect string, ok bool) {
	if first, effect, ok = r.exactly(name); ok {
		return first, effect, true
	}
	if len(name) <= 2 || !strings.HasPrefix(name, "--") || r.Row.Flags&exact != 0 {
		return "", "", false
	}
	for rest := r.Row.Opts; rest != ""; {
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
			if strings.HasPrefix(n, name) && (!ok || strict(means) > strict(effect)) {
				first, effect, ok = lead, means, true
			}
		}
	}
	return first, effect, ok
}

// exactly finds an option by its whole name.
func (r *Reader) exactly(name string) (first, effect string, ok bool) {
	opts := r.Row.Opts
	for from := 0; ; {
		at := strings.Index(opts[from:], name)
		if at < 0 {
			return "", "", false
		}
		at += from
		end := at + len(name)
		if from = at + 1; (at == 0 || opts[at-1] == ' ' || opts[at-1] == ',') && (end == len(opts) || strings.IndexByte("=?!~, ", opts[end]) >= 0) {
			token, _, _ := strings.Cut(opts[strings.LastIndexByte(opts[:at], ' ')+1:], " ")
			means := strings.IndexAny(token, "=?!~")
			if means < 0 {
				means = len(token)
			}
			first, _, _ = strings.Cut(token[:means], ",")
			return first, token[means:], true
		}
	}
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

// Plain reads a program by its row alone.
func (r *Reader) Plain() {
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		if it.Name != "" {
			r.Apply(it)
			continue
		}
		if r.Lost && r.Row.Rest != operands {
			return
		}
		if r.operand(it) {
			return
		}
	}
	if r.Idle || r.Lost {
		return
	}
	switch r.Row.Rest {
	case Command, shellText:
		r.Bare()
	case operands, Programs, stops:
	}
}

// operand reads one; true: all is read.
func (r *Reader) operand(it item) bool {
	switch r.Row.Rest {
	case Command:
		if r.Row.Skip > 0 {
			r.Row.Skip--
			r.Ended = true // options end at the first operand
			r.Out.Maybe = r.Out.Maybe || r.Args[it.At].Many
			return r.Args[it.At].Many // the command may be among its words
		}
		if !r.Idle {
			r.Start(r.Name, r.Args[it.At:])
		}
		return true
	case shellText:
		if !r.Idle {
			r.Text(r.Name, Join(r.Args[it.At:], r.C.More))
		}
		return true
	case Programs:
		r.Program(r.Name, it.Word)
	case stops:
		return true
	case operands:
	}
	return false
}

// Bare is a launcher without a command.
func (r *Reader) Bare() {
	switch {
	case r.C.More:
		r.Refuse("what it starts is read from the input of another program", "")
	case r.Row.Flags&bareShell != 0:
		r.ShellStdin("sh")
	}
}

// ShellStdin notes that a shell reads its commands from standard input.
func (r *Reader) ShellStdin(shell string) {
	r.Out.Scripts = append(r.Out.Scripts, argv.Script{Shell: shell, Outside: true, Chain: []string{r.Name}})
}

// Apply does what the table says of an option.
func (r *Reader) Apply(it item) {
	via := r.Name + " " + it.Name
	if it.Unknown {
		if r.Row.Rest == Command || r.Row.Rest == shellText {
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		}
		return
	}
	switch it.Effect {
	case "":
	case "!":
		r.Refuse(r.Because(), it.Name)
	case "~":
		r.Idle = true
	case "p":
		if it.Has {
			r.Program(via, it.Value)
		}
	case "c":
		if it.Has {
			r.Line(via, it.Value)
		}
	case "s":
		if it.Has {
			r.Text(via, it.Value)
		}
	case "v":
		if name, value, ok := strings.Cut(it.Value.Text, "="); ok {
			r.Set = append(r.Set, argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: it.Value.Open, Fed: it.Value.Fed}})
		} else {
			r.Out.Maybe = r.Out.Maybe || it.Value.Open
		}
	case "|":
		switch {
		case it.Value.Open && it.Value.Text == "":
			r.Out.Maybe = true
		case it.Has && strings.IndexAny(strings.TrimLeft(it.Value.Text, " \t"), "|!") == 0:
			r.Refuse("its value is a command, which nobody can read", it.Name)
		}
	}
}

func (r *Reader) Because() string {
	if r.Row.Why != "" {
		return r.Row.Why
	}
	return "this option starts a program, or loads what does"
}

func (r *Reader) Refuse(reason, word string) {
	r.Out.Refused = append(r.Out.Refused, refusal{Reason: reason, Word: word})
}

// Start notes a nested command.
func (r *Reader) Start(via string, ws []argv.Word) { r.StartWith(via, ws, r.Set, r.C.More) }

func (r *Reader) StartWith(via string, ws []argv.Word, set []argv.Assignment, more bool) {
	if len(ws) == 0 {
		return
	}
	r.Out.Commands = append(r.Out.Commands, Start{
		Command: argv.Command{Words: ws, Set: set, More: more, Outside: true}, Via: via,
	})
}

// Program notes a program that is started with words of which none is known.
func (r *Reader) Program(via string, w argv.Word) {
	switch {
	case w.Open:
		r.Out.Maybe = true
	case w.Text != "":
		r.StartWith(via, []argv.Word{w}, nil, true)
	}
}

// Line notes a command line that is split at blanks without a shell.
func (r *Reader) Line(via string, w argv.Word) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	ws, ok := Split(w.Text)
	if !ok {
		r.Refuse("its command line cannot be read", w.Text)
		return
	}
	r.StartWith(via, ws, nil, true)
}

// Text notes shell text that a program runs.
func (r *Reader) Text(via string, w argv.Word) { r.Script(via, w, "sh", nil, true) }

func (r *Reader) Script(via string, w argv.Word, shell string, params []argv.Word, outside bool) {
	if w.Open {
		r.Out.Maybe = true
		return
	}
	r.Out.Scripts = append(r.Out.Scripts, argv.Script{
		Text: w.Text, Known: true, Params: params, Chain: []string{via}, Shell: shell, Outside: outside,
	})
}

// readCommandLine reads a command by its row. Lookup finds the rows of others; it is nil for
// what the shell does itself.
func readCommandLine(c argv.Command, name string, t row, lookup func(string) (row, bool)) Result {
	r := &Reader{C: c, Name: name, Args: c.Words[1:], Row: t, Lookup: lookup}
	r.Out.Row = true
	if lookup != nil && len(r.Args) == 1 && !c.More && tells(r.Args[0]) {
		return r.Out
	}
	r.Out.Interpreter = t.Flags&runsFiles != 0
	r.As(t)
	return r.Out
}

// tells reports a word that makes any program tell about itself and end.
func tells(w argv.Word) bool {
	return !w.Open && (w.Text == "--version" || w.Text == "--help")
}

// As goes on reading by another row.
func (r *Reader) As(t row) {
	r.Row = t
	if t.Own != nil {
		t.Own(r)
	} else {
		r.Plain()
	}
}
