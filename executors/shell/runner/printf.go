package runner

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxWidth limits the width and precision of one conversion, maxText the output of one printf.
const (
	maxWidth = 1 << 16
	maxText  = 8 << 20
)

// printer is one call of printf.
type printer struct {
	s    builtinShell
	out  strings.Builder
	args []string
	used bool // an argument was used
	stop bool
	exit uint8
}

func printf(args []string, s builtinShell) uint8 {
	target := ""
	for len(args) > 0 {
		if args[0] == "-v" && len(args) > 1 {
			target, args = args[1], args[2:]
			continue
		}
		if strings.HasPrefix(args[0], "-v") && len(args[0]) > 2 {
			target, args = args[0][2:], args[1:]
			continue
		}
		if args[0] == "--" {
			args = args[1:]
		} else if strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
			return s.fail(2, "printf: %s: invalid option", args[0])
		}
		break
	}
	if len(args) == 0 {
		return s.fail(2, "printf: usage: printf [-v var] format [arguments]")
	}
	if target != "" && !validTarget(target) {
		return s.fail(2, "printf: `%s': not a valid identifier", target)
	}
	p := &printer{s: s, args: args[1:]}
	for {
		p.used = false
		p.format(args[0])
		if p.stop || !p.used || len(p.args) == 0 || p.out.Len() > maxText {
			break
		}
	}
	if target != "" {
		if code := failed(s.Set(target, strings.ReplaceAll(p.out.String(), "\x00", ""))); code != 0 {
			return code
		}
		return p.exit
	}
	if code := s.print(p.out.String()); code != 0 {
		return code
	}
	return p.exit
}

func (p *printer) next() string {
	p.used = true
	if len(p.args) == 0 {
		return ""
	}
	a := p.args[0]
	p.args = p.args[1:]
	return a
}

func (p *printer) format(f string) {
	for i := 0; i < len(f) && !p.stop && p.out.Len() <= maxText; {
		switch f[i] {
		case '\\':
			text, n := escape(f[i:], false)
			p.out.WriteString(text)
			i += n
		case '%':
			i += p.conversion(f[i:])
		default:
			p.out.WriteByte(f[i])
			i++
		}
	}
}

// spec is one conversion, read.
type spec struct {
	flags       string
	width, prec int // prec below 0: none
	verb        byte
	layout      string // of %(layout)T
}

// conversion does one conversion and says how long it stands in the format.
func (p *printer) conversion(f string) int {
	c := spec{prec: -1}
	i := 1
	for i < len(f) && strings.IndexByte("-+ #0'", f[i]) >= 0 {
		c.flags += string(f[i])
		i++
	}
	i += p.number(f[i:], &c.width)
	if c.width < 0 {
		c.flags, c.width = c.flags+"-", -c.width
	}
	if i < len(f) && f[i] == '.' {
		c.prec = 0
		i++
		i += p.number(f[i:], &c.prec)
	}
	for i < len(f) && strings.IndexByte("hlLjzt", f[i]) >= 0 {
		i++
	}
	if i < len(f) && f[i] == '(' {
		if end := strings.Index(f[i:], ")T"); end > 0 {
			c.layout, c.verb = f[i+1:i+end], 'T'
			p.convert(c)
			return i + end + 2
		}
	}
	if i >= len(f) {
		p.wrong("`%c': missing format character", f[len(f)-1])
		p.stop = true
		return len(f)
	}
	c.verb = f[i]
	p.convert(c)
	return i + 1
}

func (p *printer) number(f string, into *int) int {
	if strings.HasPrefix(f, "*") {
		*into = max(-maxWidth, min(maxWidth, int(p.integer(p.next()))))
		return 1
	}
	i := 0
	for i < len(f) && f[i] >= '0' && f[i] <= '9' {
		i++
	}
	if i > 0 {
		n, err := strconv.Atoi(f[:i])
		if err != nil || n > maxWidth {
			n = maxWidth
		}
		*into = n
	}
	return i
}

func (p *printer) wrong(format string, args ...any) {
	p.exit = p.s.fail(1, "printf: "+format, args...)
}

func (p *printer) convert(c spec) {
	switch c.verb {
	case '%':
		p.out.WriteByte('%')
	case 's':
		p.text(c, p.next())
	case 'c':
		a := p.next()
		if len(a) > 1 {
			a = a[:1]
		}
		c.prec = -1
		p.text(c, a)
	case 'b':
		text, stop := unescape(p.next(), true)
		p.stop = stop
		p.text(c, text)
	case 'q', 'Q':
		p.text(c, quoteWord(p.next()))
	case 'd', 'i':
		p.integral(c, p.integer(p.next()), 'd', true)
	case 'u', 'o', 'x', 'X':
		p.integral(c, p.integer(p.next()), c.verb, false)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		p.float(c, p.next())
	case 'T':
		p.time(c, p.next())
	default:
		p.wrong("`%c': invalid format character", c.verb)
		p.stop = true
	}
}

func (p *printer) text(c spec, a string) {
	if c.prec >= 0 {
		a = clipRunes(a, c.prec)
	}
	p.pad(c, a, false)
}

