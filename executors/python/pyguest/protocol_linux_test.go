package pyguest_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// frame is the bytes of one, whether it means anything or not.
func frame(kind byte, body ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), kind), body...)
}

func field(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// exits waits until a process has ended by itself, and returns its exit code.
func exits(t *testing.T, p *process) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	return p.cmd.ProcessState.ExitCode()
}

// waitFor reads messages until one of that type comes.
func waitFor[M executors.Message](t *testing.T, s *executors.Stream) {
	t.Helper()
	for {
		m, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(M); ok {
			return
		}
	}
}

// exitBroken is the exit code of a guest whose host does not keep the protocol.
const exitBroken = 76

// TestMalformed sends a guest what no host says: it ends, and says why.
func TestMalformed(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		o, err := json.Marshal(options(t))
		if err != nil {
			t.Fatal(err)
		}
		program := append(field(o), field([]byte("import ringd\nringd.call('x')"))...)
		for name, c := range map[string]struct {
			bytes []byte
			runs  bool // a program runs, and has asked
			want  string
		}{
			"unknown kind":         {frame(99), false, "a frame of kind 99"},
			"kind of a guest":      {frame(129, 0), false, "a frame of kind 129"},
			"second hello":         {frame(1, 2, 0), false, "a frame of kind 1 out of order"},
			"pause":                {frame(4, 0, 0), false, "a frame of kind 4"},
			"restore":              {frame(5, 0, 0, 0, 0), false, "a frame of kind 5"},
			"too large":            {[]byte{1, 0, 0, 1, 2}, false, "a frame of 16777217 bytes"},
			"field over the end":   {frame(2, 5, 'x'), false, "a field that is longer than its frame"},
			"field missing":        {frame(2, 1, 'x'), false, "a number without an end"},
			"bytes behind":         {frame(2, append(program, 0)...), false, "1 bytes behind the last field"},
			"number without end":   {frame(7, 0x80), false, "a number without an end"},
			"long number":          {frame(7, 0x81, 0x80, 0), false, "a number that is not in its shortest form"},
			"huge number":          {frame(7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), false, "a number that is not in its shortest form"},
			"answer to nothing":    {frame(3, 1, 0, 0, 0), false, "an answer to call 1, which is not open"},
			"answer to another":    {frame(3, 2, 0, 0, 0), true, "an answer to call 2, which is not open"},
			"answer twice":         {append(frame(3, 1, 0, 0, 0), frame(3, 1, 0, 0, 0)...), true, "an answer to call 1, which is not open"},
			"start while it runs":  {frame(2, program...), true, "a frame of kind 2 out of order"},
			"name too long":        {frame(3, append(append([]byte{1, 0}, field([]byte(strings.Repeat("x", 257)))...), 0)...), true, "a name of 257 bytes"},
			"options are not JSON": {frame(2, 1, 'x', 0), false, "the options of a program cannot be read"},
			"options lack a field": {frame(2, 2, '{', '}', 0), false, "the options of a program cannot be read"},
			"update is not JSON":   {frame(7, 1, 1, 'x'), false, "an update cannot be applied"},
		} {
			t.Run(name, func(t *testing.T) {
				_, p := dial(t, python, pyproto.Settings{})
				if c.runs {
					if _, err := p.Write(frame(2, program...)); err != nil {
						t.Fatal(err)
					}
					waitFor[executors.Ask](t, executors.NewStream(p, executors.HostSide))
				}
				if _, err := p.Write(c.bytes); err != nil {
					t.Fatal(err)
				}
				if code := exits(t, p); code != exitBroken || !strings.Contains(p.stderr.String(), c.want) {
					t.Errorf("exit code %d, it said %q, want %q", code, p.stderr, c.want)
				}
			})
		}
	})
}

// TestPieces sends frames byte by byte.
func TestPieces(t *testing.T) {
	python := interpreters(t)[0]
	_, p := dial(t, python, pyproto.Settings{})
	o, err := json.Marshal(options(t))
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		for i := range b {
			if _, err := p.Write(b[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(frame(2, append(field(o), field([]byte("import ringd\nringd.call('x')"))...)...))
	s := executors.NewStream(p, executors.HostSide)
	next := func() executors.Message {
		m, err := s.Read()
		if err != nil {
			t.Fatalf("%v: %s", err, p.stderr)
		}
		return m
	}
	if u, ok := next().(executors.Updated); !ok || u.Seq != 0 { // the program begins
		t.Errorf("%+v", u)
	}
	m := next()
	if a, ok := m.(executors.Ask); !ok || a.Call != 1 || a.Bridge != "x" || string(a.Args) != "[]" {
		t.Errorf("%T %+v", m, m)
	}
	if i, ok := next().(executors.Idle); !ok || i.Seen != 0 {
		t.Errorf("%+v", i)
	}
	write(frame(3, 1, 3, '"', 'v', '"', 0, 0))
	if r, ok := next().(executors.Result); !ok || string(r.Value) != `"v"` {
		t.Errorf("%+v %s", r, r.Value)
	}
}

// TestLarge sends the largest argument, and answers with it.
func TestLarge(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		o := options(t)
		out := run(t, python, o, "import ringd\nv = 'x' * (16 * 1024 * 1024 - 2048)\n[ringd.call('echo', v)[0] == v "+
			"for _ in range(2)]", nil)
		want(t, out, "[true,true]")
	})
}

// TestGone closes the connection: the process ends whatever it does.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, program := range map[string]string{
			"ready":      "",
			"in a call":  "import ringd\nringd.call('x')",
			"in a loop":  "import ringd, asyncio\nasync def main(): await ringd.aio.call('x')\nasyncio.run(main())",
			"in a while": "import ringd, time\nwhile True:\n    time.sleep(0.001)\n    import json",
		} {
			t.Run(name, func(t *testing.T) {
				_, p := dial(t, python, pyproto.Settings{})
				if program != "" {
					o, err := json.Marshal(options(t))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := p.Write(frame(2, append(field(o), field([]byte(program))...)...)); err != nil {
						t.Fatal(err)
					}
					s := executors.NewStream(p, executors.HostSide)
					if name == "in a while" {
						waitFor[executors.Updated](t, s) // the program begins
					} else {
						waitFor[executors.Ask](t, s)
					}
				}
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				if code := exits(t, p); code != 0 || p.stderr.String() != "" {
					t.Errorf("exit code %d, it said %q", code, p.stderr)
				}
			})
		}
	})
}

