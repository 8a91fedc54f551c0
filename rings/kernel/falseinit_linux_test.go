package kernel_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// falseInit is this binary in the place of the init of a guest. It builds nothing,
// and says what the name of the program tells it to.
func falseInit() int {
	b := make([]byte, 1<<20)
	n, _, _, _, err := unix.Recvmsg(initproto.Control, b, nil, 0)
	var o initproto.Order
	if err != nil || json.Unmarshal(b[:n], &o) != nil {
		return 1
	}
	r := initproto.Report{Version: initproto.Version, ABI: 99, Layers: map[string]string{
		initproto.LayerNamespaces: "enforced", initproto.LayerMounts: "enforced", initproto.LayerExec: "enforced",
		initproto.LayerNetwork: "enforced",
		initproto.LayerLimits:  "enforced", initproto.LayerPrivileges: "enforced", initproto.LayerLandlock: "enforced",
		initproto.LayerCapabilities: "enforced", initproto.LayerSeccomp: "enforced",
		initproto.LayerSelfTest: "enforced", initproto.LayerMemory: "enforced",
	}}
	fail := func(kind string) {
		r.Failed, r.Kind, r.Step, r.Reason, r.Errno = initproto.LayerLandlock, kind, "landlock_create_ruleset",
			"the kernel says no", int(unix.EOPNOTSUPP)
	}
	files := 0
	switch word, rest, _ := strings.Cut(programOf(o), "-"); word {
	case "hangs":
		for {
			_, _, _, _, _ = unix.Recvmsg(initproto.Control, b, nil, 0)
		}
	case "dies":
		return 1
	case "version":
		r.Version++
	case "abi":
		r.ABI = 1
	case "lacks":
		delete(r.Layers, rest)
	case "weak":
		r.Layers[rest] = "best-effort"
	case "missing", "lies", "fault":
		fail(word)
	case "files":
		files = 1
	case "garbage":
		_, _ = unix.Write(initproto.Control, []byte(`{"Version":1,"Unknown":true}`))
		return 0
	}
	text, err := json.Marshal(r)
	if err != nil {
		return 1
	}
	var oob []byte
	if files > 0 {
		oob = unix.UnixRights(0)
	}
	if err := unix.Sendmsg(initproto.Control, text, oob, nil, 0); err != nil {
		return 1
	}
	_, _, _, _, _ = unix.Recvmsg(initproto.Control, b, nil, 0) // Go, or the end
	if programOf(o) == "stays" {
		_, _, _, _, _ = unix.Recvmsg(initproto.Control, b, nil, 0)
	}
	return 1 // and no program ever runs
}

func programOf(o initproto.Order) string {
	for _, m := range o.Mounts {
		if m.Exec {
			return filepath.Base(m.Path)
		}
	}
	return ""
}

// liar is a ring whose guests have falseInit.
func liar(t *testing.T) *kernel.Ring {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	r, err := kernel.NewWith(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader}, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return r
}

// named is a program that exists only to have a name.
func named(t *testing.T, name string) executors.Spec {
	t.Helper()
	b, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return program(path)
}

func TestNoProofNoProgram(t *testing.T) {
	needNamespaces(t)
	for _, tt := range []struct {
		name string
		want string
		tier bool // the error is a denial
	}{
		{"dies", "ended before it had reported", false},
		{"garbage", "unknown field", false},
		{"version", "of another build", false},
		{"files", "1 descriptors came", false},
		{"abi", "layer landlock", true},
		{"lacks-" + initproto.LayerSeccomp, `layer seccomp: the init of the guest reports it as ""`, true},
		{"lacks-" + initproto.LayerSelfTest, "layer self_test", true},
		{"weak-" + initproto.LayerMounts, `layer mounts: the init of the guest reports it as "best-effort"`, true},
		{"weak-" + initproto.LayerMemory, "layer memory_wx", true},
		{"missing", "layer landlock is missing", true},
		{"lies", "layer landlock", true},
		{"fault", "landlock_create_ruleset", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := liar(t)
			if _, err := r.Examine(t.Context()); err != nil { // the ring keeps its init from the first guest on
				t.Fatal(err)
			}
			before := descriptors(t)
			g, err := r.Launch(t.Context(), named(t, tt.name))
			if g != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, %v: want an error with %q", g, err, tt.want)
			}
			var d *profiles.Denial
			if errors.As(err, &d) != tt.tier {
				t.Errorf("%v: denial %v", err, !tt.tier)
			}
			if tt.tier && d.Decision.Code != profiles.CodeTierUnavailable {
				t.Errorf("code %s", d.Decision.Code)
			}
			if after := descriptors(t); after > before {
				t.Errorf("%d descriptors, %d before", after, before)
			}
			noChildren(t)
		})
	}
}

