// Package argv owns the parsing of command words without running the command: which flags
// and operands are there, in any spelling, and what is certain while some words are unknown.
// The table options.txt describes how each program reads its words.
//
// In doubt a denied pattern matches, and an allowed one does not.
//
// Packages profiles, command and programs call it, and so do the compiler for patterns of
// policies and the shell executor for words of a script.
package argv

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/tables"
)

// Tri is an answer about words that may be known only in part.
type Tri uint8

// The answers. The zero Tri is No.
const (
	No    Tri = iota // regardless of the unknown words
	Maybe            // depends on the unknown words
	Yes              // regardless of the unknown words
)

// String returns "no", "maybe" or "yes".
func (t Tri) String() string {
	switch t {
	case Yes:
		return "yes"
	case Maybe:
		return "maybe"
	case No:
		return "no"
	default:
		return "no"
	}
}

// Words is a command as its program reads it. It is immutable.
type Words struct {
	base     string
	tool     *tool
	words    []Word
	flags    []flag
	operands []operand
	group    string // a word before operands[0] that belongs to it: container run
	wild     bool   // an unknown word may be any flag
	tail     bool   // any operands may follow
}

// flag is an option of the command.
type flag struct {
	name    string         // without dashes
	entry   *tables.Option // its entry in the table, or nil
	value   Word
	has     bool // it has a value
	long    bool
	cluster bool // name may be one option or several letters
	skip    bool // it may be the value of an unknown option
	soft    bool // because of unknown words before it, it may be something else or nothing
}

// operand is a word that is not an option.
type operand struct {
	word       Word
	skip, soft bool
	front      bool // only operands precede it
}

// Split parses the words of a command. The first one is its name. If more is true, any number of unknown
// words follow.
func Split(ws []Word, more bool) *Words {
	w := &Words{words: ws, tool: &tool{}}
	if len(ws) == 0 {
		w.wild, w.tail = more, more
		return w
	}
	w.base = Base(ws[0].Text)
	w.tool = toolOf(w.base)
	r := reader{w: w, spec: w.tool.global}
	r.read(ws[1:])
	if more {
		w.tail = true
		w.wild = w.wild || !r.ended
	}
	return w
}

// Base returns the name of a program in patterns.
func Base(name string) string {
	if strings.IndexByte(name, '/') < 0 {
		return name
	}
	return path.Base(name)
}

// maxText is the longest text that [Words.Text] returns.
const maxText = 400

// Text returns the first known words in one line, with the program's base name.
func (w *Words) Text() string {
	var b strings.Builder
	for i, x := range w.words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > maxText {
			break
		}
		if i == 0 {
			b.WriteString(w.base)
		} else {
			b.WriteString(x.Text)
		}
		if x.Open {
			b.WriteString("…")
		}
	}
	return b.String()
}

// Sub returns the operands from the sub-command on, without the options. It returns false if the program has
// no known sub-commands, or if something before the first operand may change which word is the sub-command.
func (w *Words) Sub() ([]Word, bool) {
	out := make([]Word, len(w.operands))
	for i, o := range w.operands {
		out[i] = o.word
	}
	sure := w.tool.subs != noSubs && len(out) > 0 && !w.operands[0].skip && !w.operands[0].soft && !out[0].Open
	return out, sure
}

// Args returns the number of words after the name, and false if there may be more.
func (w *Words) Args() (int, bool) {
	n, sure := 0, !w.tail
	for _, x := range w.words[min(1, len(w.words)):] {
		if x.Open && x.Many {
			sure = false
			continue // it may become no word
		}
		n++
	}
	return n, sure
}

// reader is the state while parsing one command.
type reader struct {
	w     *Words
	spec  options
	ended bool // after --
	soft  bool
	skip  bool  // the next word may be a value
	wants []int // flags that still need a value
	until bool  // within the words of find -exec
}

