package runner

import (
	"strings"
	"testing"
	"time"
)

// call runs a builtin with variables of its own.
func call(t testing.TB, name, in string, args ...string) (out, errs string, vars map[string]string, exit uint8) {
	t.Helper()
	var o, e strings.Builder
	vars = map[string]string{}
	exit = runBuiltin(t.Context(), name, args, builtinShell{
		Stdin: strings.NewReader(in), Stdout: &o, Stderr: &e, Dir: "/w",
		Now:     func() time.Time { return time.Unix(86400, 0) },
		Get:     func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
		Set:     func(n, v string) error { vars[n] = v; return nil },
		SetList: func(n string, v []string) error { vars[n] = strings.Join(v, "|"); return nil },
		What: func(n string) (string, string) {
			if n == "git" {
				return "file", "/usr/bin/git"
			}
			return "", ""
		},
		Kill: func(target string, _ int) bool { return target == "%1" },
	})
	return o.String(), e.String(), vars, exit
}

func TestBuiltins(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		args     []string
		out      string
		vars     string // "name=value"
		exit     uint8
	}{
		{"printf", "", []string{"%5.2f|%-4d|%04x\n", "3.14159", "7", "255"}, " 3.14|7   |00ff\n", "", 0},
		{"printf", "", []string{"-v", "x", "%s", "a b"}, "", "x=a b", 0},
		{"printf", "", []string{"-v", "x; rm", "a"}, "", "", 2},
		{"printf", "", []string{"-v", "a[$(x)]", "a"}, "", "", 2},
		{"printf", "", []string{"%999999999d", "1"}, strings.Repeat(" ", 1<<16-1) + "1", "", 0},
		{"printf", "", []string{"%(%F)T", "0"}, "1970-01-01", "", 0},
		{"printf", "", []string{"%z"}, "", "", 1},
		{"printf", "", []string{"%q", "$(x)"}, `\$\(x\)`, "", 0},
		{"echo", "", []string{"-ne", `a\tb`}, "a\tb", "", 0},
		{"read", "a b c\nrest", []string{"-r", "x"}, "", "x=a b c", 0},
		{"read", "a:b:c\n", []string{"-d", ":", "x"}, "", "x=a", 0},
		{"read", "x", []string{"a[$(evil)]"}, "", "", 1},
		{"read", "x", []string{"-u", "3", "x"}, "", "", 2},
		{"mapfile", "a\nb\n", []string{"-t", "l"}, "", "l=a|b", 0},
		{"mapfile", "a\n", []string{"-C", "evil", "l"}, "", "", 2},
		{"type", "", []string{"git"}, "git is /usr/bin/git\n", "", 0},
		{"command", "", []string{"-v", "git", "no"}, "/usr/bin/git\n", "", 0},
		{"command", "", []string{"-v", "no"}, "", "", 1},
		{"kill", "", []string{"-9", "%1"}, "", "", 0},
		{"kill", "", []string{"-9", "-1"}, "", "", 1},
		{"kill", "", []string{"1"}, "", "", 1},
		{"umask", "", []string{"000"}, "", "", 1},
		{"pwd", "", nil, "/w\n", "", 0},
		{"nothing", "", nil, "", "", 2},
	} {
		out, errs, vars, exit := call(t, tt.name, tt.in, tt.args...)
		if out != tt.out || exit != tt.exit {
			t.Errorf("%s %q: got %q (%s) exit %d, want %q exit %d", tt.name, tt.args, out, errs, exit, tt.out, tt.exit)
		}
		if name, value, ok := strings.Cut(tt.vars, "="); ok && vars[name] != value {
			t.Errorf("%s %q: %s is %q, want %q", tt.name, tt.args, name, vars[name], value)
		}
		if tt.vars == "" && len(vars) > 0 {
			t.Errorf("%s %q: sets %q", tt.name, tt.args, vars)
		}
	}
}

func FuzzPrintf(f *testing.F) {
	f.Add("%5.2f %s %q %b", "3.1", `a\tb`)
	f.Add("%(%Y-%m-%d)T %*d", "-1", "5")
	f.Add(`\x41\u00e9\0101%`, "", "")
	f.Fuzz(func(t *testing.T, format, a, b string) {
		out, _, _, _ := call(t, "printf", "", format, a, b)
		if len(out) > 32<<20 {
			t.Errorf("%q writes %d bytes", format, len(out))
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("a b c\n", "-r", "x")
	f.Add("a\\ b:c", "-d:", "y")
	f.Fuzz(func(t *testing.T, in, option, name string) {
		call(t, "read", in, option, name)
		call(t, "mapfile", in, option, name)
	})
}
