package python_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// program is one case: of the corpus, of the attacks, or of the ordinary programs.
type program struct {
	name, text, in string
	allow, deny    []string
	expect         string // ok, ImportError, PermissionError, denied
	out            string
	network        string
	ring           bool              // the hook cannot stop it
	hook           bool              // the kernel ring does not
	since          int               // the oldest version of Python 3 that can run it
	packages       bool              // it needs numpy and pandas
	ends           []executors.State // the states that it may end in, with small limits; nil: any, with large ones
	control        string            // why it has no effect where nothing stops it; "": it has
}

// corpus is testdata/python.jsonl.
func corpus(t testing.TB) []program {
	t.Helper()
	f, err := os.Open("../../testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []program
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r struct {
			ID, Category, Program, Expect, Network string
			Allowed                                []string `json:"allowed_imports"`
			Denied                                 []string `json:"denied_imports"`
			Out                                    string   `json:"expected_stdout"`
			Ring                                   bool     `json:"needs_kernel_ring"`
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, program{
			name: r.ID + " " + r.Category, text: r.Program, allow: r.Allowed, deny: r.Denied, expect: r.Expect,
			out: r.Out, network: r.Network,
			ring: r.Ring, hook: r.Expect == "ImportError" || r.Category == "introspection", since: 11,
		})
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

var heading = regexp.MustCompile(`(?m)^# (allow|deny|expect|only|python|needs|control|ends): (.*)$`)

// archived reads the programs of the archives of a folder.
func archived(t testing.TB, dir string, of func(p *program, files map[string]string)) []program {
	t.Helper()
	paths, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var all []program
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range a.Files {
			files[f.Name] = string(f.Data)
		}
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".py")
			if !ok {
				continue
			}
			p := program{name: strings.TrimSuffix(filepath.Base(path), ".txtar") + "/" + name, text: string(f.Data)}
			for _, h := range heading.FindAllStringSubmatch(p.text, -1) {
				p.head(t, h[1], h[2])
			}
			of(&p, files)
			all = append(all, p)
		}
	}
	return all
}

func (p *program) head(t testing.TB, key, value string) {
	t.Helper()
	list := strings.Split(value, ", ")
	switch key {
	case "allow":
		p.allow = list
	case "deny":
		p.deny = list
	case "expect":
		p.expect = value
	case "only":
		p.ring, p.hook = value == "ring", value == "hook"
	case "python":
		n, err := strconv.Atoi(strings.TrimPrefix(value, "3."))
		if err != nil {
			t.Fatal(err)
		}
		p.since = n
	case "needs":
		p.packages = true
	case "ends":
		for _, s := range list {
			p.ends = append(p.ends, executors.State(s))
		}
	case "control":
		p.control = value
	}
}

// attacks are testdata/attacks/python.
func attacks(t testing.TB) []program {
	t.Helper()
	return archived(t, "../../testdata/attacks/python", func(p *program, _ map[string]string) {
		switch {
		case p.allow == nil:
			p.allow = []string{"*"}
		case slices.Equal(p.allow, []string{"default"}):
			p.allow = nil
		}
		if p.expect == "" {
			p.expect = "denied"
		}
	})
}

// ordinary are testdata/benign/python.
func ordinary(t testing.TB) []program {
	t.Helper()
	return archived(t, "../../testdata/benign/python", func(p *program, files map[string]string) {
		bare := p.name[strings.LastIndexByte(p.name, '/')+1:]
		out, ok := files[bare+".out"]
		if !ok {
			t.Fatalf("%s has no .out", p.name)
		}
		p.expect, p.out, p.in = "ok", out, files[bare+".in"]
		p.packages = strings.HasPrefix(p.name, "packages/")
	})
}

