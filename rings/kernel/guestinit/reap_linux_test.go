package guestinit_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// shell is a guest whose init stays, with bash as its program, started with a
// script; its output is a pipe that ends when nothing holds it any more.
func shell(t *testing.T, script string, change func(*initproto.Order)) (*launched, *os.File) {
	t.Helper()
	l := launch(t, initOf(t, true)...)
	o := orderOf(t, profiles.Kernel{Exec: rules("/usr/bin/sleep", "/usr/bin/cat"), TempBytes: 1 << 20}, "/usr/bin/bash")
	o.Reap = true
	if change != nil {
		change(&o)
	}
	l.send(o)
	l.stands()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.send(initproto.Go{Argv: []string{"/usr/bin/bash", "--norc", "-c", script}, Env: []string{"PATH=/usr/bin"},
		Files: 3},
		int(null.Fd()), int(w.Fd()), int(w.Fd()))
	w.Close()
	null.Close()
	if got := l.told(); !got.Started {
		t.Fatalf("told %+v, want started", got)
	}
	return l, r
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         initproto.Told
		code         int
	}{
		{"an exit code", "exit 7", initproto.Told{Alone: true, Ended: true, Code: 7}, 7},
		{"a signal", "kill -SEGV $$", initproto.Told{Alone: true, Ended: true, Signal: 11}, 139},
		{"orphans", "for i in 1 2 3 4 5; do (sleep 0 &) ; done; (exit 3); echo $?", initproto.Told{Ended: true}, 0},
		{"one that goes on", "sleep 60 & exit 8", initproto.Told{Ended: true, Code: 8}, 8},
		{"orphans that go on", "(sleep 60 & sleep 60 & exit 1); exit 9", initproto.Told{Ended: true, Code: 9}, 9},
		{"a signal to all", "kill -KILL -1; exit 4", initproto.Told{Alone: true, Ended: true, Code: 4}, 4},
		{"a signal to init", "kill -TERM 1; kill -KILL 1; exit 5", initproto.Told{Alone: true, Ended: true, Code: 5}, 5},
		{"a signal to the group", "trap '' TERM; kill -TERM 0; exit 6", initproto.Told{Alone: true, Ended: true, Code: 6}, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := shell(t, tt.script, nil)
			got := l.told()
			if got.CPU < 0 || got.Peak <= 0 {
				t.Errorf("told %+v, want what it used", got)
			}
			got.CPU, got.Peak = 0, 0
			if tt.name == "orphans" {
				got.Alone = false // one of them may still be about to end
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told otherwise: %s", diff)
			}
			if code := l.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
		})
	}
}

// What outlives the program ends with it: the pipe that it holds is closed.
func TestDescendantsEnd(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		end          func(*launched)
	}{
		{"with the program", "(sleep 1000 &) ; exit 0", func(*launched) {}},
		{"with the ring", "(sleep 1000 &) ; sleep 1000", func(l *launched) { l.control.Close() }},
		{"with init", "(sleep 1000 &) ; sleep 1000", func(l *launched) { l.kill() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, out := shell(t, tt.script, nil)
			tt.end(l)
			// Reads to the end, which comes when no process has the other one.
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Error(err)
			}
		})
	}
}

// A limit of all processes together, or of time, ends the guest and is named.
func TestLimitsOfAll(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		change             func(*initproto.Order)
	}{
		{"processor time of two", "while :; do :; done & while :; do :; done", "cpu", func(o *initproto.Order) { o.CPU = 300 }},
		{"wall time", "sleep 1000", "wall", func(o *initproto.Order) { o.Wall = 100 }},
		{"the kernel's own", "while :; do :; done", "cpu", func(o *initproto.Order) {
			i := slices.IndexFunc(o.Limits, func(l initproto.Limit) bool { return l.Resource == unix.RLIMIT_CPU })
			o.Limits[i].Value = 1
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := shell(t, tt.script, tt.change)
			if got := l.told(); !got.Ended || got.Limit != tt.want || got.Signal != int(unix.SIGKILL) {
				t.Errorf("told %+v, want ended by the limit %s", got, tt.want)
			}
			l.wait()
		})
	}
}

// The ring asks what was used so far, and hears of what others have waited for
// too.
func TestUsage(t *testing.T) {
	// The shell stays, and with it its memory: the kernel counts that of a process
	// which has just executed another program only in steps of many pages.
	l, out := shell(t, "(for ((i=0;i<200000;i++)); do :; done); echo done; sleep 1000; :", nil)
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	l.send(initproto.Ask{What: initproto.AskUsage})
	if got := l.told(); got.Ended || got.CPU <= 0 || got.Peak <= 0 {
		t.Errorf("told %+v, want processor time and memory", got)
	}
	l.send(initproto.Ask{What: "else"})
	var none initproto.Told
	if _, err := l.receive(&none); !errors.Is(err, io.EOF) {
		t.Errorf("a question that nobody knows is answered with %+v, %v; want the end", none, err)
	}
	l.wait()
}

// A fork bomb meets its limit, and init goes on to answer.
func TestForkBomb(t *testing.T) {
	l, out := shell(t, `for ((i=0;i<100;i++)); do sleep 1000 & done`, nil)
	said, b := "", make([]byte, 512)
	for !strings.Contains(said, "fork") {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("a hundred processes are there, and the shell says %q: %v", said, err)
		}
		said += string(b[:n])
	}
	l.send(initproto.Ask{What: initproto.AskUsage})
	if got := l.told(); got.Ended {
		t.Errorf("told %+v, want what was used", got)
	}
}

// A network of one's own has loopback, up, and nothing else.
func TestNetworkOwn(t *testing.T) {
	l, out := shell(t, `exec 3<>/dev/udp/127.0.0.1/9 && echo up; exec 4<>/dev/tcp/192.0.2.1/80 || echo away; cat /proc/self/net/route`, func(o *initproto.Order) {
		own := orderOf(t, profiles.Kernel{Network: initproto.NetworkOwn}, "/usr/bin/bash")
		o.Network, o.Filter = own.Network, own.Filter
	})
	b, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	said := string(b)
	if !strings.Contains(said, "up\n") || !strings.Contains(said, "unreachable") || !strings.Contains(said, "away\n") ||
		strings.Count(said, "00000000") > 0 {
		t.Errorf("the shell says %q", said)
	}
	l.wait()
}

func TestNetworkOff(t *testing.T) {
	l, out := shell(t, `exec 3<>/dev/udp/127.0.0.1/9 || echo none; exec 3<>/dev/tcp/127.0.0.1/9 || echo none`, nil)
	b, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if said := string(b); strings.Count(said, "none\n") != 2 ||
		strings.Count(said, "socket: Address family not supported by protocol") != 2 {
		t.Errorf("the shell says %q", said)
	}
	l.wait()
}
