package runner

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// unescape decodes the escapes of echo -e and %b. It returns true if \c ends the output.
func unescape(a string, b bool) (string, bool) {
	if strings.IndexByte(a, '\\') < 0 {
		return a, false
	}
	var out strings.Builder
	for i := 0; i < len(a); {
		if a[i] != '\\' {
			out.WriteByte(a[i])
			i++
			continue
		}
		if b && strings.HasPrefix(a[i:], `\c`) {
			return out.String(), true
		}
		text, n := escape(a[i:], b)
		out.WriteString(text)
		i += n
	}
	return out.String(), false
}

// escape decodes one escape and returns its length. In the argument of %b an octal number starts with 0, and
// quotes are no escapes.
func escape(f string, b bool) (string, int) {
	if len(f) < 2 {
		return `\`, 1
	}
	switch c := f[1]; c {
	case 'a':
		return "\a", 2
	case 'b':
		return "\b", 2
	case 'e', 'E':
		return "\x1b", 2
	case 'f':
		return "\f", 2
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'v':
		return "\v", 2
	case '\\':
		return `\`, 2
	case '"', '\'', '?':
		if b && c != '"' && c != '\'' {
			return f[:2], 2
		}
		if b {
			return f[:2], 2
		}
		return string(c), 2
	case 'x':
		if v, n := digits(f[2:], 16, 2); n > 0 {
			return string([]byte{byte(v)}), 2 + n
		}
	case 'u', 'U':
		size := 4
		if c == 'U' {
			size = 8
		}
		if v, n := digits(f[2:], 16, size); n > 0 {
			return string(rune(v)), 2 + n //nolint:gosec // a value that is no character becomes U+FFFD
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		if b && c == '0' {
			v, n := digits(f[2:], 8, 3)
			return string([]byte{byte(v)}), 2 + n
		}
		v, n := digits(f[1:], 8, 3)
		return string([]byte{byte(v)}), 1 + n
	}
	return f[:2], 2
}

// digits reads up to most digits.
func digits(f string, base, most int) (uint32, int) {
	n := 0
	for n < len(f) && n < most {
		if _, err := strconv.ParseUint(f[n:n+1], base, 32); err != nil {
			break
		}
		n++
	}
	v, err := strconv.ParseUint(f[:n], base, 32)
	if err != nil {
		return 0, 0
	}
	return uint32(v), n
}

// quoteWord quotes a for the shell, as printf %q does.
func quoteWord(a string) string {
	if a == "" {
		return "''"
	}
	if strings.ContainsFunc(a, func(r rune) bool { return unicode.IsControl(r) }) || !utf8.ValidString(a) {
		return ansi(a)
	}
	var out strings.Builder
	for i, r := range a {
		if strings.ContainsRune(" '\"\\|&;()<>!{}*[]?^$`,", r) || i == 0 && (r == '~' || r == '#') {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// encloseWord writes text in quotes that read back as it, also where it needs none, as
// ${x@Q} does.
func encloseWord(a string) string {
	if strings.ContainsFunc(a, unicode.IsControl) || !utf8.ValidString(a) {
		return ansi(a)
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// ansi writes $'…'.
func ansi(a string) string {
	var out strings.Builder
	out.WriteString("$'")
	for i := 0; i < len(a); {
		r, n := utf8.DecodeRuneInString(a[i:])
		switch c := a[i]; {
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == 0x1b:
			out.WriteString(`\E`)
		case c == '\a':
			out.WriteString(`\a`)
		case c == '\b':
			out.WriteString(`\b`)
		case c == '\f':
			out.WriteString(`\f`)
		case c == '\v':
			out.WriteString(`\v`)
		case c == '\'' || c == '\\':
			out.WriteString(`\` + string(c))
		case c < ' ' || c == 0x7f || r == utf8.RuneError && n == 1:
			_, _ = fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteString(a[i : i+n])
		}
		i += n
	}
	return out.String() + "'"
}

// strftime writes a time in the C locale. What it does not know stays as it is.
func strftime(layout string, t time.Time) string {
	var out strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 == len(layout) {
			out.WriteByte(layout[i])
			continue
		}
		i++
		if (layout[i] == '-' || layout[i] == '_') && i+1 < len(layout) {
			text := strings.TrimLeft(timePart(layout[i+1], t), "0")
			if text == "" {
				text = "0"
			}
			out.WriteString(text)
			i++
			continue
		}
		out.WriteString(timePart(layout[i], t))
	}
	return out.String()
}

func timePart(c byte, t time.Time) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'b': "Jan", 'h': "Jan",
		'B': "January",
		'a': "Mon", 'A': "Monday", 'p': "PM", 'I': "03", 'z': "-0700", 'Z': "MST", 'F': "2006-01-02", 'T': "15:04:05",
		'X': "15:04:05",
		'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'e': "_2", 'N': "000000000", 'c': "Mon Jan _2 15:04:05 2006",
		'r': "03:04:05 PM", 'k': "15",
	}
	if l, ok := layouts[c]; ok {
		if c == 'N' {
			return fmt.Sprintf("%09d", t.Nanosecond())
		}
		return t.Format(l)
	}
	_, week := t.ISOWeek()
	switch c {
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '%':
		return "%"
	default:
		return "%" + string(c)
	}
}
