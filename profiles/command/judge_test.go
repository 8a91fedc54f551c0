package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// read makes a command of a line: words in single quotes may hold blanks, "…" ends
// a word that is known in part, "……" one that may be several, "+++" stands for
// further words, NAME=value in front sets a variable.
func read(line string) argv.Command {
	var c argv.Command
	for i, f := range split(line) {
		name, value, sets := strings.Cut(f, "=")
		switch {
		case f == "+++":
			c.More = true
		case sets && name != "" && len(c.Words) == 0 && i == len(c.Set) && !strings.ContainsAny(name, "/-'"):
			c.Set = append(c.Set, argv.Assignment{Name: name, Value: word(value)})
		default:
			c.Words = append(c.Words, word(f))
		}
	}
	return c
}

func word(f string) argv.Word {
	if text, ok := strings.CutSuffix(f, "……"); ok {
		return argv.Word{Text: text, Open: true, Many: true}
	}
	if text, ok := strings.CutSuffix(f, "…"); ok {
		return argv.Word{Text: text, Open: true}
	}
	return argv.Known(f)
}

func split(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if rest, ok := strings.CutPrefix(line, "'"); ok {
			one, rest, _ := strings.Cut(rest, "'")
			out, line = append(out, one), rest
			continue
		}
		one, rest, _ := strings.Cut(line, " ")
		out, line = append(out, one), rest
	}
	return out
}

func bin(paths ...string) []command.Binary {
	var out []command.Binary
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			p = "/usr/bin/" + p
		}
		base := p[strings.LastIndexByte(p, '/')+1:]
		out = append(out, command.Binary{Path: p, Interpreted: base == "sh" || base == "bash"})
	}
	return out
}

func patterns(list ...string) [][]string {
	var out [][]string
	for _, p := range list {
		out = append(out, strings.Fields(p))
	}
	return out
}

// all is a profile with many programs and some patterns.
func all() command.Config {
	return command.Config{
		Binaries: bin("git", "rm", "find", "xargs", "env", "timeout", "nice", "tar", "sed", "awk", "grep", "cat",
			"bash", "sh", "sort", "make", "python3", "ls", "sudo", "/opt/tools/git", "/usr/local/bin/deploy"),
		Patterns: patterns("rm -rf", "git push --force", "find -delete", "curl", "trap", "kill -9"),
	}
}

func TestJudge(t *testing.T) {
	r := command.New(all())
	rows := 0
	for _, line := range []string{"git\u200b status", "\u0441url x", "git\u00a0status"} {
		if j := r.Judge(read(line)); j.Verdict != command.Deny {
			t.Errorf("%q: %+v", line, j)
		}
	}
	for verdict, lines := range map[string]string{
		"allow -": `git status
/usr/bin/git status
/bin/git status
/usr/bin/../bin/git status
/usr//bin/./git status
/opt/tools/git log
deploy now
/usr/local/bin/deploy x
echo x
echo rm -rf /
true
:
[ -f x ]
test -d y
cd src
pwd
printf %s x
read -r a b
export FOO=bar
FOO=bar
FOO=bar git status
LC_ALL=C sort x
GIT_PAGER=cat git log
command -v curl
type rm
rm -r x
rm -f x
rm -- -rf
rm ./x…
find . -name x
git push origin main
git push --force-with-lease
git commit -m 'git push --force'
grep -e 'rm -rf' x
env FOO=1 git status
timeout 5 git fetch
nice -n 5 git gc
env timeout 5 nice git status
find . -exec grep -l x {} +
xargs grep -n x +++
xargs git add +++
xargs rm -- +++
command git status
exec git log -1
builtin echo x
set -euo pipefail
shift
unset FOO
umask 022
wait
hash -r
kill %1
export PATH
printf -v FOO x
let FOO=1
python3 x.py
sed -n p x
cat …
git add ……
cd ……
echo ……
export FOO=…`,
		"deny exec.not_granted": `wget x
./git status
bin/git status
/tmp/git status
/usr/git status
/opt/git status
/usr/bin/tools/git
gitk
GIT status
''
env wget x
timeout 5 wget x
timeout 5 /tmp/git status
nice env wget x
find . -exec wget {} ;
xargs wget +++
command wget x
exec wget
builtin command wget x
find . -exec echo x ;
find . -exec ./git x ;
../git
~/git
env echo x`,
		"deny shell.denied_pattern": `curl x
/usr/bin/curl x
/tmp/curl x
./curl
rm -rf x
rm -fr x
/bin/rm x -r -f
rm -r --force x
env rm -rf x
timeout 5 rm -rf x
env timeout 5 nice -n 3 rm -fr x
find . -exec rm -rf {} +
find . -execdir rm -r -f {} ;
find . -delete
xargs rm -rf +++
xargs rm +++
xargs rm -r +++
xargs -0 rm -f +++
sudo rm -rf x
command rm -rf x
exec rm -rf x
git push -f
git -C x push origin main --force
git push origin +main
trap x EXIT
kill -9 %1
kill -KILL %1
command curl
find . -exec curl {} ;
xargs curl +++
rm -rf ……
rm ./x… -rf`,
		"unsettled shell.unsettled": `…
export FOO=……
…… x
git… status
rm …
rm -r ……
git …… --force
git push ……
find . ……
env …
env ……
timeout 5 …
find . -exec rm … {} +
export …
read …
printf -v … x
exec …
kill … %1
sort …
LC_ALL=… sort x
PAGER=… git log`,
		"deny shell.variable": `PATH=x git status
LD_PRELOAD=x
LD_LIBRARY_PATH=x git status
GIT_SSH_COMMAND=x git fetch
env GIT_SSH_COMMAND=x git fetch
env PATH=x git fetch
env LD_PRELOAD=x timeout 5 git status
export PATH=x
export -p LD_PRELOAD=x
declare -x BASH_ENV=x
local PATH=x
readonly LD_AUDIT=x
typeset PAGER=less
command export PATH=x
read PATH
read -r a PATH b
read -p x PATH
read -a PATH
printf -v PATH x
printf -vPATH x
mapfile PATH
mapfile -t LD_PRELOAD
getopts ab PATH
let PATH=1
wait -p PATH
export PATH+=:x
PAGER=less git log
BASH_ENV=x bash -c x
PATH=… git status`,
		"deny shell.builtin": `enable -n echo
enable -f x y
hash -p /usr/bin/curl git
hash -rp /x git
exec -a git ls
exec -c ls
exec -l ls
exec -la git ls
command exec -a git ls
bind -x x
compgen -C x
complete -C x
fc -s
history -a
suspend`,
	} {
		want := strings.Fields(verdict)
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			if line == "''" {
				line = "'' x"
			}
			rows++
			j := r.Judge(read(line))
			code := j.Finding.Code
			if want[1] == "-" {
				code = "-"
			}
			if j.Verdict.String() != want[0] || code != want[1] {
				t.Errorf("%-40s: got %s %s (%s), want %s", line, j.Verdict, j.Finding.Code, j.Finding.Reason, verdict)
			}
			if j.Finding.Code == "" || j.Verdict != command.Allow && j.Finding.Reason == "" {
				t.Errorf("%s: no code or reason: %+v", line, j.Finding)
			}
		}
	}
	if rows < 180 {
		t.Errorf("%d rows", rows)
	}
}

