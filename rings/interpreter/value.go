package interpreter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of every value that crosses the ring. Deeper nesting serves nobody but
// an attacker. A validator turns numbers into exact fractions: an exponent of
// six digits would cost milliseconds each.
const (
	maxDepth    = 256
	maxNumber   = 400 // characters
	maxExponent = 3   // digits
	marker      = "$ringd"
)

// shape is what scan learns about a value.
type shape struct {
	marked bool   // a key may be the marker of the tagged encoding
	list   bool   // the value is an array
	count  int    // its elements
	first  []byte // its first element
}

// scan checks that b is one JSON value in UTF-8 within the bounds.
func scan(b []byte) (shape, error) {
	var s shape
	if !utf8.Valid(b) {
		return s, errors.New("not UTF-8")
	}
	if !json.Valid(b) {
		return s, errors.New("not one JSON value")
	}
	depth, start, commas := 0, -1, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			end := stringEnd(b, i)
			if isMarker(b[i:end]) {
				s.marked = true
			}
			i = end - 1
		case c == '[' || c == '{':
			depth++
			if depth > maxDepth {
				return s, fmt.Errorf("nested deeper than %d", maxDepth)
			}
			if depth == 1 {
				s.list = c == '['
				start = i + 1
			}
		case c == ']' || c == '}':
			depth--
			if depth == 0 && s.list {
				s.finish(b[start:i], commas)
			}
		case c == ',':
			if depth == 1 && s.list {
				s.finish(b[start:i], commas)
				commas++
			}
		case c == '-' || (c >= '0' && c <= '9'):
			end, err := numberEnd(b, i)
			if err != nil {
				return s, err
			}
			i = end - 1
		}
	}
	return s, nil
}

// finish takes note of an element's end: the first element is text up to the
// first comma, and there is one element more than commas unless there is none.
func (s *shape) finish(text []byte, commas int) {
	if commas == 0 {
		s.first = bytes.TrimSpace(text)
		if len(s.first) == 0 {
			s.first = nil
			return
		}
	}
	s.count = commas + 1
}

// stringEnd returns the index after the string that begins at i. b is valid.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// isMarker reports whether a string token is, or could be when unescaped, the
// marker.
func isMarker(token []byte) bool {
	if string(token) == `"`+marker+`"` {
		return true
	}
	if bytes.IndexByte(token, '\\') < 0 || len(token) > 6*len(marker)+2 {
		return false
	}
	var s string
	return json.Unmarshal(token, &s) == nil && s == marker
}

// numberEnd returns the index after the number at i and refuses one that costs.
func numberEnd(b []byte, i int) (int, error) {
	from, exponent := i, -1
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == 'e' || c == 'E':
			exponent = i
			continue
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
			continue
		}
		break
	}
	if i-from > maxNumber {
		return i, fmt.Errorf("a number of more than %d characters", maxNumber)
	}
	if exponent >= 0 {
		digits := strings.TrimLeft(string(b[exponent+1:i]), "+-0")
		if len(digits) > maxExponent {
			return i, fmt.Errorf("a number with an exponent of more than %d digits", maxExponent)
		}
	}
	return i, nil
}

// refuseMarked is the check of tagged values when nobody can check them.
func refuseMarked(v json.RawMessage) error {
	s, err := scan(v)
	if err == nil && s.marked {
		err = errors.New("a tagged value, which this host cannot check")
	}
	return err
}

// plainer turns a tagged value into plain JSON for a schema: a member that is
// undefined is left out, as JSON.stringify does; any other tagged value has no
// plain form and is an error that names its path.
type plainer struct{ path []string }

func (p *plainer) plain(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if kind, tagged := v[marker]; tagged {
			return p.tagged(kind, v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isUndefined(v[key]) {
				delete(v, key)
				continue
			}
			p.path = append(p.path, "."+clip(key, 40))
			out, err := p.plain(v[key])
			if err != nil {
				return nil, err
			}
			p.path = p.path[:len(p.path)-1]
			v[key] = out
		}
	case []any:
		for i := range v {
			p.path = append(p.path, "["+strconv.Itoa(i)+"]")
			out, err := p.plain(v[i])
			if err != nil {
				return nil, err
			}
			p.path = p.path[:len(p.path)-1]
			v[i] = out
		}
	}
	return v, nil
}

func (p *plainer) tagged(kind any, v map[string]any) (any, error) {
	if kind == "number" && v["value"] == "-0" {
		return json.Number("0"), nil
	}
	name, _ := kind.(string)
	return nil, fmt.Errorf("%s is not plain JSON (%s)", p.where(), clip(name, 20))
}

func (p *plainer) where() string { return clip("$"+strings.Join(p.path, ""), 200) }

func isUndefined(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 1 && m[marker] == "undefined"
}

// validate checks a value against the schemas and returns the value that they
// have seen, written anew: what a repeated key or a half of a surrogate pair
// means to another reader must not differ from what was checked. Without a
// schema it returns b. The error is for the program: it names a path and what
// the schema wants, and is bounded.
func validate(b []byte, marked bool, one, other *jsonschema.Schema) (json.RawMessage, error) {
	if one == nil && other == nil {
		return b, nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("not one JSON value")
	}
	if marked {
		p := plainer{}
		if v, err = p.plain(v); err != nil {
			return nil, err
		}
	}
	if one == other {
		other = nil
	}
	for _, s := range [2]*jsonschema.Schema{one, other} {
		if s == nil {
			continue
		}
		if err := s.Validate(v); err != nil {
			return nil, errors.New(finding(err))
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.New("not plain JSON")
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// finding is the first of the mistakes deepest in the value, without the
// schema's address.
func finding(err error) string {
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return "does not fit its schema"
	}
	for len(bad.Causes) > 0 {
		bad = bad.Causes[0]
	}
	where := "$"
	for _, part := range bad.InstanceLocation {
		where += "." + clip(part, 40)
	}
	text := "does not fit its schema"
	if unit := bad.BasicOutput(); unit != nil && unit.Error != nil {
		text = unit.Error.String()
	}
	return clip(where, 200) + ": " + clip(text, 200)
}

// clip shortens s to at most n bytes at a rune's edge.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
