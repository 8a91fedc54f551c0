package kernel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// An injection makes one system call of the daemon and of a guest's init fail, or
// lie: report success and do nothing. It is a line of testdata/inject.txt.
// The call is "name", "name[n]=v" or "name[n]&v", v the value or the bits of
// argument n. errno 0 is a lie. layer is what the error must name.
type injection struct {
	Call, Errno, Layer, What string
}

func injections(t *testing.T) []injection {
	t.Helper()
	f, err := os.Open("testdata/inject.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []injection
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		if line := in.Text(); line != "" && line[0] != '#' {
			c := strings.Split(line, "|")
			if len(c) != 4 {
				t.Fatalf("testdata/inject.txt:%d: %d columns, want 4", n, len(c))
			}
			all = append(all, injection{strings.TrimSpace(c[0]), strings.TrimSpace(c[1]), strings.TrimSpace(c[2]),
				strings.TrimSpace(c[3])})
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// maxCall is above the number of every call.
const maxCall = 1024

var callForm = regexp.MustCompile(`^(\w+)(?:\[(\d)\]([=&])(\w+))?$`)

// program is the outer filter of an injection: everything is allowed but the one
// call.
func (i injection) program() ([]unix.SockFilter, error) {
	m := callForm.FindStringSubmatch(i.Call)
	if m == nil {
		return nil, fmt.Errorf("%q is no call", i.Call)
	}
	nr := 0
	for nr < maxCall && seccomp.Name(runtime.GOARCH, nr) != m[1] {
		nr++
	}
	if nr == maxCall {
		return nil, fmt.Errorf("%s has no number", m[1])
	}
	e, err := strconv.Atoi(i.Errno)
	if err != nil {
		return nil, err
	}
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(op uint16, k uint32, jt, jf uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: jt, Jf: jf, K: k}
	}
	const load, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_RET | unix.BPF_K
	refuse := stmt(ret, seccomp.RetErrno|uint32(e))
	allow := stmt(ret, seccomp.RetAllow)
	if m[2] == "" {
		return []unix.SockFilter{stmt(load, 0), jump(unix.BPF_JEQ, uint32(nr), 0, 1), refuse, allow}, nil
	}
	n, _ := strconv.Atoi(m[2])
	v, err := strconv.ParseUint(m[4], 0, 32)
	if err != nil {
		return nil, err
	}
	op := uint16(unix.BPF_JEQ)
	if m[3] == "&" {
		op = unix.BPF_JSET
	}
	return []unix.SockFilter{stmt(load, 0), jump(unix.BPF_JEQ, uint32(nr), 0, 3),
		stmt(load, uint32(16+8*n)), jump(op, uint32(v), 0, 1), refuse, allow}, nil
}

// install puts an injection on every thread of this process, for good.
func (i injection) install() error {
	prog, err := i.program()
	if err != nil {
		return err
	}
	if os.Getuid() != 0 {
		// The price of an ordinary user: what follows cannot see a lie about it.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	const tsync = 1
	r, _, e := unix.RawSyscall(unix.SYS_SECCOMP, 1, tsync, uintptr(unsafe.Pointer(&p)))
	if e != 0 || r != 0 {
		return fmt.Errorf("install the injection: %d, %w", r, e)
	}
	return nil
}

// victim is what the process of an injection does.
type victim struct {
	Injection injection
	Marker    string // the program
	File      string // what it would write
	Work      string
	Tier      profiles.Tier
}

// TestVictim is the process of an injection; it does nothing by itself.
func TestVictim(t *testing.T) {
	text := os.Getenv("RINGD_TEST_VICTIM")
	if text == "" {
		return
	}
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		// What a guest must not have.
		if err := errors.Join(syscall.Setgroups([]int{4, 27}), unix.Setdomainname([]byte("host.example"))); err != nil {
			t.Fatal(err)
		}
	}
	if v.Injection.Call != "" {
		if err := v.Injection.install(); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := probeRingOf(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	s := workspace(v.Work, v.Marker, v.File)
	s.MinTier = v.Tier
	g, err := r.Launch(ctx, s)
	if err != nil {
		var d *profiles.Denial
		fmt.Printf("REFUSED denial=%v %v\n", errors.As(err, &d), err)
		if d != nil {
			fmt.Printf("REMEDY %q\n", d.Decision.Instead)
		}
		return
	}
	st := g.(executors.Streamer)
	out, _ := io.ReadAll(st.Stdout())
	e, err := st.Wait(ctx)
	fmt.Printf("STARTED %q %+v %v %v\n", out, e, err, g.Attestation())
	if err := g.Kill(); err != nil {
		t.Log(err)
	}
}

// workspace is a spec of a program that has a folder of its own and a network.
func workspace(dir string, argv ...string) executors.Spec {
	s := program(argv...)
	s.Kernel.Network = profiles.NetworkOwn
	s.Kernel.Read = []profiles.PathRule{{Path: dir}}
	s.Kernel.Write = []profiles.PathRule{{Path: dir}}
	s.Kernel.TempBytes, s.Kernel.FileBytes = 16<<20, 32<<20
	s.FileBytes = 32 << 20
	return s
}

// inject runs one injection and returns what the process said, and whether the
// program ran.
func inject(t *testing.T, p map[string]string, i injection, tier profiles.Tier) (said string, ran bool) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	v := victim{i, p["marker"], filepath.Join(dir, "ran"), dir, tier}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestVictim$", "-test.v")
	c.Env = append(os.Environ(), "RINGD_TEST_VICTIM="+string(text))
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUTS} // its domain is its own
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	// Not to end well is an answer too: what counts is the program.
	_ = c.Run()
	_, err = os.Stat(v.File)
	said = out.String()
	return said, err == nil || strings.Contains(said, "RAN") || strings.Contains(said, "STARTED")
}

// line returns the first line of text that begins with word.
func line(text, word string) string {
	for l := range strings.SplitSeq(text, "\n") {
		if rest, ok := strings.CutPrefix(l, word+" "); ok {
			return rest
		}
	}
	return ""
}

// short is the layer of a refusal and what follows.
func short(refused string) string {
	if n := strings.Index(refused, "layer "); n >= 0 {
		refused = refused[n:]
	}
	return clipped(refused)
}

// clipped is a text for a table.
func clipped(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\n", " / ")
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// TestInjectNothing: the target runs when nothing fails, so that its absence says
// something.
func TestInjectNothing(t *testing.T) {
	needKernel(t, ring(t))
	p := built(t, "marker")
	said, ran := inject(t, p, injection{}, profiles.TierOS)
	if !ran || !strings.Contains(said, `STARTED "RAN\n" {Code:42`) {
		t.Fatalf("the target does not run: %s", said)
	}
}

// TestInject: a call of the set-up that fails, or reports success and does
// nothing, ends the launch. The target never runs, and the error names the layer.
func TestInject(t *testing.T) {
	needKernel(t, ring(t))
	p := built(t, "marker")
	for _, i := range injections(t) {
		t.Run(i.Call+" "+i.Errno, func(t *testing.T) {
			who, layer, only := strings.Cut(i.Layer, ":")
			if !only {
				layer = who
			} else if (who == "root") != (os.Getuid() == 0) {
				t.Skip("can be tried as " + who + " only")
			}
			said, ran := inject(t, p, i, profiles.TierOS)
			refused := line(said, "REFUSED")
			t.Logf("%-30s errno %-3s %-40s %s", i.Call, i.Errno, i.What, short(refused))
			if ran {
				t.Fatalf("the target ran: %s", said)
			}
			if layer == "-" {
				if refused == "" && !strings.Contains(said, "kernel ring: ") {
					t.Errorf("no error: %s", clipped(said))
				}
				return
			}
			if !strings.Contains(refused, "layer "+layer) {
				t.Errorf("the error does not name layer %s: %s", layer, clipped(said))
			}
			if i.Errno == "0" {
				return // no host does this: there is no remedy but another
			}
			if line(said, "REMEDY") == "" && !strings.Contains(refused, "; ") {
				t.Errorf("no remedy: %s", clipped(said))
			}
		})
	}
}

// TestInjectLower: a lie refuses everything on this host, also to those who would
// do with less. Where it shows as a layer that is missing, before it was said to
// stand, the guest may be a plain one, and says so.
func TestInjectLower(t *testing.T) {
	needKernel(t, ring(t))
	p := built(t, "marker")
	for _, i := range injections(t) {
		who, _, only := strings.Cut(i.Layer, ":")
		if i.Errno != "0" || only && (who == "root") != (os.Getuid() == 0) {
			continue
		}
		said, ran := inject(t, p, i, profiles.TierProcess)
		switch honest := strings.Contains(said, " {process map[") && strings.Contains(said, "landlock:unavailable"); {
		case ran && !honest:
			t.Errorf("%s lies, and the target ran: %s", i.Call, clipped(said))
		case ran:
			t.Logf("%s lies, and is found to be missing", i.Call)
		}
	}
}