func TestZero(t *testing.T) {
	var none *command.Rules
	for name, r := range map[string]*command.Rules{"nil": none, "empty": command.New(command.Config{}),
		"not absolute": command.New(command.Config{Binaries: []command.Binary{{Path: "git"}, {Path: "./git"}, {Path: "/usr/bin/../git"}, {Path: ""}, {Path: "/"}}})} {
		for _, line := range []string{"git status", "/usr/bin/git", "/git", "./git", "'' x", "/ x", "…"} {
			if got := r.Judge(read(line)); got.Verdict == command.Allow {
				t.Errorf("%s: %s: %+v", name, line, got)
			}
		}
	}
	if got := none.Judge(read("echo x")); got.Verdict != command.Deny {
		t.Errorf("nil rules: %+v", got)
	}
	if got := command.Verdict(9).String(); got != "deny" {
		t.Errorf("unknown verdict: %s", got)
	}
}

// TestFinding: which rule it is, what leads to it, which program starts.
func TestFinding(t *testing.T) {
	r := command.New(all())
	j := r.Judge(read("env timeout 5 find . -exec rm -fr x ;"))
	if j.Finding.Pattern != 0 || !cmp.Equal(j.Finding.Argv, []string{"rm", "-fr", "x"}) || len(j.Finding.Chain) != 3 ||
		j.Finding.Chain[2] != "find -exec" {
		t.Errorf("got %+v", j.Finding)
	}
	for line, want := range map[string]string{"git status": "/usr/bin/git", "/bin/git log": "/usr/bin/git",
		"/opt/tools/git log": "/opt/tools/git", "deploy": "/usr/local/bin/deploy",
		"echo x": "", "bash -c x": "", "env git status": "/usr/bin/env", "FOO=1": ""} {
		if j := r.Judge(read(line)); j.Path != want || j.Verdict != command.Allow ||
			j.Builtin != (line == "echo x" || line == "FOO=1") {
			t.Errorf("%s: %+v", line, j)
		}
	}
	if j := r.Judge(read("timeout 5 git status")); len(j.Nested) != 1 || j.Nested[0].Binary != 0 ||
		j.Nested[0].Cleared {
		t.Errorf("nested: %+v", j.Nested)
	}
	if j := r.Judge(read("env -i timeout 5 git status")); len(j.Nested) != 2 || !j.Nested[0].Cleared ||
		!j.Nested[1].Cleared {
		t.Errorf("cleared: %+v", j.Nested)
	}
}

