package proxytest_test

import (
	"context"
	"encoding/json"
	"net/http/cgi"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/executors/shell/shellguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

// scripts is the guest of the shell executor, of which this binary is one.
const scripts = "egresstest-shell-guest"

func scriptGuest() int {
	var wg sync.WaitGroup
	return shellguest.Main(context.Background(), shellguest.Config{
		Now: time.Now, Go: func(f func()) { wg.Go(f) }, Env: os.Environ()})
}

// decides answers a script by its agent's profile.
type decides struct{ by *profiles.Decider }

func (d decides) Ask(_ context.Context, q executors.Question) (executors.Answer, error) {
	dec := d.by.Decide(*q.Action)
	if f := q.Action.File; f != nil {
		dec, _ = d.by.Redirect(f.Op, argv.Known(f.Path), "/")
	}
	b, err := json.Marshal(dec)
	return executors.Answer{Value: b}, err
}

func (decides) Console(executors.ConsoleEntry) {}
func (decides) Idle([]string)                  {}

// TestScript: curl and git of a script reach what is listed, and nothing else.
func TestScript(t *testing.T) {
	const backend = "/usr/lib/git-core/git-http-backend"
	need(t, "/usr/bin/curl", "/usr/bin/git", backend)
	w := newWorld(t)
	w.Name("api.example", "93.184.216.34")
	w.Name("git.example", "93.184.216.36")
	w.Name("other.example", "93.184.216.34")
	w.serve("93.184.216.34:80", says("plain"))
	w.serve("93.184.216.34:443", says("secure"))
	root := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "--bare", "r.git"}, {"init", "-q", "src"}, {"-C", "src", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "the first"},
		{"-C", "src", "push", "-q", "../r.git", "HEAD:refs/heads/main"},
	} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	w.serve("93.184.216.36:443", &cgi.Handler{Path: backend,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}})

	a := w.profile(host("api.example", 80, 443), host("git.example"))
	stack := int64(1 << 20)
	a.Limits.ResultBytes, a.Limits.StackBytes = &stack, &stack
	a.Bridges = map[string]profiles.Bridge{}
	a.Shell = &profiles.Shell{Pipes: true, Redirects: true, Substitution: true, Limits: a.Limits,
		Binaries: []profiles.Binary{
			{Path: "/usr/bin/curl"}, {Path: "/usr/bin/git", Helpers: []profiles.PathRule{{Path: "/usr/lib/git-core"}}},
		}}
	a.Files = profiles.Files{Read: []profiles.PathRule{{Path: w.ca}}}
	w.put(a)

	var work sync.WaitGroup
	e, err := shell.New(shell.Config{
		Launcher: w.ring, Argv: []string{"/proc/self/exe", scripts}, Go: func(f func()) { work.Go(f) }, Now: time.Now,
		Env: []string{"CURL_CA_BUNDLE=" + w.ca, "GIT_SSL_CAINFO=" + w.ca},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		work.Wait()
	})
	d := decides{profiles.NewDecider(a, "r1", profiles.Environment{})}
	o, err := e.Run(t.Context(), executors.Run{
		ID: "r1", Actor: "me", Agent: &a, Revision: "r1", Limits: a.Limits, Program: executors.Program{Name: "plan.sh", Language: "shell", Source: `
curl -sS --max-time 20 http://api.example/; echo
curl -sS --max-time 20 https://api.example/; echo
git ls-remote https://git.example/r.git
for url in https://other.example/ http://127.0.0.1/ http://93.184.216.34/ https://93.184.216.36/; do
	curl -fsS --max-time 20 "$url" && echo "REACHED $url"
done
curl -fsS --max-time 20 --noproxy '*' http://other.example/ && echo "REACHED past the proxy"
git ls-remote https://github.example/r.git && echo "REACHED by git"
echo end`},
	}, d)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, c := range o.Console {
		out.WriteString(c.Text)
	}
	has(t, out.String(), "plain GET api.example 0", "secure GET api.example 0", "refs/heads/main", "end\n")
	hasNot(t, out.String(), "REACHED")
	for _, name := range w.Lookups() {
		if name != "api.example." && name != "git.example." {
			t.Errorf("%s is looked up", name)
		}
	}
	refused := 0
	for _, ev := range w.log() {
		if ev.Decision.Verdict != profiles.Allow {
			refused++
		}
	}
	if refused < 6 {
		t.Errorf("%d refusals are on record, want one of each that was tried", refused)
	}
}
