package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// plainRead reports whether the interpreter's own read supports all of the options.
func plainRead(args []string) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			return true
		}
		if a == "--" {
			return true
		}
		if strings.Trim(a[1:], "ra") != "" || strings.Contains(a, "a") {
			return false
		}
	}
	return true
}

// readOptions are the options of read.
type readOptions struct {
	raw, array bool
	delim      byte
	count      int // -n and -N; if negative, no limit
	exact      bool
	timeout    time.Duration // if negative, none
	names      []string
}

func readArgs(args []string) (readOptions, string) {
	o := readOptions{delim: '\n', count: -1, timeout: -1}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			switch c {
			case 'r':
				o.raw = true
				continue
			case 's', 'e':
				continue
			case 'a':
				o.array = true
			}
			value := a[i+1:]
			if value == "" {
				if len(args) == 0 {
					return o, "-" + string(c) + ": option requires an argument"
				}
				value, args = args[0], args[1:]
			}
			if problem := o.option(c, value); problem != "" {
				return o, problem
			}
			break
		}
	}
	o.names = append(o.names, args...)
	return o, ""
}

func (o *readOptions) option(c byte, value string) string {
	switch c {
	case 'a':
		o.names = []string{value}
	case 'd':
		o.delim = 0
		if value != "" {
			o.delim = value[0]
		}
	case 'n', 'N':
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<20 {
			return value + ": invalid number"
		}
		o.count, o.exact = n, c == 'N'
	case 't':
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f < 0 || f > 1e6 {
			return value + ": invalid timeout specification"
		}
		o.timeout = time.Duration(f * float64(time.Second))
	case 'p', 'i': // a prompt is shown on a terminal only
	case 'u':
		if value != "0" {
			return value + ": invalid file descriptor: only 0 is open"
		}
	default:
		return "-" + string(c) + ": invalid option"
	}
	return ""
}

// maxRead limits the bytes of one read.
const maxRead = 1 << 20

func read(ctx context.Context, args []string, s builtinShell) uint8 {
	o, problem := readArgs(args)
	if problem != "" {
		return s.fail(2, "read: %s", problem)
	}
	if s.Stdin == nil {
		return 1
	}
	if f, ok := s.Stdin.(interface{ SetReadDeadline(time.Time) error }); ok {
		if o.timeout >= 0 {
			_ = f.SetReadDeadline(s.Now().Add(o.timeout))
		}
		stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(s.Now()) })
		defer func() {
			stop()
			_ = f.SetReadDeadline(time.Time{})
		}()
	}
	line, err := o.line(s.Stdin)
	exit := uint8(0)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		exit = 142
	case err != nil:
		exit = 1
	}
	if code := o.assign(line, s); code != 0 {
		return code
	}
	return exit
}

// line reads up to the delimiter. A byte that is escaped by a backslash is followed by esc, so that it splits
// no field.
const esc = 0

func (o readOptions) line(in io.Reader) (string, error) {
	var out []byte
	var one [1]byte
	count, quoted := 0, false
	for len(out) < maxRead && (o.count < 0 || count < o.count) {
		n, err := in.Read(one[:])
		if n == 0 {
			if err == nil {
				err = io.EOF
			}
			return string(out), err
		}
		c := one[0]
		switch {
		case quoted:
			quoted = false
			if c == '\n' {
				continue
			}
			out = append(out, c, esc)
		case c == '\\' && !o.raw:
			quoted = true
			continue
		case c == o.delim && !o.exact:
			return string(out), nil
		case c == 0:
			continue
		default:
			out = append(out, c)
		}
		if c < 0x80 || c >= 0xC0 {
			count++
		}
	}
	return string(out), nil
}

func (o readOptions) assign(line string, s builtinShell) uint8 {
	names := o.names
	if len(names) == 0 {
		names = []string{"REPLY"}
		if !o.array {
			return failed(s.Set("REPLY", clean(line)))
		}
	}
	for _, name := range names {
		if !validTarget(name) {
			return s.fail(1, "read: `%s': not a valid identifier", name)
		}
	}
	ifs, set := s.Get("IFS")
	if !set {
		ifs = " \t\n"
	}
	if o.array {
		return failed(s.SetList(names[0], split(line, ifs, -1)))
	}
	if o.exact {
		ifs = ""
	}
	values := split(line, ifs, len(names))
	exit := uint8(0)
	for i, name := range names {
		value := ""
		if i < len(values) {
			value = values[i]
		}
		if code := failed(s.Set(name, value)); code != 0 {
			exit = code
		}
	}
	return exit
}

func failed(err error) uint8 {
	if err != nil {
		return 1
	}
	return 0
}