// TestScripts: text that a shell would run comes back with what leads to it.
func TestScripts(t *testing.T) {
	r := command.New(all())
	for line, want := range map[string][]string{
		"bash -c 'git status'":                    {"git status", "bash -c", ""},
		"timeout 5 bash -lc 'x y'":                {"x y", "timeout|bash -c", ""},
		"find . -exec sh -c 'rm x' {} ;":          {"rm x", "find -exec|sh -c", "outside"},
		"eval 'curl x'":                           {"curl x", "eval", ""},
		"env bash -ec 'set -e; git push --force'": {"set -e; git push --force", "env|bash -c", ""},
	} {
		j := r.Judge(read(line))
		if len(j.Scripts) != 1 {
			t.Errorf("%s: %+v", line, j)
			continue
		}
		s := j.Scripts[0]
		if s.Text != want[0] || !s.Known || strings.Join(s.Chain, "|") != want[1] {
			t.Errorf("%s: %+v", line, s)
		}
	}
	for _, line := range []string{"find . -exec zsh -c x ;", "env dash -c x", "zsh -c x"} {
		if j := r.Judge(read(line)); j.Verdict != command.Deny {
			t.Errorf("%s: a shell that is not listed: %+v", line, j)
		}
	}
}

// TestBinaryRules: sub-commands, flags, numbers of words, configuration, questions.
func TestBinaryRules(t *testing.T) {
	r := command.New(command.Config{
		Binaries: []command.Binary{
			{Path: "/usr/bin/git", SafeConfig: true,
				Allow: patterns("status", "diff", "log", "add", "commit", "push", "stash list", "config", "-c"),
				Deny:  patterns("push --force", "--no-verify", "log -p"), Ask: patterns("push")},
			{Path: "/usr/bin/ls", MaxArgs: 2},
			{Path: "/usr/bin/cat", Allow: [][]string{}},
			{Path: "/usr/bin/timeout"}, {Path: "/usr/bin/xargs"},
			{Path: "/usr/bin/mytool", Allow: patterns("status", "get x"), Deny: patterns("--force")},
		},
	})
	for verdict, lines := range map[string]string{
		"allow -": "git status\ngit -C x status\ngit diff --stat\ngit stash list\ngit -c color.ui=never status\ngit commit -m x\nls\nls a b\nmytool status\nmytool status --json\nmytool get x y\ntimeout 5 git status\ngit config user.name\ngit config user.email a@b",
		"deny shell.subcommand": "git fetch\ngit\ngit stash\ngit stash drop\ngit --unknown status\ngit push --force\ngit push -f\ngit commit --no-verify\ngit commit -n\ngit commit -m x --no-ver\ngit log -p\ngit log --patch\nls a b c\n" +
			"cat\ncat x\nmytool\nmytool delete\nmytool -x status\nmytool get y\nmytool status --force\nmytool status --forc\ntimeout 5 git fetch\ntimeout 5 git push -f\nxargs git commit --no-verify +++",
		"ask approval_required":     "git push\ngit push origin main\ngit -C x push\ntimeout 5 git push",
		"deny shell.config":         "git -c core.pager=x log\ngit -c core.sshcommand=x status\ngit config core.hooksPath x\ngit config --global alias.x y\ngit -c unknown.key=1 log\ngit --config-env=core.pager=X log\ngit config --edit",
		"unsettled shell.unsettled": "git …\ngit …… status\nls …… a\nmytool …\ngit push …",
		"deny shell.unsettled":      "xargs git add +++\nxargs ls +++\nxargs mytool +++",
	} {
		want := strings.Fields(verdict)
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			j := r.Judge(read(line))
			if j.Verdict.String() != want[0] || want[1] != "-" && j.Finding.Code != want[1] &&
				j.Finding.Code != "shell.starts" {
				t.Errorf("%-40s: got %s %s (%s), want %s", line, j.Verdict, j.Finding.Code, j.Finding.Reason, verdict)
			}
		}
	}
	if f := r.Judge(read("git push -f")).Finding; f.Binary != 0 || f.Deny != 0 || f.Allow != -1 || f.Ask != -1 ||
		f.Pattern != -1 {
		t.Errorf("got %+v", f)
	}
	if f := r.Judge(read("git push x")).Finding; f.Binary != 0 || f.Ask != 0 {
		t.Errorf("got %+v", f)
	}
	if f := r.Judge(read("git fetch")).Finding; len(f.Instead) == 0 || f.Instead[0] != "git status" {
		t.Errorf("got %+v", f)
	}
}

func TestBounds(t *testing.T) {
	r := command.New(all())
	deep := strings.Repeat("env ", 40) + "git status"
	if j := r.Judge(read(deep)); j.Verdict != command.Deny || j.Finding.Code != "shell.size" {
		t.Errorf("deep: %+v", j)
	}
	if j := r.Judge(argv.Command{Words: argv.AllKnown(make([]string, 5000))}); j.Verdict != command.Deny {
		t.Errorf("long: %+v", j)
	}
	wide := "find ."
	for range 100 {
		wide += " -exec env timeout 5 git status ;"
	}
	if j := r.Judge(read(wide)); j.Verdict != command.Deny {
		t.Errorf("wide: %+v", j)
	}
	if j := r.Judge(argv.Command{Words: argv.AllKnown([]string{"git", "a\x00b"})}); j.Verdict != command.Deny {
		t.Errorf("NUL: %+v", j)
	}
}