func clipRunes(a string, n int) string {
	for i := range a {
		if n == 0 {
			return a[:i]
		}
		n--
	}
	return a
}

// pad writes text at its width.
func (p *printer) pad(c spec, a string, zeros bool) {
	fill := c.width - utf8.RuneCountInString(a)
	switch {
	case fill <= 0:
		p.out.WriteString(a)
	case strings.Contains(c.flags, "-"):
		p.out.WriteString(a + strings.Repeat(" ", fill))
	case zeros:
		sign := len(a) - len(strings.TrimLeft(a, "+- "))
		if strings.HasPrefix(strings.ToLower(a[sign:]), "0x") {
			sign += 2
		}
		p.out.WriteString(a[:sign] + strings.Repeat("0", fill) + a[sign:])
	default:
		p.out.WriteString(strings.Repeat(" ", fill) + a)
	}
}

// integer reads an argument as a number, as strtoimax and bash do.
func (p *printer) integer(a string) int64 {
	t := strings.TrimLeft(a, " \t\n")
	if t == "" {
		return 0
	}
	if t[0] == '\'' || t[0] == '"' {
		r, _ := utf8.DecodeRuneInString(t[1:])
		if t[1:] == "" {
			return 0
		}
		return int64(r)
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(t, "+"), 0, 64)
	if err == nil && !strings.ContainsAny(t, "_oObB") ||
		err == nil && strings.HasPrefix(strings.TrimLeft(t, "+-"), "0x") && !strings.Contains(t, "_") {
		return n
	}
	if u, err := strconv.ParseUint(t, 0, 64); err == nil && !strings.ContainsAny(t, "_oO") {
		return int64(u) //nolint:gosec // as bash: the bits
	}
	end := 0
	if end < len(t) && (t[0] == '-' || t[0] == '+') {
		end++
	}
	for end < len(t) && t[end] >= '0' && t[end] <= '9' {
		end++
	}
	p.wrong("%s: invalid number", a)
	if n, err = strconv.ParseInt(strings.TrimPrefix(t[:end], "+"), 10, 64); err != nil {
		return max(n, min(n, 0))
	}
	return n
}

func (p *printer) integral(c spec, n int64, verb byte, signed bool) {
	var digits, sign string
	if signed {
		digits = strconv.FormatInt(n, 10)
		if n < 0 {
			sign, digits = "-", digits[1:]
		} else if strings.Contains(c.flags, "+") {
			sign = "+"
		} else if strings.Contains(c.flags, " ") {
			sign = " "
		}
	} else {
		base := map[byte]int{'u': 10, 'o': 8, 'x': 16, 'X': 16}[verb]
		digits = strconv.FormatUint(uint64(n), base) //nolint:gosec // as C does
		if verb == 'X' {
			digits = strings.ToUpper(digits)
		}
		if strings.Contains(c.flags, "#") && n != 0 {
			sign = map[byte]string{'o': "0", 'x': "0x", 'X': "0X"}[verb]
		}
	}
	if c.prec >= 0 && len(digits) < c.prec {
		digits = strings.Repeat("0", c.prec-len(digits)) + digits
	}
	if c.prec == 0 && n == 0 {
		digits = ""
	}
	p.pad(c, sign+digits, strings.Contains(c.flags, "0") && c.prec < 0)
}

func (p *printer) float(c spec, a string) {
	var n float64
	var err error
	t := strings.TrimSpace(a)
	switch {
	case t == "":
	case t[0] == '\'' || t[0] == '"':
		n = float64(p.integer(t))
	default:
		if n, err = strconv.ParseFloat(strings.TrimPrefix(t, "+"), 64); err != nil {
			n = float64(p.integer(a))
		}
	}
	f := "%"
	for _, flag := range c.flags {
		if flag == '+' || flag == ' ' || flag == '#' {
			f += string(flag)
		}
	}
	prec := c.prec
	if prec < 0 && c.verb != 'a' && c.verb != 'A' {
		prec = 6
	}
	verb := c.verb
	switch verb {
	case 'a':
		verb = 'x'
	case 'A':
		verb = 'X'
	}
	if prec >= 0 {
		f += "." + strconv.Itoa(min(prec, 1000))
	}
	text := fmt.Sprintf(f+string(verb), n)
	if verb == 'g' || verb == 'G' {
		text = strings.Replace(text, "e+0", "e+0", 1)
	}
	text = strings.NewReplacer("+Inf", "inf", "-Inf", "-inf", "NaN", "nan", "Inf", "inf").Replace(text)
	p.pad(c, text, strings.Contains(c.flags, "0"))
}

func (p *printer) time(c spec, a string) {
	at := p.s.Now()
	if a != "" && a != "-1" && a != "-2" {
		at = time.Unix(p.integer(a), 0)
	}
	zone, set := p.s.Get("TZ")
	loc := time.UTC
	if set && zone != "" {
		if l, err := time.LoadLocation(zone); err == nil {
			loc = l
		}
	}
	layout := c.layout
	if layout == "" {
		layout = "%X"
	}
	p.text(c, strftime(layout, at.In(loc)))
}