func clean(line string) string { return strings.ReplaceAll(line, "\x00", "") }

// split cuts a line into fields, at most n, the last of which keeps what stands
// between; n below 0: all.
func split(line, ifs string, n int) []string {
	blank := func(c byte) bool { return strings.IndexByte(ifs, c) >= 0 && (c == ' ' || c == '\t' || c == '\n') }
	at := func(i int) bool { // a delimiter, not protected
		return strings.IndexByte(ifs, line[i]) >= 0 && line[i] != esc && (i+1 >= len(line) || line[i+1] != esc)
	}
	var out []string
	i := 0
	for i < len(line) && at(i) && blank(line[i]) {
		i++
	}
	for i < len(line) {
		if n > 0 && len(out) == n-1 {
			return append(out, rest(line[i:], ifs))
		}
		start := i
		for i < len(line) && !at(i) {
			i++
		}
		out = append(out, clean(line[start:i]))
		seen := false
		for i < len(line) && at(i) && (blank(line[i]) || !seen) {
			seen = seen || !blank(line[i])
			i++
		}
	}
	return out
}

// rest is the last field: blanks at its end are no part of it, nor is one other
// delimiter when it is the only one.
func rest(text, ifs string) string {
	end := len(text)
	for end > 0 && strings.IndexByte(ifs, text[end-1]) >= 0 && strings.IndexByte(" \t\n", text[end-1]) >= 0 {
		end--
	}
	if end > 0 && text[end-1] != esc && strings.IndexByte(ifs, text[end-1]) >= 0 &&
		!strings.ContainsAny(text[:end-1], ifs) {
		end--
	}
	return clean(text[:end])
}

// validTarget reports whether a name is one of a variable, or of an element of
// one.
func validTarget(name string) bool {
	base, sub, indexed := strings.Cut(name, "[")
	if indexed && (!strings.HasSuffix(sub, "]") ||
		strings.Trim(
			strings.TrimSuffix(sub, "]"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
		) != "") {
		return false
	}
	for i := range len(base) {
		c := base[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return base != ""
}

// mapfileOptions are the options of mapfile.
type mapfileOptions struct {
	trim        bool
	delim       byte
	count, skip int
	origin      int
}

// parse reads the options in front of args and returns the rest. If an option is invalid, it has printed the
// reason and returns an exit code that is not 0.
func (o *mapfileOptions) parse(args []string, s builtinShell) (rest []string, code uint8) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			if a[i] == 't' {
				o.trim = true
				continue
			}
			value := a[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, s.fail(2, "mapfile: -%c: option requires an argument", a[i])
				}
				value, args = args[0], args[1:]
			}
			if code := o.set(a[i], value, s); code != 0 {
				return nil, code
			}
			break
		}
	}
	return args, 0
}

// set sets one option with a value.
func (o *mapfileOptions) set(option byte, value string, s builtinShell) (code uint8) {
	n, err := strconv.Atoi(value)
	switch option {
	case 'd':
		o.delim = 0
		if value != "" {
			o.delim = value[0]
		}
		err = nil
	case 'n':
		o.count = n
	case 's':
		o.skip = n
	case 'O':
		o.origin = n
	case 'u':
		if n != 0 {
			return s.fail(1, "mapfile: %s: invalid file descriptor: only 0 is open", value)
		}
	default:
		return s.fail(2, "mapfile: -%c: unsupported option", option)
	}
	if err != nil || n < 0 {
		return s.fail(1, "mapfile: %s: invalid number", value)
	}
	return 0
}

// mapfile reads lines into an array.
func mapfile(args []string, s builtinShell) uint8 {
	o := mapfileOptions{delim: '\n'}
	args, code := o.parse(args, s)
	if code != 0 {
		return code
	}
	name := "MAPFILE"
	if len(args) > 0 {
		name = args[0]
	}
	if !validTarget(name) || strings.Contains(name, "[") {
		return s.fail(1, "mapfile: `%s': not a valid identifier", name)
	}
	if o.origin != 0 {
		return s.fail(2, "mapfile: -O: unsupported option")
	}
	var lines []string
	for s.Stdin != nil && (o.count == 0 || len(lines) < o.count) {
		line, err := readOptions{raw: true, delim: o.delim, count: -1}.line(s.Stdin)
		if err != nil && line == "" {
			break
		}
		if !o.trim && err == nil {
			line += string(o.delim)
		}
		if o.skip > 0 {
			o.skip--
		} else {
			lines = append(lines, strings.TrimSuffix(line, "\x00"))
		}
		if err != nil {
			break
		}
	}
	return failed(s.SetList(name, lines))
}