// agent is what the policy of a case compiles to.
func (p program) agent() *profiles.Agent {
	n := func(n int64) *int64 { return &n }
	limits := profiles.Limits{
		CPUMillis: n(20_000), WallMillis: n(40_000), MemoryBytes: n(768 << 20), OutputBytes: n(1 << 20),
		ResultBytes: n(1 << 20),
		StackBytes:  n(1 << 20), Processes: n(64), Files: n(256), RefusedCalls: n(64),
	}
	if p.ends != nil {
		limits.CPUMillis, limits.WallMillis, limits.MemoryBytes = n(2_000), n(3_000), n(96<<20)
		limits.OutputBytes, limits.ResultBytes, limits.Processes, limits.Files = n(64<<10), n(64<<10), n(16), n(64)
	}
	rule := func(i int) profiles.Rule { return profiles.Rule{File: "policy.yaml", Line: i + 1, Column: 1} }
	im := profiles.Imports{Default: len(p.allow) == 0, Rule: rule(0)}
	for i, name := range p.allow {
		if name == "*" {
			r := rule(i)
			im.Any = &r
			continue
		}
		im.Allow = append(im.Allow, profiles.ImportRule{Name: name, Rule: rule(i)})
	}
	for i, name := range p.deny {
		im.Deny = append(im.Deny, profiles.ImportRule{Name: name, Rule: rule(100 + i)})
	}
	return &profiles.Agent{
		Name: "default", MinTier: profiles.TierOS, Bridges: map[string]profiles.Bridge{}, Limits: limits,
		Python: &profiles.Python{Imports: im, Limits: limits, Rule: rule(0)},
	}
}

// stage is where cases are played: an executor over the kernel ring or over the lab,
// with or without the hook.
type stage struct {
	t        *testing.T
	executor *python.Executor
	ring     *kernel.Ring // nil: the lab
	outside  string       // a folder that anybody may write
	port     int
	name     string
	hits     *atomic.Int64 // on what the test listens at
}

// played is one case that was played.
type played struct {
	program
	outcome executors.Outcome
	err     error
	stdout  string
	effect  string // that it must not have; "": none
}

// play runs one case.
func (s *stage) play(p program) played {
	out := played{program: p}
	dir := filepath.Join(s.outside, regexp.MustCompile(`\W+`).ReplaceAllString(p.name, "-"))
	if s.ring != nil {
		for _, err := range []error{os.MkdirAll(dir, 0o777), os.Chmod(dir, 0o777),
			os.WriteFile(filepath.Join(dir, "there"), []byte("x"), 0o666)} {
			if err != nil {
				return played{program: p, err: err}
			}
		}
	} else {
		dir = s.outside
	}
	text := strings.NewReplacer("@PORT@", strconv.Itoa(s.port), "@NAME@", s.name, "@OUTSIDE@", dir).Replace(p.text)
	ctx, cancel := context.WithTimeout(s.t.Context(), 90*time.Second)
	defer cancel()
	a := p.agent()
	out.outcome, out.err = s.executor.Run(ctx, executors.Run{
		ID: "r1", Actor: "me", Agent: a, Revision: "sha256:1", Limits: a.Limits,
		Program: executors.Program{Name: "program.py", Language: "python", Source: text, Stdin: []byte(p.in)},
	}, nobody{})
	var b strings.Builder
	for _, e := range out.outcome.Console {
		if e.Level == executors.LevelStdout {
			b.WriteString(e.Text)
		}
	}
	out.stdout = b.String()
	if strings.Contains(out.stdout, "ESCAPED") {
		out.effect = "it printed " + strconv.Quote(out.stdout)
	}
	if s.ring == nil {
		return out
	}
	left, err := os.ReadDir(dir)
	there, err2 := os.ReadFile(filepath.Join(dir, "there"))
	if err != nil || err2 != nil || len(left) != 1 || string(there) != "x" {
		out.effect += fmt.Sprintf(" outside: %v %q %v", left, there, errors.Join(err, err2))
	}
	return out
}

// nobody answers no call.
type nobody struct{}

func (nobody) Ask(context.Context, executors.Question) (executors.Answer, error) {
	return executors.Answer{Error: &executors.GuestError{Name: "CapabilityDenied", Message: "nothing is granted"}}, nil
}
func (nobody) Console(executors.ConsoleEntry) {}
func (nobody) Idle([]string)                  {}

// as tells what of a case is not as it has to be; "": nothing.
func (p played) as() string {
	o := p.outcome
	brief, _ := json.Marshal(struct {
		State  executors.State
		Error  *executors.ProgramError
		Stdout string
		Stderr string
	}{o.State, o.Error, p.stdout[:min(len(p.stdout), 2000)], of(o, executors.LevelStderr)})
	switch {
	case p.err != nil:
		return p.err.Error()
	case p.effect != "":
		return "it has an effect: " + p.effect
	case p.ends != nil && !slices.Contains(p.ends, o.State):
		return fmt.Sprintf("got %s, want one of %q", brief[:min(len(brief), 2000)], p.ends)
	case p.expect == "ok" && (o.State != executors.StateDone || p.stdout != p.out):
		return fmt.Sprintf("got %s, want %q", brief, p.out)
	case p.expect == "ImportError" && (o.Error == nil || o.State != executors.StateDenied ||
		o.Error.Name != "ImportError" && o.Error.Name != "ModuleNotFoundError"),
		p.expect == "PermissionError" && (o.Error == nil || o.Error.Name != p.expect):
		return fmt.Sprintf("got %s, want %s", brief, p.expect)
	}
	return ""
}