// TestHello shows how a guest answers a greeting.
func TestHello(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		h := hello(t, python, pyproto.Settings{})
		l, _ := dial(t, python, pyproto.Settings{})
		r := l.Ready()
		if r.Version != executors.ProtocolVersion || r.Executor != profiles.ExecutorPython ||
			!strings.HasPrefix(r.Digest, pyproto.Engine+" cpython-3.") || r.Unavailable != "" {
			t.Errorf("ready %+v", r)
		}

		other := h
		other.Version = executors.ProtocolVersion + 1
		p := spawn(t, python, pyguest.Launcher)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := executors.Dial(ctx, config(), p, other)
		var u *executors.Unavailable
		if !errors.As(err, &u) || u.Text != "the guest speaks version 2 of the protocol, not 3" {
			t.Errorf("another version: %v: %s", err, p.stderr)
		}

		for name, b := range map[string][]byte{
			"not a hello":    frame(2, 0, 0),
			"too large":      {2, 0, 0, 0, 1},
			"no settings":    frame(1, 2, 0),
			"bytes behind":   frame(1, append(append([]byte{2}, field(h.Settings)...), 7)...),
			"no JSON":        frame(1, append([]byte{2}, field(append([]byte{0, 0, 0, 1, 'x'}, h.Settings[4+binary.BigEndian.Uint32(h.Settings):]...))...)...),
			"no code":        frame(1, append([]byte{2}, field(h.Settings[:20])...)...),
			"the end of one": frame(1, 2, 0x80)[:6],
		} {
			p := spawn(t, python, pyguest.Launcher)
			if _, err := p.Write(b); err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			code := exits(t, p)
			if clean := name == "the end of one"; clean != (code == 0) {
				t.Errorf("%s: exit code %d: %s", name, code, p.stderr)
			}
		}
	})
}

// TestForked shows that the child of a fork does not speak for the program: that is
// refused by guard and ring, and holds without them.
func TestForked(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		o := options(t)
		o.Unguarded = true
		out := run(t, python, o, `
import os, ringd
r, w = os.pipe()
if os.fork() == 0:
    try: ringd.call("x")
    except ringd.BridgeError as e: os.write(w, str(e).encode())
    os._exit(0)
os.close(w)
os.wait()
[os.read(r, 1000).decode(), ringd.call("echo", 1)[0]]`, nil)
		want(t, out, `["[Errno 9] the connection belongs to another process",1]`)
	})
}

// TestReplaced shows that a program which puts something else in place of the
// connection ends with it.
func TestReplaced(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		l, p := dial(t, python, pyproto.Settings{})
		program := `
import os, socket
a, b = socket.socketpair()
kept = os.dup(3)
os.dup2(a.fileno(), 3)
b.sendall(bytes([0, 0, 0, 3, 7, 1, 1, 120]))
import json
print("it goes on")`
		_, _, err := l.Run(t.Context(), work(t, options(t), program), quickHost{})
		if err == nil || strings.Contains(p.stdout.String(), "it goes on") ||
			!strings.Contains(p.stderr.String(), "the connection is gone") {
			t.Errorf("%v %q %q", err, p.stdout, p.stderr)
		}
	})
}

// TestNothingIsShown looks for what the guest was told in what a process shows.
func TestNothingIsShown(t *testing.T) {
	python := interpreters(t)[0]
	o := options(t)
	o.Profile.Advice = "the secret of the policy"
	out := run(t, python, o, "print(open('/proc/self/cmdline').read(), open('/proc/self/environ').read())", nil)
	if out.State != executors.StateDone || strings.Contains(out.stdout, "secret") ||
		!strings.Contains(out.stdout, "posix") {
		t.Errorf("%s %+v %q", out.State, out.Error, out.stdout)
	}
}
