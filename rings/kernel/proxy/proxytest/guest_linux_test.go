package proxytest_test

// Programs that people run, in real guests, on an internet that is this test's.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

const agent = "a"

// world is a kernel ring and its egress, under a policy that a test changes.
type world struct {
	*proxytest.Internet
	t      *testing.T
	ring   *kernel.Ring
	egress *proxy.Egress
	dir    string // that guests read; its folder work they also write
	ca     string // the file of whom they trust
	cert   tls.Certificate
	number atomic.Int64 // generation
	rules  []profiles.EgressRule

	mu     sync.Mutex
	events []proxy.Event
}

func newWorld(t *testing.T, rules ...profiles.EgressRule) *world {
	t.Helper()
	w := &world{Internet: proxytest.New(t), t: t, dir: opened(t)}
	w.trust()
	var work sync.WaitGroup
	var err error
	w.egress, err = proxy.New(proxy.Config{Go: work.Go, Now: time.Now, Resolve: w.Resolve, Record: w.record})
	if err != nil {
		t.Fatal(err)
	}
	w.ring, err = kernel.New(kernel.Config{
		Go: work.Go, Token: rand.Reader, Executors: []string{profiles.ExecutorShell}, Egress: w.egress,
		Generation: w.number.Load,
		Prepared:   map[string]int{profiles.ExecutorShell: 1}, Spare: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.ring.Close(); err != nil {
			t.Error(err)
		}
		w.egress.Close()
		work.Wait()
	})
	report, err := w.ring.Examine(t.Context())
	switch {
	case err != nil:
		t.Fatal(err)
	case report.Failed != "" && os.Getenv("RINGD_REQUIRE_KERNEL") == "1":
		t.Fatalf("this host does not give layer %s: %s", report.Failed, report.Reason)
	case report.Failed != "":
		t.Skipf("this host does not give layer %s: %s", report.Failed, report.Reason)
	}
	w.allow(rules...)
	return w
}

func (w *world) record(ev proxy.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
	return nil
}

func (w *world) log() []proxy.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// host is a rule for ports of a host; none: 443.
func host(name string, ports ...int) profiles.EgressRule {
	if len(ports) == 0 {
		ports = []int{443}
	}
	return profiles.EgressRule{Host: name, Ports: ports}
}

// profile is what the agent may do.
func (w *world) profile(rules ...profiles.EgressRule) profiles.Agent {
	many, memory := int64(256), int64(4<<30)
	cpu, wall := int64(60_000), int64(120_000)
	a := profiles.Agent{
		Name: agent, MinTier: profiles.TierOS,
		Shell:  &profiles.Shell{JIT: true},
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: rules},
		Limits: profiles.Limits{Processes: &many, Files: &many, MemoryBytes: &memory, CPUMillis: &cpu,
			WallMillis: &wall, OutputBytes: &memory},
		Files: profiles.Files{Read: []profiles.PathRule{{Path: w.dir}},
			Write: []profiles.PathRule{{Path: w.dir + "/work"}}},
	}
	for _, p := range []string{"/usr/lib/python3", "/usr/lib/python3.11", "/etc/ssl/openssl.cnf", "/usr/share/nodejs",
		"/usr/share/git-core"} {
		if _, err := os.Stat(p); err == nil {
			a.Files.Read = append(a.Files.Read, profiles.PathRule{Path: p})
		}
	}
	for _, p := range programs() {
		a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: p})
	}
	own, _ := filepath.Glob(w.dir + "/bin/*")
	for _, p := range own {
		a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: p})
	}
	return a
}

