package runner

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// launcher holds the launchers in front of a shell that is interpreted, such as env and timeout. No program runs
// them, since none could start the shell.
type launcher struct {
	args  []string // the call of the shell
	shown []string // the launchers that lead to it
	limit time.Duration
	clear bool
	set   []string // NAME=value
	unset []string
}

// readLauncher parses the launchers in front of a shell. It returns false if there are none, or if one has
// unsupported options.
func readLauncher(args []string) (launcher, bool) {
	l := launcher{args: args}
	for range 8 {
		if len(l.args) == 0 {
			return l, false
		}
		name := path.Base(l.args[0])
		if shellName(name) {
			return l, len(l.shown) > 0
		}
		rest, ok := l.args[1:], false
		switch name {
		case "env":
			rest, ok = l.env(rest)
		case "timeout":
			rest, ok = l.timeout(rest)
		case "nice":
			rest, ok = withoutOptions(rest, "n", "--adjustment=")
			if len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' && strings.Trim(rest[0][1:], "0123456789") == "" {
				rest = rest[1:]
			}
		case "nohup":
			rest, ok = withoutOptions(rest, "", "")
		case "setsid":
			rest, ok = withoutOptions(rest, "", "--wait", "-w")
		case "stdbuf":
			rest, ok = withoutOptions(rest, "ioe", "--input=", "--output=", "--error=")
		case "time":
			rest, ok = withoutOptions(rest, "", "-p")
		}
		if !ok {
			return l, false
		}
		l.args, l.shown = rest, append(l.shown, name)
	}
	return l, false
}

// withoutOptions removes options. valued are letters with a value. plain are whole words, or prefixes if they
// end in =.
func withoutOptions(args []string, valued string, plain ...string) ([]string, bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:], true
		case slices.ContainsFunc(plain, func(p string) bool {
			return p != "" && (a == p || strings.HasSuffix(p, "=") && strings.HasPrefix(a, p))
		}):
			args = args[1:]
		case a[1] != '-' && strings.IndexByte(valued, a[1]) >= 0 && len(a) > 2:
			args = args[1:]
		case a[1] != '-' && strings.IndexByte(valued, a[1]) >= 0 && len(args) > 1:
			args = args[2:]
		default:
			return args, a[1] >= '0' && a[1] <= '9'
		}
	}
	return args, true
}

func (l *launcher) env(args []string) ([]string, bool) {
	for len(args) > 0 {
		a := args[0]
		name, _, sets := strings.Cut(a, "=")
		switch {
		case a == "-i" || a == "-" || a == "--ignore-environment":
			l.clear = true
		case a == "--":
		case a == "-u" && len(args) > 1:
			l.unset = append(l.unset, args[1])
			args = args[1:]
		case strings.HasPrefix(a, "--unset="):
			l.unset = append(l.unset, strings.TrimPrefix(a, "--unset="))
		case strings.HasPrefix(a, "-"):
			return nil, false
		case sets && syntax.ValidName(name):
			l.set = append(l.set, a)
		default:
			return args, true
		}
		args = args[1:]
	}
	return args, false
}

func (l *launcher) timeout(args []string) ([]string, bool) {
	args, ok := withoutOptions(
		args, "ks", "--foreground", "--preserve-status", "-v", "--verbose", "--kill-after=", "--signal=",
	)
	if !ok && len(args) == 0 || len(args) < 2 {
		return nil, false
	}
	d, ok := seconds(args[0])
	if d > 0 && (l.limit == 0 || d < l.limit) {
		l.limit = d
	}
	return args[1:], ok
}

// seconds parses a time as timeout does.
func seconds(text string) (time.Duration, bool) {
	unit := time.Second
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 's':
			text = text[:n-1]
		case 'm':
			text, unit = text[:n-1], time.Minute
		case 'h':
			text, unit = text[:n-1], time.Hour
		case 'd':
			text, unit = text[:n-1], 24*time.Hour
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > 1e6 {
		return 0, false
	}
	return time.Duration(f * float64(unit)), true
}

// environment is the environment of the shell behind the launchers.
func (l *launcher) environment(env []string) []string {
	if l.clear {
		env = nil
	}
	gone := func(name string) bool {
		return slices.Contains(l.unset, name) ||
			slices.ContainsFunc(l.set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	}
	out := slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return gone(name)
	})
	return append(out, l.set...)
}

// bounded returns the context of the shell behind the launchers.
func (l *launcher) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, l.limit)
}

// exitTimeout is the exit code of timeout itself.
const exitTimeout = 124
