package argv_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
)

// TestAllows: what allows a command is surely there, so what the tables do not know
// is against it.
func TestAllows(t *testing.T) {
	for _, r := range []row{
		{"git status", "git status\ngit status -s\ngit -C x status\ngit --no-pager status\ngit -c a.b=c status x\ngit --git-dir=x status", "git …\ngit sta…\ngit ……\ngit …… status\ngit -C …… status",
			"git\ngit push\ngit -X status\ngit --unknown status\ngit --unknown x status\ngit x status\ngit -C status\ngit -- push"},
		{"git push --dry-run", "git push --dry-run\ngit push -n\ngit push origin main -n", "git push …\ngit push ……\ngit … -n", "git push\ngit push --dry\ngit push -- -n\ngit push -o -n\ngit push --unknown -n\ngit fetch -n"},
		{"git stash list", "git stash list\ngit stash list -p", "git stash …", "git stash\ngit stash drop\ngit stash drop list"},
		{"git add", "git add x\ngit stage x", "", "git ad x"},
		{"docker ps", "docker ps\ndocker ps -a\ndocker container ls\ndocker -H x ps", "docker …", "docker run ps\ndocker -Z ps"},
		{"npm test", "npm test\nnpm t\nnpm test -- x", "npm …", "npm tes\nnpm run test\nnpm --unknown test"},
		{"kubectl get pods", "kubectl get pods\nkubectl get po\nkubectl -n x get pods -o json", "kubectl get …", "kubectl get secrets\nkubectl delete pods\nkubectl --unknown get pods"},
		{"mytool status", "mytool status\nmytool status -x\nmytool status x y", "mytool …", "mytool -x status\nmytool --config=x status\nmytool\nmytool run status\nmytool -- status"},
		{"mytool --version", "mytool --version\nmytool --version x", "mytool …", "mytool x\nmytool --vers\nmytool -c --version\nmytool --config --version\nmytool --config -- --version"},
		{"sed -n", "sed -n p x\nsed --quiet p\nsed -ne p x", "sed …", "sed p x\nsed -e -n x\nsed --qui p"},
		{"cargo build", "cargo build\ncargo b\ncargo +nightly build", "cargo …", "cargo run build"},
		{"xargs grep", "xargs grep x\nxargs -n 1 grep x\nxargs -0 grep", "xargs …", "xargs rm grep\nxargs --unknown grep"},
	} {
		pattern := strings.Fields(r.pattern)
		p := argv.NewPattern(pattern[0], pattern[1:])
		for want, lines := range map[argv.Tri]string{argv.Yes: r.yes, argv.Maybe: r.maybe, argv.No: r.no} {
			for line := range strings.Lines(lines) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				ws, more := read(line)
				if got := argv.Split(ws, more).Allows(p); got != want {
					t.Errorf("%-28s | %-40s: got %s, want %s", r.pattern, line, got, want)
				}
			}
		}
	}
}

func TestSub(t *testing.T) {
	for line, want := range map[string]string{
		"git -C x push -f origin":         "push origin true",
		"git -c a.b=c --no-pager log x":   "log x true",
		"git --unknown x push":            "x push false",
		"git … push":                      " push false",
		"docker container run -it x":      "run x true",
		"cargo +nightly test y":           "test y true",
		"rm x":                            "x false",
		"env A=b git status":              "git status true",
		"timeout 5 git status":            "git status true",
		"timeout -k 1 10s git status -s":  "git status true",
		"sudo -u root systemctl stop x":   "systemctl stop x true",
		"kubectl -n prod delete pod -l x": "delete pod true",
	} {
		ws, more := read(line)
		sub, sure := argv.Split(ws, more).Sub()
		var got []string
		for _, w := range sub {
			got = append(got, w.Text)
		}
		if text := strings.Join(got, " ") + map[bool]string{true: " true", false: " false"}[sure]; text != want {
			t.Errorf("%s: got %q, want %q", line, text, want)
		}
	}
}

