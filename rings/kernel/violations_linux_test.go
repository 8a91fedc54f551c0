package kernel_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// reporting is a ring that keeps what guests were refused, or fails to.
func reporting(t *testing.T, fail error) (*kernel.Ring, chan kernel.Violation) {
	t.Helper()
	seen := make(chan kernel.Violation, 100)
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{
		Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Report: func(v kernel.Violation) error {
			seen <- v
			return fail
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	needKernel(t, r)
	return r, seen
}

// refusedScript is bash with a program that may be read and not be started.
func refusedScript(t *testing.T, text string) executors.Spec {
	t.Helper()
	bash, err := filepath.EvalSymlinks("/bin/bash")
	if err != nil {
		t.Skip(err)
	}
	s := program(bash, "-c", text)
	s.Agent = "a"
	s.Kernel.Read = []profiles.PathRule{{Path: "/usr/bin/id"}}
	return s
}

// What a guest is refused reaches the record: sockets, and programs that are there
// and not granted. A program that is not there is none of it.
func TestViolationsAreReported(t *testing.T) {
	r, seen := reporting(t, nil)
	g := launch(t, r, refusedScript(t, `read go
exec 3<>/dev/tcp/127.0.0.1/1
/usr/bin/id
/usr/bin/nothing-here
/usr/bin/id
echo over`))
	g.Guest.(executors.Serving).Serve("r1")
	if _, err := g.Guest.(executors.Streamer).Stdin().Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	out, e := end(t, g.Guest)
	if out != "over\n" || e.Code != 0 {
		t.Errorf("%q %+v", out, e)
	}
	var got []string
	for len(seen) > 0 {
		v := <-seen
		if v.Run != "r1" || v.Agent != "a" || v.Executor != "shell" || v.PID == 0 || v.End || v.Count != 1 {
			t.Errorf("%+v", v)
		}
		if v.Layer == "seccomp" || v.Layer == "exec" {
			got = append(got, v.Layer+" "+v.Call+" "+v.Detail)
		}
	}
	if d := cmp.Diff([]string{"seccomp socket AF_INET", "exec execve /usr/bin/id"}, got); d != "" {
		t.Error(d)
	}
	if a := g.Attestation(); a.Layers["violations"] != "best-effort" {
		t.Errorf("%v", a.Layers)
	}
}

// Ordinary programs are refused nothing that is worth a record: not their own start
// by init, which a daemon that is not root may not read, not a look for nscd.
func TestOrdinaryProgramsAreNoViolation(t *testing.T) {
	r, seen := reporting(t, nil)
	for range 3 {
		g := launch(t, r, refusedScript(t, `read x; echo ~; x=$(echo a | { read y; echo $y; }); echo $x`))
		if out, e := end(t, g.Guest); e.Code != 0 || !strings.HasSuffix(out, "a\n") {
			t.Errorf("%q %+v", out, e)
		}
	}
	for len(seen) > 0 {
		t.Errorf("%+v", <-seen)
	}
}

// A guest that tries without end is ended, and puts a few records on file.
func TestFloodOfViolationsEndsTheGuest(t *testing.T) {
	r, seen := reporting(t, nil)
	g := launch(t, r, refusedScript(t, `read go; exec 2>&-; while :; do exec 3<>/dev/tcp/127.0.0.1/1; done`))
	defer g.Guest.(executors.Streamer).Stdin().Close()
	if _, err := g.Guest.(executors.Streamer).Stdin().Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	e, err := g.Guest.(executors.Streamer).Wait(t.Context())
	if !errors.Is(err, executors.ErrViolation) || !errors.Is(err, violations.ErrTooMany) {
		t.Errorf("%+v, %v", e, err)
	}
	if len(seen) > 8 {
		t.Errorf("%d records", len(seen))
	}
}

// What cannot be recorded ends the guest.
func TestViolationWithoutARecordEndsTheGuest(t *testing.T) {
	r, seen := reporting(t, errors.New("the disk is full"))
	g := launch(t, r, refusedScript(t, `read go; exec 3<>/dev/tcp/127.0.0.1/1; echo lives on; read forever`))
	s := g.Guest.(executors.Streamer)
	defer s.Stdin().Close()
	if _, err := s.Stdin().Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	e, err := s.Wait(t.Context())
	if !errors.Is(err, executors.ErrViolation) || len(seen) == 0 {
		t.Errorf("%+v, %v after %d", e, err, len(seen))
	}
}

// What Landlock refuses is seen where the kernel's audit log may be read; else the
// ring says why not.
func TestLandlockRefusalsAreReported(t *testing.T) {
	r, seen := reporting(t, nil)
	if why := r.Unseen(); why != nil {
		if !strings.Contains(why.Error(), "auditctl -e 1") && !strings.Contains(why.Error(), "CAP_AUDIT_READ") {
			t.Errorf("no remedy: %v", why)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := refusedScript(t, `read x < `+dir+`/secret && echo got $x; echo over`)
	s.Kernel.Write = []profiles.PathRule{{Path: dir}}
	if err := os.WriteFile(dir+"/secret", []byte("s"), 0o666); err != nil {
		t.Fatal(err)
	}
	g := launch(t, r, s)
	if out, e := end(t, g.Guest); out != "over\n" || e.Code != 0 {
		t.Errorf("%q %+v", out, e)
	}
	for { // the log is behind
		v := <-seen
		if v.Layer == "landlock" && v.Call == "fs.read_file" && v.Detail == dir+"/secret" && v.Agent == "a" {
			return
		}
	}
}
