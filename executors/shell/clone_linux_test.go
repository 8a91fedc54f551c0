package shell_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// served makes a repository with two commits, as a server of files gives it away.
func served(t *testing.T) http.Handler {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "src"}, {"-C", "src", "commit", "-q", "--allow-empty", "-m", "the first"},
		{"-C", "src", "add", "."}, {"-C", "src", "commit", "-q", "-m", "the second"},
		{"clone", "-q", "--bare", "src", "r.git"}, {"-C", "r.git", "update-server-info"},
	} {
		if args[0] == "-C" && args[2] == "add" {
			if err := os.WriteFile(filepath.Join(dir, "src", "README.md"), []byte("# Title\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), "git", append(
			[]string{"-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
		c.Dir, c.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	return http.FileServer(http.Dir(dir))
}

// A repository is cloned from a server that the policy lists, and none from
// another; what follows is an agent's day.
func TestClone(t *testing.T) {
	withBash(t)
	net := proxytest.New(t)
	net.Name("git.example", "93.184.216.36")
	net.Name("other.example", "93.184.216.37")
	for _, address := range []string{"93.184.216.36:80", "93.184.216.37:80"} {
		s := &http.Server{Handler: served(t), ReadHeaderTimeout: time.Minute}
		l := net.Listen(address)
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	var seen []proxy.Event
	out, err := proxy.New(proxy.Config{Go: work.Go, Now: time.Now, Resolve: net.Resolve,
		Record: func(ev proxy.Event) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, ev)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); work.Wait() })
	ring := launcher(t, func(c *kernel.Config) { c.Egress, c.Generation = out, func() int64 { return 1 } })
	a := developer()
	a.Egress = profiles.Egress{Mode: profiles.EgressAllowlist,
		Allow: []profiles.EgressRule{{Host: "git.example", Ports: []int{80}}}}
	commit, err := ring.Prepare(t.Context(), &profiles.Set{Revision: "sha256:1",
		Agents: map[string]profiles.Agent{a.Name: *a}})
	if err != nil {
		t.Fatal(err)
	}
	commit()
	e := executorOver(t, ring, nil)
	o, _ := play(t, e, run(a, `set -e
git clone -q http://git.example/r.git
cd r
git log --format=%s
cat README.md
echo "more" >> README.md
git diff --stat | tail -n 1
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "mine"
git status --short | wc -l
git log --oneline origin/main..HEAD | wc -l
git clone -q http://other.example/r.git other 2>/dev/null || echo "not from there: $?"
`))
	want := "the second\nthe first\n# Title\n 1 file changed, 1 insertion(+)\n0\n1\nnot from there: 128\n"
	if o.State != executors.StateDone || printed(o, "stdout") != want {
		t.Errorf("got %s", brief(o))
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || strings.Contains(printed(o, "stderr"), "fatal") {
		t.Errorf("%d events, %s", len(seen), printed(o, "stderr"))
	}
}