func (r *reader) read(ws []Word) {
	for i, x := range ws {
		switch {
		case r.until:
			r.within(x)
		case len(r.wants) > 0:
			r.value(x)
		case r.ended:
			r.operand(x)
		case i == 0 && r.w.tool.has(firstIsCluster) && x.Text != "" && x.Text[0] != '-':
			r.letters(x.Text, Word{}, true)
			if x.Open {
				r.loosen(x.Many)
			}
		case x.Open && (x.Text == "" || x.Text[0] == '-'):
			r.unknown(x)
		case len(x.Text) > 1 && x.Text[0] == '-':
			r.option(x)
		default:
			r.operand(x)
			if x.Many {
				r.soft, r.w.wild = true, true
			}
		}
	}
}

// loosen is called after an option that is known only in part, and after a value that may become several
// words. From there on every word may have another meaning.
func (r *reader) loosen(many bool) {
	r.soft, r.w.wild = true, true
	if many {
		r.w.operands = append(r.w.operands, operand{word: Word{Open: true, Many: true}, soft: true})
	}
}

// within skips the words of an option up to ";" or "+" (find -exec).
func (r *reader) within(x Word) {
	ends := !x.Open && (x.Text == ";" || x.Text == "+")
	switch {
	case ends:
		r.until = false
	case x.Open && (x.Many || x.Text == ""):
		r.until = false // it may end here; if it does not, the following words are read too strictly
		r.loosen(x.Many)
	}
}

// value assigns a word to the option that waits for one.
func (r *reader) value(x Word) {
	f := &r.w.flags[r.wants[0]]
	r.wants = r.wants[1:]
	f.value, f.has = x, true
	r.same(*f)
	if x.Open && x.Many {
		r.loosen(true)
	}
}

// same adds the option that has the same meaning as f with its value.
func (r *reader) same(f flag) {
	if !r.w.tool.has(location) || f.name != "location" {
		return
	}
	if f.value.Text == "global" || f.value.Open && strings.HasPrefix("global", f.value.Text) {
		soft := f.soft || f.value.Open
		also := flag{name: "global", entry: r.spec.find("global"), long: true, skip: f.skip, soft: soft}
		r.w.flags = append(r.w.flags, also)
	}
}

// unknown reads a word that may be an option, or part of one.
func (r *reader) unknown(x Word) {
	name := strings.TrimPrefix(x.Text, "-")
	switch {
	case strings.HasPrefix(name, "-") && strings.Contains(name, "="):
		head, rest, _ := strings.Cut(name[1:], "=")
		r.long(head, Word{Text: rest, Open: true, Many: x.Many}, true)
		if x.Many {
			r.loosen(true)
		}
		return
	case name == "" || name[0] == '-' || r.w.tool.has(longOptions) || !r.w.tool.known:
	default:
		if r.letters(name, Word{Open: true, Many: x.Many}, false) {
			if x.Many {
				r.loosen(true)
			}
			return
		}
	}
	if x.Text == "" || x.Text == "-" {
		r.w.operands = append(r.w.operands, operand{word: x, skip: r.skip, soft: true, front: len(r.w.flags) == 0})
	}
	r.loosen(x.Many && x.Text != "")
}

// option reads a known word that begins with a dash.
func (r *reader) option(x Word) {
	t := r.w.tool
	text := x.Text
	if text == "--" {
		if r.soft || r.skip { // it may be the value of the option before it
			r.skip = true
			return
		}
		r.ended = true
		return
	}
	if t.has(signals) {
		if n, ok := signal(text[1:]); ok && !strings.HasPrefix(text, "--") {
			entry := &tables.Option{Names: []string{"s", "n", "signal"}, Value: tables.Next}
			r.add(flag{name: "signal", entry: entry, value: Known(n), has: true, long: true})
			return
		}
	}
	name, rest, joined := strings.Cut(strings.TrimPrefix(text[1:], "-"), "=")
	switch {
	case text[1] == '-' || t.has(longOptions):
		r.long(name, Known(rest), joined)
	case !t.known:
		r.add(flag{name: name, value: Known(rest), has: joined, cluster: true})
		r.skip = !joined
	default:
		r.letters(text[1:], Word{}, false)
	}
}

