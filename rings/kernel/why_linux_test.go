package kernel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// What the ring knows of a guest that did not start is said to whoever runs the
// program, and no path of the host with it that the policy does not name.
func TestWhyNoGuest(t *testing.T) {
	r := pooled(t, 0)
	secret := t.TempDir()
	many := program("/usr/bin/true")
	for range 70 << 10 {
		many.Argv = append(many.Argv, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
	}
	for _, tt := range []struct {
		name string
		spec executors.Spec
		want []string
	}{
		{"a program that is not there", program("/usr/bin/no-such-program"), []string{"could not be started", "/usr/bin/no-such-program"}},
		{"arguments without an end", many, []string{"could not be started"}},
		{"a folder that is not there", func() executors.Spec { s := program("/usr/bin/true"); s.Dir = "/no/such/folder"; return s }(),
			[]string{"could not be started", "/no/such/folder", "no such file"}},
		{"a path that is not there", func() executors.Spec {
			s := program("/usr/bin/true")
			s.Kernel.Read = granted("/no/such/file")
			return s
		}(), []string{"could not be started", "/no/such/file"}},
		{"its executor's own", func() executors.Spec {
			s := program("/usr/bin/true")
			s.Own = []profiles.PathRule{{Path: secret + "/none"}}
			return s
		}(), []string{"own folder"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := r.Launch(t.Context(), tt.spec)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it started"), g.Kill(), abandoned(g)))
			}
			why := executors.Why(err)
			for _, want := range tt.want {
				if !strings.Contains(why, want) {
					t.Errorf("%q, want %q in it; the error is %v", why, want, err)
				}
			}
			if strings.Contains(why, secret) {
				t.Errorf("%q tells of the host", why)
			}
		})
	}
}

// What a guest's process ended by is known when it is gone.
func TestFell(t *testing.T) {
	r := pooled(t, 0)
	for _, tt := range []struct{ script, want string }{
		{"exit 3", "exited with code 3"},
		{"kill -SEGV $$", "signal 11"},
		{"kill -SYS $$", "forbidden system call"},
		{"kill -KILL $$", "was killed"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			s := program("/usr/bin/bash")
			s.Argv = append(s.Argv, "-c", tt.script)
			g, err := r.Launch(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			end(t, g)
			if err := errors.Join(g.Kill(), abandoned(g)); err != nil {
				t.Fatal(err)
			}
			if got := g.(executors.Fallen).Fell(); !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
