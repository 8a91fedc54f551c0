package guestinit_test

import (
	"os/exec"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// BenchmarkTrue is a cold start, from the fork of init to the end of the program.
func BenchmarkTrue(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			o := orderOf(b, profiles.Kernel{TempBytes: 1 << 20}, "/usr/bin/true")
			o.Reap = m.reap
			argv := initOf(b, m.reap)
			for b.Loop() {
				l := launch(b, argv...)
				l.send(o)
				l.stands()
				l.send(initproto.Go{Argv: []string{"/usr/bin/true"}})
				if code := l.wait(); code != 0 {
					b.Fatalf("exit code %d", code)
				}
			}
		})
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		b.Run("bwrap", func(b *testing.B) {
			for b.Loop() {
				c := exec.Command(path, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
					"--ro-bind", "/usr/bin/true", "/usr/bin/true",
					"--ro-bind", "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2", "--ro-bind", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6",
					"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "/usr/bin/true")
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