// long reads an option by its name.
func (r *reader) long(name string, value Word, joined bool) {
	entry := r.spec.find(name)
	f := flag{name: name, entry: entry, value: value, has: joined, long: true}
	at := r.add(f)
	if joined {
		r.same(f)
		return
	}
	switch {
	case entry != nil:
		switch entry.Value {
		case tables.Next:
			r.wants = append(r.wants, at)
		case tables.Until:
			r.until = true
		case tables.NoValue, tables.Joined:
		}
	case r.w.tool.has(signals) && name == "signal":
		r.wants = append(r.wants, at)
	case strings.HasPrefix(name, "no-") && r.spec.find(name[len("no-"):]) != nil:
	case !r.w.tool.has(noAbbreviations) && r.spec.abbreviates(name, anyOption):
		r.skip = r.spec.abbreviates(name, takesNextWord)
	default:
		r.skip = true
	}
}

// letters reads a cluster of short options. rest is what may follow the known part of the word. The result
// reports whether all of rest is a value. In a bundle the values are the following words.
func (r *reader) letters(text string, rest Word, bundle bool) bool {
	for i := 0; i < len(text); i++ {
		name := text[i : i+1]
		entry := r.spec.find(name)
		f := flag{name: name, entry: entry}
		left := text[i+1:]
		switch k := value(entry); {
		case bundle && k == tables.Next:
			r.wants = append(r.wants, r.add(f))
		case k == tables.Next && left == "" && !rest.Open:
			r.wants = append(r.wants, r.add(f))
			return true
		case k == tables.Next || k == tables.Joined && (left != "" || rest.Open):
			f.value, f.has = Word{Text: strings.TrimPrefix(left, "="), Open: rest.Open, Many: rest.Many}, true
			r.add(f)
			return true
		default:
			r.add(f)
			r.skip = entry == nil && left == "" && name != "h"
		}
	}
	return false
}

// add adds a flag with the flags that it implies, and returns its index.
func (r *reader) add(f flag) int {
	f.skip, f.soft = r.skip, r.soft
	r.skip = false
	r.w.flags = append(r.w.flags, f)
	at := len(r.w.flags) - 1
	if f.entry != nil {
		for _, name := range f.entry.Means {
			also := flag{name: name, entry: r.spec.find(name), long: len(name) > 1, skip: f.skip, soft: f.soft}
			r.w.flags = append(r.w.flags, also)
		}
	}
	return at
}

// operand adds an operand. The first one of a program with sub-commands selects the options that may follow.
func (r *reader) operand(x Word) {
	t := r.w.tool
	o := operand{word: x, skip: r.skip, soft: r.soft, front: len(r.w.flags) == 0 && !r.ended}
	r.skip = false
	if t.subs != noSubs && !x.Open {
		switch len(r.w.operands) {
		case 0:
			if t.isNoSub(r.w.base, x.Text) {
				return
			}
			r.spec = t.sub(x.Text)
		case 1:
			if !r.w.operands[0].word.Open {
				if one := t.together(r.w.operands[0].word.Text, x.Text); one != "" && one != r.w.operands[0].word.Text {
					r.w.group = r.w.operands[0].word.Text
					r.w.operands[0].word = Known(one)
					r.spec = t.sub(one)
					return
				}
			}
		}
	} else if t.subs != noSubs && len(r.w.operands) == 0 {
		r.spec, r.soft, r.w.wild = nil, true, true // the options that may follow are unknown
	}
	if name := t.implied(r.w, x); name != "" {
		soft := o.soft || x.Open && x.Text == ":"
		r.w.flags = append(r.w.flags, flag{name: name, entry: r.spec.find(name), long: true, skip: o.skip, soft: soft})
	}
	r.w.operands = append(r.w.operands, o)
}

// Values returns the values of the options with a name: git's "c" for -c key=value. A value is Open if
// unknown words before it may change its meaning.
func (w *Words) Values(name string) []Word {
	var out []Word
	for i := range w.flags {
		if f := &w.flags[i]; f.has && (f.name == name || means(f.entry, name)) {
			v := f.value
			v.Open = v.Open || f.soft
			out = append(out, v)
		}
	}
	return out
}

// Has reports whether an option is present, given one of its names.
func (w *Words) Has(name string) Tri { return w.has(&flag{name: name, long: len(name) > 1}, true) }