// TestTables: each list of options can be read back name by name, and no name stands in it twice.
func TestTables(t *testing.T) {
	lists := argv.Lists(t)
	if len(lists) < 300 {
		t.Fatalf("%d lists", len(lists))
	}
	for of, list := range lists {
		seen := map[string]bool{}
		for i := range list {
			for _, name := range list[i].Names {
				if name == "" || strings.HasPrefix(name, "-") {
					t.Errorf("%s: %q", of, list[i].Names)
				}
				if seen[name] {
					t.Errorf("%s: %q stands there twice", of, name)
				}
				seen[name] = true
				if got := argv.Find(list, name); got != &list[i] {
					t.Errorf("%s: %q is found in %v, not in %v", of, name, got, list[i])
				}
			}
			for _, name := range list[i].Means {
				if argv.Find(list, name) == nil {
					t.Errorf("%s: %v means %s, which is no option", of, list[i].Names, name)
				}
			}
		}
	}
}

// TestMalformed: a table that is not well-formed is refused.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"rm\n\toptions -f,--force\n":                     "",
		"rm\n\toptions -f,--force! -r\n":                 "rm: line 2: options: -f has an effect, and this table has none",
		"rm\n\toptions force\n":                          "rm: line 2: options: force is no option",
		"rm\n\toption -f\n":                              "rm: line 2: option: no such field",
		"rm\n\tflags signal\n":                           "rm: line 2: flags: signal is no flag",
		"rm\n\treader rm\n":                              "rm: line 2: reader: no such reader",
		"rm\n\tsub-commands all\n":                       "rm: line 2: sub-commands: no such sub-commands",
		"rm\n\toptions\n":                                "rm: line 2: options: nothing follows",
		"rm\n\tlike mv\n":                                "line 2: like: no such row",
		"rm\n\toptions -a\nmv\n":                         "line 3: mv is not in its place in the alphabet",
		"git\n\tsub-commands own\ngit:add\n\tbehind -\n": "",
	} {
		got := ""
		if err := argv.Parse(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzPattern: reading and matching end, and a pattern with a word more matches no
// more commands. What is denied for certain stays so whatever follows.
func FuzzPattern(f *testing.F) {
	f.Add("rm -rf x", "rm -rf", "-f")
	f.Add("git -C a push -f origin +x", "git push --force", "main")
	f.Add("docker container run … --privileged", "docker run --privileged", "--")
	f.Add("find . -exec x …… ; -delete", "find -delete", "+++")
	f.Add("kubectl -n …… delete ns,po x", "kubectl delete namespace", "-f")
	f.Add("npm i --location=global x", "npm install -g", "-")
	f.Add("kill -s KILL 1", "kill -9", "-9")
	f.Fuzz(func(t *testing.T, line, pattern, extra string) {
		ws, more := read(line)
		p := strings.Fields(pattern)
		if len(ws) == 0 || len(p) == 0 || len(line) > 4096 || len(pattern) > 512 || len(extra) > 64 ||
			strings.Contains(extra, " ") {
			return
		}
		w := argv.Split(ws, more)
		got, allowed := w.Match(p[1:]), w.Allows(argv.NewPattern(argv.Base(ws[0].Text), p[1:]))
		if allowed > got {
			t.Errorf("%q %q: allowed %s, denied %s", line, pattern, allowed, got)
		}
		w.Sub()
		w.Args()
		w.Values(extra)
		if again := argv.Split(ws, more).Match(p[1:]); again != got {
			t.Errorf("%q %q: %s, then %s", line, pattern, got, again)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, line := range []string{"git status --short", "git push origin main --force", "rm -rf build",
		"find . -name x -type f -print"} {
		words := strings.Fields(line)
		p := argv.NewPattern(words[0], []string{"push", "--force"})
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				argv.Split(argv.AllKnown(words), false).Denies(p)
			}
		})
	}
}
