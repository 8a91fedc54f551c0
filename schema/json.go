package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// readJSON reads the one value of text, which must be JSON without extensions.
func readJSON(text []byte, found *findings) []*node {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		jsonSyntax(text, err, found)
		return nil
	}
	r := &jsonReader{findings: found, text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1}
	r.dec.UseNumber()
	root, err := r.value(0)
	if err != nil && !errors.Is(err, errStop) {
		found.add(r.at, CodeSyntax, "the text is not valid JSON", "")
	}
	if err != nil || found.refused() {
		return nil
	}
	return []*node{root}
}

// errStop ends a reading whose finding has been reported.
var errStop = errors.New("stop") // a sentinel

type jsonReader struct {
	*findings
	text   []byte
	dec    *json.Decoder
	offset int // line and start are valid up to this offset
	line   int
	start  int // offset of the line
	at     spot
}

// token returns the next token and sets at to its position.
func (r *jsonReader) token() (json.Token, error) {
	from := int(r.dec.InputOffset())
	for from < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[from]) >= 0 {
		from++
	}
	for ; r.offset < from; r.offset++ {
		if r.text[r.offset] == '\n' {
			r.line, r.start = r.line+1, r.offset+1
		}
	}
	r.at = spot{r.line, from - r.start + 1}
	return r.dec.Token()
}

func (r *jsonReader) value(depth int) (*node, error) {
	tok, err := r.token()
	if err != nil {
		return nil, err
	}
	out := &node{at: r.at}
	if depth > maxDepth {
		r.add(out.at, CodeTooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
		return nil, errStop
	}
	switch tok := tok.(type) {
	case nil:
	case bool:
		out.kind, out.text = Bool, fmt.Sprint(tok)
	case json.Number:
		out.kind, out.text = Int, tok.String()
		if strings.ContainsAny(out.text, ".eE") {
			out.kind = Float
		}
	case string:
		out.kind, out.text = String, tok
		r.replaced(tok, out.at)
	case json.Delim:
		if tok == '[' {
			err = r.list(out, depth)
		} else {
			err = r.object(out, depth)
		}
	}
	return out, err
}

// replaced reports text in which the decoder replaced half a surrogate pair by U+FFFD.
func (r *jsonReader) replaced(text string, at spot) {
	if strings.ContainsRune(text, utf8.RuneError) {
		r.add(at, CodeEncoding, "the text holds half a surrogate pair or U+FFFD", "")
	}
}

func (r *jsonReader) list(out *node, depth int) error {
	out.kind, out.items = List, []*node{}
	for r.dec.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		out.items = append(out.items, item)
	}
	_, err := r.token()
	return err
}

func (r *jsonReader) object(out *node, depth int) error {
	out.kind = Object
	first := map[string]spot{}
	for r.dec.More() {
		tok, err := r.token()
		if err != nil {
			return err
		}
		name, at := fmt.Sprint(tok), r.at
		r.replaced(name, at)
		child, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if other, twice := first[name]; twice {
			d := r.add(at, CodeDuplicateKey, fmt.Sprintf("%q is already set on line %d", clip(name), other.line), "")
			d.Related = []Pos{r.pos(other)}
			continue
		}
		first[name], child.key = at, at
		out.names, out.items = append(out.names, name), append(out.items, child)
	}
	_, err := r.token()
	return err
}

// jsonSyntax converts the decoder's error to a finding in plain words.
func jsonSyntax(text []byte, err error, found *findings) {
	var bad *json.SyntaxError
	if !errors.As(err, &bad) || errors.Is(err, io.ErrUnexpectedEOF) {
		found.add(spotAt(text, len(text)), CodeSyntax, "the text is not valid JSON", "")
		return
	}
	offset := max(0, int(bad.Offset)-1)
	words := bad.Error()
	switch {
	case strings.Contains(words, "unexpected end"):
		found.add(spotAt(text, len(bytes.TrimRight(text, " \t\r\n"))), CodeSyntax, "the text ends inside a value",
			"close every {, [ and \"")
	case strings.Contains(words, "after top-level value"):
		found.add(spotAt(text, offset), CodeMultiple, "a second document starts here", "one policy a file")
	case strings.Contains(words, "max depth"):
		found.add(spotAt(text, offset), CodeTooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
	case strings.Contains(words, "in string literal") && text[min(offset, len(text)-1)] == '\n':
		found.add(spotAt(text, offset), CodeSyntax, "the text is not closed on its line",
			"close it with \", and write line ends in it as \\n")
	default:
		r, _ := utf8.DecodeRune(text[min(offset, len(text)-1):])
		found.add(spotAt(text, offset), CodeSyntax, fmt.Sprintf("unexpected %q", r), jsonHint(r, words))
	}
}
