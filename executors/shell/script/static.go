// Static words are the parts of words that are known before a script runs. Quotes and escapes are removed and
// braces expanded. Parts that only the run can tell stay open. For the parts that are known, mvdan's expand
// returns the same in every environment.

package script

import (
	"math"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/profiles/argv"
)

// maxFields limits the words that the braces of one word make. expand has the same limit.
const maxFields = 16 << 10

// maxBraces limits the braces in one word. The cost of parsing them is quadratic.
const maxBraces = 64

// maxFieldBytes limits the text that the braces of one word make.
const maxFieldBytes = 1 << 20

// Fields appends the words that a word of a command becomes. It returns false if its braces make too many.
func Fields(out []argv.Word, w *syntax.Word) ([]argv.Word, bool) {
	if !hasBrace(w) {
		if f, ok := field(w.Parts); ok {
			out = append(out, f)
		}
		return out, true
	}
	n, ok := Braces(w)
	if !ok {
		return out, false
	}
	if n == 0 {
		if f, ok := field(w.Parts); ok {
			out = append(out, f)
		}
		return out, true
	}
	c := *w // SplitBraces modifies its argument
	syntax.SplitBraces(&c)
	for one, err := range expand.BracesSeq(nil, &c) {
		if err != nil {
			return out, false
		}
		if f, ok := field(one.Parts); ok {
			out = append(out, f)
		}
	}
	return out, true
}

// StaticWord returns a word in a context where it is not split: a value, the target of a redirect, the word of
// case.
func StaticWord(w *syntax.Word) argv.Word {
	if w == nil {
		return argv.Word{}
	}
	var b builder
	b.parts(w.Parts, value)
	return b.word()
}

// StaticBody returns the text of a here-document.
func StaticBody(w *syntax.Word) argv.Word {
	if w == nil {
		return argv.Word{}
	}
	var b builder
	b.parts(w.Parts, document)
	return b.word()
}

// Braces returns how many words the braces of a word make, or 0 if it has none. It returns false if these are
// too many, or if there are too many braces to parse.
func Braces(w *syntax.Word) (int, bool) {
	open, size := 0, 0
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			open += strings.Count(l.Value, "{")
		}
	}
	if open == 0 {
		return 0, true
	}
	if open > maxBraces {
		return 0, false
	}
	size = int(w.End().Offset() - w.Pos().Offset())
	c := *w
	if !syntax.SplitBraces(&c) {
		return 0, true
	}
	n, any := product(&c)
	if !any {
		return 0, true
	}
	return n, n <= maxFields && n*size <= maxFieldBytes
}

// product returns how many words a word with brace expressions makes, at most a few times MaxFields.
func product(w *syntax.Word) (n int, any bool) {
	n = 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		any = true
		k := 0
		if b.Sequence {
			k = sequence(b)
		} else {
			for _, e := range b.Elems {
				m, _ := product(e)
				k = min(k+m, 2*maxFields)
			}
		}
		n = min(n*k, 2*maxFields)
	}
	return n, any
}

// sequence returns how many words {x..y} makes. Ends that are far from 0 count as too many, since stepping past
// them can overflow.
func sequence(b *syntax.BraceExp) int {
	ends := [2]int64{}
	for i := range ends {
		text := b.Elems[i].Lit()
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err == nil:
			ends[i] = n
		case len(text) == 1:
			ends[i] = int64(text[0])
		default:
			return 2 * maxFields
		}
		if ends[i] > math.MaxInt32 || ends[i] < math.MinInt32 {
			return 2 * maxFields
		}
	}
	step := int64(1)
	if len(b.Elems) > 2 {
		if n, err := strconv.ParseInt(b.Elems[2].Lit(), 10, 64); err == nil && n != 0 {
			step = max(n, -n)
		}
		if step < 1 || step > math.MaxInt32 {
			return 2 * maxFields
		}
	}
	return int(min(max(ends[0]-ends[1], ends[1]-ends[0])/step+1, 2*maxFields))
}

func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// field returns one word of a command. It returns false if there is no word, as in a=$b cmd.
func field(parts []syntax.WordPart) (argv.Word, bool) {
	if len(parts) == 1 { // the most frequent kind of word
		if l, ok := parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, "\\*?[~\x00") {
			return argv.Word{Text: l.Value}, true
		}
	}
	var b builder
	b.parts(parts, fields)
	return b.word(), true
}

// The contexts in which the parts of a word are read.
type mode uint8

const (
	fields   mode = iota // of a command: split, globbed
	quoted               // in double quotes, of a command
	value                // neither split nor globbed
	within               // in double quotes, of a value
	document             // the body of a here-document
)

// inner is the mode of parts in double quotes.
func (m mode) inner() mode {
	if m == fields {
		return quoted
	}
	return within
}

type builder struct {
	text strings.Builder
	open bool
	many bool
}

func (b *builder) word() argv.Word {
	return argv.Word{Text: b.text.String(), Open: b.open, Many: b.many}
}

// put appends known text, unless an earlier part is not known.
func (b *builder) put(s string) {
	if !b.open {
		b.text.WriteString(s)
	}
}

func (b *builder) unknown(many bool) {
	b.open = true
	b.many = b.many || many
}

func (b *builder) parts(parts []syntax.WordPart, m mode) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			switch m {
			case quoted, within:
				b.escapes(p.Value, "\"\\$`")
			case document:
				b.escapes(p.Value, "\\$`")
			case fields, value:
				b.plain(p.Value, m, i == 0, i == len(parts)-1)
			}
		case *syntax.SglQuoted:
			b.put(singleQuoted(p))
		case *syntax.DblQuoted:
			b.parts(p.Parts, m.inner())
		case *syntax.ParamExp:
			b.unknown(m == fields || m == quoted && isList(p))
		case *syntax.ProcSubst:
			b.put("/") // the name of a pipe, which is absolute
			b.unknown(false)
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			b.unknown(m == fields)
		default:
			b.unknown(true)
		}
	}
}

// plain reads text outside of quotes.
func (b *builder) plain(s string, m mode, first, last bool) {
	if first && strings.HasPrefix(s, "~") && (last || strings.Contains(s, "/")) {
		b.unknown(false)
		return
	}
	from := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.put(s[from:i])
			from = i + 1
			i++
		case m == fields && (c == '*' || c == '?' || c == '[' && (!last || strings.IndexByte(s[i:], ']') > 0)):
			b.put(s[from:i])
			b.unknown(true)
			return
		case m == value && c == ':' && strings.HasPrefix(s[i+1:], "~"):
			b.put(s[from : i+1])
			b.unknown(false)
			return
		}
	}
	b.put(s[from:])
}

// escapes reads text in which a backslash escapes only the characters in of.
func (b *builder) escapes(s, of string) {
	from := 0
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '\\' && strings.IndexByte(of, s[i+1]) >= 0 {
			b.put(s[from:i])
			from = i + 1
			i++
		}
	}
	b.put(s[from:])
}

// isList reports whether a parameter in double quotes may be several words.
func isList(p *syntax.ParamExp) bool {
	if p.Length {
		return false
	}
	if p.Names == syntax.NamesPrefixWords || p.Param != nil && p.Param.Value == "@" {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// singleQuoted is the text in single quotes.
func singleQuoted(q *syntax.SglQuoted) string {
	if !q.Dollar || strings.IndexByte(q.Value, '\\') < 0 {
		return q.Value
	}
	text, _, err := expand.Format(&expand.Config{}, q.Value, nil)
	if err != nil {
		return q.Value
	}
	text, _, _ = strings.Cut(text, "\x00")
	return text
}