func of(o executors.Outcome, level string) string {
	var b strings.Builder
	for _, e := range o.Console {
		if e.Level == level {
			b.WriteString(e.Text)
		}
	}
	s := b.String()
	return s[max(0, len(s)-1500):]
}

// all plays cases, a few at once, and returns them in their order.
func (s *stage) all(cases []program) []played {
	out := make([]played, len(cases))
	room := make(chan struct{}, 3)
	var wait sync.WaitGroup
	for i, p := range cases {
		room <- struct{}{}
		wait.Go(func() {
			out[i] = s.play(p)
			<-room
		})
	}
	wait.Wait()
	return out
}

// newStage makes one over the kernel ring, or over the lab.
func newStage(t *testing.T, interpreter string, ringed, hooked bool) *stage {
	t.Helper()
	outside, err := os.MkdirTemp("/var/tmp", "ringd-python-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	if err := os.Chmod(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, outside: outside, hits: &atomic.Int64{}, port: labPort, name: "ringd-lab"}
	var launcher executors.Launcher
	if ringed {
		s.listen()
		s.ring = caseRing(t)
		launcher = s.ring
	} else {
		extra := ""
		if !strings.HasPrefix(interpreter, "/usr/bin/") {
			extra = filepath.Dir(filepath.Dir(interpreter))
		}
		launcher = newLab(t, outside, extra)
	}
	var wg sync.WaitGroup
	s.executor, err = python.New(python.Config{
		Launcher: launcher, Environments: environments(t, interpreter), Go: func(f func()) { wg.Go(f) }, Now: time.Now,
		Random: rand.Reader, Unguarded: !hooked,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.executor.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if s.ring != nil && len(s.ring.Status()) != 0 {
			t.Errorf("guests live on: %v", s.ring.Status())
		}
	})
	return s
}

// listen counts what comes: whatever a program prints, that is an effect.
func (s *stage) listen() {
	t := s.t
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	s.name = "ringd-cases-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(s.port)
	u, err := net.ListenPacket("udp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	x, err := net.Listen("unix", "@"+s.name)
	if err != nil {
		t.Fatal(err)
	}
	segment := "/dev/shm/" + s.name
	if err := os.WriteFile(segment, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); u.Close(); x.Close(); os.Remove(segment) })
	for _, l := range []net.Listener{l, x} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				s.hits.Add(1)
				c.Close()
			}
		}()
	}
	go func() {
		b := make([]byte, 600)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			s.hits.Add(1)
			_, _ = u.WriteTo(b[:n], from)
		}
	}()
}

// caseRing is the real one. Hosts that do not give the layers skip.
func caseRing(t testing.TB) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Executors: []string{profiles.ExecutorPython}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	a := r.Attestation(t.Context(), profiles.ExecutorPython)
	if a.Layers["mounts"] == "enforced" {
		return r
	}
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf("this host gives no kernel ring: %v", a.Layers)
	}
	t.Skipf("this host gives no kernel ring: %v", a.Layers)
	return nil
}

// interpreters are those of this host, of 3.10 and newer; that of Debian is the first.
func interpreters(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(os.Getenv("HOME") + "/.pyenv/versions/3.1[0-9].*/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{interpreter}, found...)
}

func minor(t testing.TB, path string) int {
	t.Helper()
	b, err := exec.CommandContext(t.Context(), path, "-I", "-S", "-c",
		"import sys; print(sys.version_info[1])").Output()
	if err != nil {
		t.Skipf("%s: %v", path, err)
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fitting leaves out what an interpreter is too old for, or has no packages for.
func fitting(t testing.TB, cases []program, path string) []program {
	t.Helper()
	v := minor(t, path)
	packages := path == interpreter && exec.CommandContext(t.Context(), path, "-I", "-c",
		"import pandas, requests").Run() == nil
	return slices.DeleteFunc(slices.Clone(cases), func(p program) bool {
		return p.since > v || p.packages && !packages
	})
}

// networked cases need the egress ring, which stands in cmd/ringd.
func networked(p program) bool { return p.network != "" && p.network != "off" }