func programs() (list []string) {
	for _, p := range []string{
		"/usr/bin/bash", "/usr/bin/sh", "/usr/bin/cat", "/usr/bin/sleep", "/usr/bin/curl", "/usr/bin/python3", "/usr/bin/node", "/usr/bin/git",
		"/usr/bin/ls", "/usr/lib/git-core/git", "/usr/lib/git-core/git-remote-https", "/usr/lib/git-core/git-remote-http", "/usr/lib/git-core/git-index-pack",
	} {
		if _, err := os.Stat(p); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// allow puts a policy in force, and has egress look at what is open.
func (w *world) allow(rules ...profiles.EgressRule) {
	w.t.Helper()
	w.rules = rules
	w.again()
}

// again puts the policy in force once more, for the files that are there now.
func (w *world) again() {
	w.t.Helper()
	w.put(w.profile(w.rules...))
}

// put puts the policy of these agents in force.
func (w *world) put(agents ...profiles.Agent) {
	w.t.Helper()
	set := &profiles.Set{Revision: fmt.Sprint("r", w.number.Load()+1), Agents: map[string]profiles.Agent{}}
	for _, a := range agents {
		set.Agents[a.Name] = a
	}
	commit, err := w.ring.Prepare(w.t.Context(), set)
	if err != nil {
		w.t.Fatal(err)
	}
	w.number.Add(1)
	commit()
	w.egress.Recheck()
}

// spec is a guest that runs a script of bash. Without proxies it does not get the
// variables.
func (w *world) spec(script string, proxies bool) executors.Spec {
	k, ok := w.profile(host("any.example")).Kernel(profiles.ExecutorShell)
	if !ok {
		w.t.Fatal("the agent has no shell")
	}
	env := []string{
		"PATH=" + w.dir + "/bin:/usr/bin", "LC_ALL=C", "HOME=" + w.dir + "/work", "PYTHONPATH=" + w.dir + "/bin", "CURL_CA_BUNDLE=" + w.ca, "SSL_CERT_FILE=" + w.ca,
		"NODE_EXTRA_CA_CERTS=" + w.ca, "GIT_SSL_CAINFO=" + w.ca, "GIT_CONFIG_NOSYSTEM=1", "D=" + w.dir + "/work",
	}
	if !proxies {
		script = "unset ${!HTTP*} ${!http*} ${!ALL_*} ${!all_*} NODE_USE_ENV_PROXY\n" + script
	}
	return executors.Spec{
		Executor: profiles.ExecutorShell, Agent: agent, Argv: []string{
			"/usr/bin/bash", "--norc", "-c", "exec 2>&1\n" + script},
		MinTier: profiles.TierOS, Kernel: k, Env: env, Dir: w.dir + "/work", Streams: true, CPU: time.Minute,
		MemoryBytes: 4 << 30, FileBytes: 64 << 20,
	}
}

// launch starts a guest.
func (w *world) launch(s executors.Spec) executors.Guest {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	g, err := w.ring.Launch(ctx, s)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = g.Kill() })
	if err := g.(executors.Streamer).Stdin().Close(); err != nil {
		w.t.Fatal(err)
	}
	return g
}

// run runs a script to its end and returns what it said.
func (w *world) run(script string, proxies bool) string {
	w.t.Helper()
	g := w.launch(w.spec(script, proxies))
	late := time.AfterFunc(time.Minute, func() { _ = g.Kill() })
	defer late.Stop()
	b, err := io.ReadAll(g.(executors.Streamer).Stdout())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// opened is a new folder that any user may use.
func opened(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for d := dir; strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.Mkdir(dir+"/work", 0o777), os.Chmod(dir+"/work", 0o777), os.Mkdir(dir+"/bin", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	// No policy grants a library to load; one that may be started can be loaded too.
	found, _ := filepath.Glob("/usr/lib/python3.*/lib-dynload/_ssl.*.so")
	for _, p := range found {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", filepath.Base(p)), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin/client"), "./testdata/client")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// trust makes a certificate for every host of the tests.
func (w *world) trust() {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"api.example", "git.example", "other.example", "a.b.wild.example"},
		IPAddresses: []net.IP{net.ParseIP("93.184.216.34")},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	w.ca = filepath.Join(w.dir, "ca.pem")
	if err := os.WriteFile(w.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// serve serves HTTP on an address, with TLS where the port is 443.
func (w *world) serve(address string, h http.Handler) {
	w.t.Helper()
	l := w.Listen(address)
	if strings.HasSuffix(address, ":443") {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{w.cert}, NextProtos: []string{"http/1.1"}})
	}
	s := &http.Server{Handler: h, ErrorLog: nil}
	go func() { _ = s.Serve(l) }()
	w.t.Cleanup(func() { _ = s.Close() })
}

// says answers with a line that names what was asked.
func says(text string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s %s %d", text, r.Method, r.Host, len(b))
	})
}

// need skips where a program is not there.
func need(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// bothWays runs a script in a guest with proxy variables, and in one without.
func (w *world) bothWays(t *testing.T, script string, check func(t *testing.T, out string)) {
	t.Helper()
	for name, proxies := range map[string]bool{"with proxies": true, "without": false} {
		t.Run(name, func(t *testing.T) { check(t, w.run(script, proxies)) })
	}
}

// has says that each of these is in a text.
func has(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(out, s) {
			t.Errorf("%q is not in what it says:\n%s", s, clip(out))
		}
	}
}

func clip(s string) string {
	if len(s) > 4000 {
		return s[:4000] + "…"
	}
	return s
}
