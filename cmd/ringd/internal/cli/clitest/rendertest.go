// Checks of output for people: whatever text another party has inserted, one record stays one line, and a
// terminal obeys none of it.

package clitest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ringd/ringd/profiles"
)

// Forged is the text of a line that another party has inserted.
const Forged = "FORGED"

// Hostile returns texts that would begin a new line, move the cursor, change the text direction or hide.
func Hostile() []string {
	line := "\n" + Forged + "     7  2026-11-23T00:00:00.000Z  call_approved    rforged  c1  bridge:pay  by uid:0"
	return []string{
		"x" + line, "x\r" + line[1:], "x" + line + "\n", "x\n\n" + line + "\ny", "\x1b[2J\x1b[31mred\x1b]0;title\a",
		"\u009b31m\u0085" + Forged, "\u202egnp.exe\u2066", "a\u200bb\ufeffc\u2060d",
		"\x7f\b\b\x00\v\f", "\u2028" + Forged + "\u2029", "tab\there", "  two  spaces  ", "\xff\xfe\x9b",
		strings.Repeat("long ", 40) + line, "\U000e0041\u061c",
	}
}

// Hidden reports whether a character must not reach a terminal.
func Hidden(r rune) bool {
	return r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// maxDepth limits values that contain values of their own type.
const maxDepth = 8

// fill sets every text of v, also in maps and lists.
func fill(v reflect.Value, text string, depth int) {
	if depth > maxDepth {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(uint64(profiles.Deny))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			b, _ := json.Marshal(text)
			v.SetBytes(b)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}

// Filled returns a value in which every exported text is text.
func Filled[T any](text string) (v T) {
	fill(reflect.ValueOf(&v).Elem(), text, 0)
	return v
}

// Check fails if out, which sink printed for text, has a character that a terminal obeys or a line that
// begins with the text. If lines is positive, out must have so many lines.
func Check(t *testing.T, sink, text, out string, lines int) {
	t.Helper()
	if i := strings.IndexFunc(out, func(r rune) bool { return Hidden(r) && r != '\t' }); i >= 0 {
		t.Errorf("%s of %q sends %q", sink, text, out[max(0, i-20):min(len(out), i+20)])
	}
	if n := strings.Count(out, "\n"); lines > 0 && (n != lines || strings.Contains(out, "\t")) {
		t.Errorf("%s of %q is %d lines: %q", sink, text, n, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, Forged) {
			t.Errorf("%s of %q has a line that begins with it: %q", sink, text, out)
			return
		}
	}
}