// A host that lacks a layer has the plain launcher for what asks for no more, and
// one that lies has none.
func TestWhatTheFirstGuestShows(t *testing.T) {
	needNamespaces(t)
	weak := func(s executors.Spec) executors.Spec { s.MinTier = profiles.TierProcess; return s }
	t.Run("missing", func(t *testing.T) {
		r := liar(t)
		g := launch(t, r, weak(named(t, "missing")))
		if _, e := end(t, g.Guest); e.Code != 0 {
			t.Errorf("%+v", e)
		}
		if a := r.Attestation(t.Context(), "shell"); a.Tier != profiles.TierProcess ||
			a.Layers[initproto.LayerLandlock] != "unavailable" {
			t.Errorf("%+v", a)
		}
		_, err := r.Launch(t.Context(), named(t, "good"))
		var d *profiles.Denial
		if !errors.As(err, &d) || !strings.Contains(d.Decision.Reason, "landlock") || len(d.Decision.Instead) != 1 ||
			strings.Contains(d.Decision.Instead[0], "minTier") { // a shell runs below no tier but this
			t.Errorf("a stronger tier on a weak host: %v", err)
		}
		// A new policy has the host looked at again.
		commit, err := r.Prepare(t.Context(), &profiles.Set{})
		if err != nil {
			t.Fatal(err)
		}
		commit()
		if _, err := r.Launch(t.Context(), named(t, "dies")); err == nil || errors.As(err, &d) {
			t.Errorf("it was not: %v", err)
		}
	})
	t.Run("lies", func(t *testing.T) {
		r := liar(t)
		for range 2 {
			if g, err := r.Launch(t.Context(), weak(named(t, "lies"))); err == nil {
				t.Fatalf("a guest on a host that lies: %v", g)
			}
		}
		if g, err := r.Launch(t.Context(), weak(named(t, "good"))); err == nil {
			t.Errorf("a later guest on it: %v", g)
		}
		if a := r.Attestation(t.Context(), "shell"); a.Tier != "" || len(a.Layers) != 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("able", func(t *testing.T) {
		r := liar(t)
		kernel.SetFinding(r, initproto.Report{Version: initproto.Version})
		g, err := r.Launch(t.Context(), weak(named(t, "missing")))
		var d *profiles.Denial
		if g != nil || !errors.As(err, &d) {
			t.Errorf("a host that was able went plain: %v %v", g, err)
		}
		if _, err := r.Launch(t.Context(), weak(named(t, "lies"))); err == nil {
			t.Error("a lie was believed")
		}
		if a := r.Attestation(t.Context(), "shell"); a.Tier != "" {
			t.Errorf("a lie is forgotten: %+v", a)
		}
	})
}

func TestCancelledLaunchLeavesNothing(t *testing.T) {
	needNamespaces(t)
	r := liar(t)
	if _, err := r.Examine(t.Context()); err != nil { // as above
		t.Fatal(err)
	}
	before := descriptors(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	s := named(t, "hangs")
	go func() {
		g, err := r.Launch(ctx, s)
		if g != nil {
			err = errors.New("it was launched")
		}
		result <- err
	}()
	eventually(t, "an init", func() bool { return len(children(t)) > 0 })
	cancel(why)
	if err := <-result; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	noChildren(t)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestCloseEndsALaunch(t *testing.T) {
	needNamespaces(t)
	r := liar(t)
	result := make(chan error, 1)
	s := named(t, "hangs")
	go func() {
		_, err := r.Launch(t.Context(), s)
		result <- err
	}()
	eventually(t, "an init", func() bool {
		select {
		case err := <-result:
			t.Fatalf("the launch ended before its init was seen: %v", err)
		default:
		}
		return len(children(t)) > 0
	})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("%v", err)
	}
	noChildren(t)
	if _, err := r.Examine(t.Context()); !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("a look after Close: %v", err)
	}
}
