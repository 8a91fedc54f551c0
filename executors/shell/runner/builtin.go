// The builtins in this package are those that the interpreter lacks or runs unlike bash: printf, echo, read
// with its options, type and command -v, kill of the script's own jobs, umask and others. They reach only what
// builtinShell gives them: no file, no process, no clock.

package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// builtinShell is the part of a shell that its builtins can use.
type builtinShell struct {
	Stdin          io.Reader // if nil, nothing can be read
	Stdout, Stderr io.Writer
	Dir            string
	Now            func() time.Time
	Get            func(name string) (value string, set bool)
	// Set and SetList set a variable, or an element of one (a[1]). If they return an error, the shell has
	// already printed the reason.
	Set     func(name, value string) error
	SetList func(name string, values []string) error
	// What classifies a name as keyword, function, builtin, file or "", and returns the text that command -v
	// prints for it.
	What func(name string) (kind, text string)
	// Kill sends a signal to a job of the shell (%1, or the $! of it). Signal 0 only checks. It returns false
	// if the shell has no such job.
	Kill func(target string, signal int) bool
}

// hasBuiltin reports whether the package has this builtin.
func hasBuiltin(name string) bool {
	switch name {
	case "printf", "echo", "read", "mapfile", "readarray", "type", "hash", "kill", "umask", "pwd", "jobs", "disown",
		"times":
		return true
	default:
		return false
	}
}

// runBuiltin runs a builtin for which hasBuiltin is true, or command with -v or -V. It returns when ctx ends,
// unless a read on Stdin blocks.
func runBuiltin(ctx context.Context, name string, args []string, s builtinShell) uint8 {
	switch name {
	case "printf":
		return printf(args, s)
	case "echo":
		return echo(args, s)
	case "read":
		return read(ctx, args, s)
	case "mapfile", "readarray":
		return mapfile(args, s)
	case "type":
		return typ(args, s)
	case "command":
		return commandV(args, s)
	case "kill":
		return kill(args, s)
	case "umask":
		return umask(args, s)
	case "pwd":
		return s.print(s.Dir + "\n")
	case "times":
		return s.print("0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n")
	case "hash":
		if len(args) == 0 {
			return s.print("hash: hash table empty\n")
		}
		return 0
	case "jobs", "disown":
		return 0
	default:
		return s.fail(2, "%s: unsupported", name)
	}
}

// print writes to standard output. It returns 1 if that fails.
func (s builtinShell) print(text string) uint8 {
	if _, err := io.WriteString(s.Stdout, text); err != nil {
		return 1
	}
	return 0
}

func (s builtinShell) fail(code uint8, format string, args ...any) uint8 {
	_, _ = fmt.Fprintf(s.Stderr, "bash: "+format+"\n", args...)
	return code
}

func echo(args []string, s builtinShell) uint8 {
	newline, escapes := true, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	text, stop := strings.Join(args, " "), false
	if escapes {
		text, stop = unescape(text, true)
	}
	if newline && !stop {
		text += "\n"
	}
	return s.print(text)
}

// typ is the builtin type.
func typ(args []string, s builtinShell) uint8 {
	mode := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		for _, c := range args[0][1:] {
			switch c {
			case 't', 'p', 'P':
				mode = string(c)
			case 'a', 'f':
			default:
				return s.fail(2, "type: -%c: invalid option", c)
			}
		}
		args = args[1:]
	}
	exit := uint8(0)
	for _, name := range args {
		kind, text := s.What(name)
		switch {
		case kind == "" || mode == "P" && kind != "file":
			if mode == "" {
				s.fail(0, "type: %s: not found", name)
			}
			exit = 1
		case mode == "t":
			s.print(kind + "\n")
		case mode == "p" || mode == "P":
			if kind == "file" {
				s.print(text + "\n")
			}
		default:
			s.print(name + sentence(kind, text))
		}
	}
	return exit
}

func sentence(kind, text string) string {
	switch kind {
	case "keyword":
		return " is a shell keyword\n"
	case "function":
		return " is a function\n"
	case "builtin":
		return " is a shell builtin\n"
	default:
		return " is " + text + "\n"
	}
}

// commandV is command -v and -V.
func commandV(args []string, s builtinShell) uint8 {
	long := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		long = long || strings.Contains(args[0], "V")
		args = args[1:]
	}
	exit := uint8(1)
	if len(args) == 0 {
		return 0
	}
	for _, name := range args {
		kind, text := s.What(name)
		switch {
		case kind == "":
			if long {
				s.fail(0, "command: %s: not found", name)
			}
			continue
		case long:
			s.print(name + sentence(kind, text))
		default:
			s.print(text + "\n")
		}
		exit = 0
	}
	return exit
}

// umask prints the mask. A script cannot change the mask of its programs.
func umask(args []string, s builtinShell) uint8 {
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "-p":
		return s.print("0022\n")
	case len(args) == 1 && args[0] == "-S":
		return s.print("u=rwx,g=rx,o=rx\n")
	case len(args) == 1 && strings.TrimLeft(args[0], "0") == "22":
		return 0
	default:
		return s.fail(1, "umask: the mask is 0022 and cannot be changed here")
	}
}
