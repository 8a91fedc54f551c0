package guestinit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// modes are the two ways of an init.
var modes = []struct {
	name string
	reap bool
}{{"becomes the program", false}, {"stays", true}}

func TestTrue(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l, r := standing(t, m.reap, orderOf(t, profiles.Kernel{}, "/usr/bin/true"))
			if len(r.Proved) < 18 || r.ABI < 1 {
				t.Errorf("proved %q with version %d of Landlock", r.Proved, r.ABI)
			}
			l.run("/usr/bin/true")
			if m.reap {
				if got := l.told(); !got.Started {
					t.Errorf("told %+v, want started", got)
				}
				if got := l.told(); !got.Ended || got.Code != 0 || got.Signal != 0 {
					t.Errorf("told %+v, want ended with 0", got)
				}
			}
			if code := l.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func (l *launched) told() (t initproto.Told) {
	l.t.Helper()
	if _, err := l.receive(&t); err != nil {
		l.t.Fatalf("not told: %v", err)
	}
	return t
}

// workspace is a folder of the test that the guest's user owns, readable for it
// on the way.
func workspace(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "ringd-enclose")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	own(t, dir)
	return dir
}

// own gives a file of the test to the guest's user.
func own(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if os.Getuid() == 0 {
			if err := os.Chown(p, guestID, guestID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	own(t, filepath.Dir(path), path)
	return path
}

// tools are what the scripts of these tests start.
var tools = []string{"/usr/bin/cat", "/usr/bin/ls", "/usr/bin/cp", "/usr/bin/id", "/usr/bin/env", "/usr/bin/sleep",
	"/usr/bin/mkdir", "/usr/bin/hostname"}

// The tree of a guest has what was granted as it was granted, and nothing else.
func TestTree(t *testing.T) {
	dir := workspace(t)
	read, work := filepath.Join(dir, "read"), filepath.Join(dir, "work")
	write(t, filepath.Join(read, "a"), "alpha\n")
	write(t, filepath.Join(read, "deep", "b"), "beta\n")
	write(t, filepath.Join(read, "secret", "key"), "hidden\n")
	write(t, filepath.Join(read, "token"), "hidden\n")
	write(t, filepath.Join(read, "inbox", "c"), "gamma\n")
	write(t, filepath.Join(work, "d"), "delta\n")
	write(t, filepath.Join(dir, "other"), "outside\n")
	k := profiles.Kernel{
		Exec: rules(tools...), Read: rules(read),
		Write: rules(work, filepath.Join(read, "inbox")), Deny: rules(
			filepath.Join(read, "secret"), filepath.Join(read, "token")),
		TempBytes: 1 << 20,
	}
	k.Read = append(k.Read, k.Write...)
	for _, tt := range []struct{ name, script, want string }{
		{"read a file", "cat $R/a $R/deep/b", "alpha\nbeta\n"},
		{"change what is read", "echo x > $R/a; echo $?", "1\n"},
		{"make a file where one reads", "echo x > $R/n; echo $?", "1\n"},
		{"a hidden folder", "cat $R/secret/key; ls $R/secret; echo $?", "2\n"},
		{"a hidden file", "cat $R/token; echo $?", "1\n"},
		{"replace a hidden file", "echo x > $R/token; echo $?", "1\n"},
		{"write", "echo x > $W/n && cat $W/n", "x\n"},
		{"write in a folder below one that is read", "echo y > $R/inbox/c && cat $R/inbox/c", "y\n"},
		{"what was not granted", "cat $D/other; echo $?", "1\n"},
		{"its folder", "ls $D; echo $?", "2\n"},
		{"the password file", "cat /etc/passwd; echo $?", "1\n"},
		{"start a copy", "cp /usr/bin/true $W/copy 2>/dev/null; cat /usr/bin/id > $W/copy; $W/copy; echo $?", "126\n"},
		{"start a script", "echo 'echo ran' > $W/s; $W/s; echo $?", "126\n"},
		{"start what is not granted", "/usr/bin/du; echo $?", "127\n"},
		{"start a copy through the loader", "cat /usr/bin/id > $W/copy; /lib64/ld-linux-x86-64.so.2 $W/copy; echo $?", "127\n"},
		{"temporary files", "echo z > /tmp/t && cat /tmp/t; cat /usr/bin/id > /tmp/i; /tmp/i; echo $?", "z\n126\n"},
		{"a file beyond the limit", "cat /dev/zero > /tmp/big; echo $?", "153\n"}, // SIGXFSZ
		{"devices", "echo x > /dev/null; echo $?; echo x > /dev/full; echo $?; cat < /dev/null; ls /dev/sda; echo $?", "0\n1\n2\n"},
		{"its standard input by name", "echo in | cat /dev/stdin", "in\n"},
		{"the root", "mkdir /x; echo $?; ls /; echo $?", "1\n2\n"},
		{"the canary", "cat /.canary; echo $?", "1\n"},
		{"facts of the host", "ls /proc/sys /proc/kcore; echo $?; ls /sys; echo $?", "2\n2\n"},
		{"the memory of oneself", "echo x > /proc/self/mem; echo $?", "1\n"},
		{"the memory of init", "cat /proc/1/mem /proc/1/environ; echo $?", "1\n"},
		{"its name", "hostname", "guest-0123456789abcdef\n"},
		{"no capability", "cat /proc/self/status | while read -r k v; do case $k in Cap*|NoNew*|Seccomp:) echo $k $v;; esac; done",
			"CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\n" +
				"CapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"},
		{"its descriptors", "ls /proc/self/fd | while read -r f; do [ $f -gt 3 ] && echo $f; done; echo done", "done\n"},
		{"its folder", "pwd", "/\n"},
		{"its mask", "umask", "0022\n"},
		{"its environment", "env -u _ -u PWD -u SHLVL -u OLDPWD", "GIVEN=yes\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := launch(t, initOf(t, true)...)
			o := orderOf(t, k, "/usr/bin/bash")
			o.Reap = true
			l.send(o)
			l.stands()
			vars := fmt.Sprintf("R=%s; W=%s; D=%s; PATH=/usr/bin; ", read, work, dir)
			got := l.runWith(initproto.Go{Argv: []string{"/usr/bin/bash", "--norc", "-c", vars + tt.script},
				Env: []string{"GIVEN=yes"}}, "")
			if got.out != tt.want {
				t.Errorf("%s\ngives %q, want %q\n%s", tt.script, got.out, tt.want, got.err)
			}
		})
	}
}

// What changed since the policy was prepared is refused, and so is a way that
// leads through a link.
func TestPathsChanged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
	}{
		{"another file of the name", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "new"), "b")
			rename(t, filepath.Join(dir, "new"), filepath.Join(dir, "sub", "file"))
		}},
		{"a link to another", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "new"), "b")
			remove(t, filepath.Join(dir, "sub", "file"))
			link(t, "../new", filepath.Join(dir, "sub", "file"))
		}},
		{"a link to itself elsewhere", func(t *testing.T, dir string) {
			rename(t, filepath.Join(dir, "sub", "file"), filepath.Join(dir, "file"))
			link(t, "../file", filepath.Join(dir, "sub", "file"))
		}},
		{"a folder on the way is a link", func(t *testing.T, dir string) {
			rename(t, filepath.Join(dir, "sub"), filepath.Join(dir, "moved"))
			link(t, "moved", filepath.Join(dir, "sub"))
		}},
		{"a folder of the name", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "sub", "file"))
			if err := os.Mkdir(filepath.Join(dir, "sub", "file"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"nothing", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "sub", "file")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t)
			file := write(t, filepath.Join(dir, "sub", "file"), "a")
			o := orderOf(t, profiles.Kernel{Read: rules(file)}, "/usr/bin/true")
			tt.change(t, dir)
			l := launch(t)
			l.send(o)
			r := l.report()
			if r.Failed != initproto.LayerMounts || r.Kind != initproto.KindFault || !strings.Contains(r.Step, file) {
				t.Errorf("report %+v, want a fault of the mounts that names %s", r, file)
			}
			if code := l.wait(); code != 125 {
				t.Errorf("exit code %d, want 125", code)
			}
		})
	}
}

// A place below a granted folder that changes while init works is not where
// something is mounted.
func TestNestedChanged(t *testing.T) {
	dir := workspace(t)
	secret := filepath.Join(dir, "secret")
	write(t, filepath.Join(secret, "key"), "hidden\n")
	o := orderOf(t, profiles.Kernel{Read: rules(dir), Deny: rules(secret)}, "/usr/bin/true")
	rename(t, secret, filepath.Join(dir, "moved"))
	link(t, "moved", secret)
	l := launch(t)
	l.send(o)
	if r := l.report(); r.Failed != initproto.LayerMounts || r.Kind != initproto.KindFault {
		t.Errorf("report %+v, want a fault of the mounts", r)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, p string) {
	t.Helper()
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, text, at string) {
	t.Helper()
	if err := os.Symlink(text, at); err != nil {
		t.Fatal(err)
	}
}

// The program is the user that was ordered, and no other.
func TestUser(t *testing.T) {
	l := launch(t)
	o := orderOf(t, profiles.Kernel{Exec: rules("/usr/bin/id")}, "/usr/bin/id")
	l.send(o)
	l.stands()
	got := l.run("/usr/bin/id", "-u").out
	if want := fmt.Sprintln(o.UID); got != want {
		t.Errorf("user %q, want %q", got, want)
	}
}

// The connection is descriptor 3, and a guest that seals itself keeps the control
// socket; others do not.
func TestDescriptors(t *testing.T) {
	for _, seal := range []bool{false, true} {
		t.Run(fmt.Sprint(seal), func(t *testing.T) {
			l := launch(t)
			o := orderOf(t, profiles.Kernel{Exec: rules("/usr/bin/ls")}, "/usr/bin/ls")
			o.Seal = seal
			l.send(o)
			l.stands()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			n := int(null.Fd())
			l.send(initproto.Go{Argv: []string{"/usr/bin/ls", "/proc/self/fd"}, Files: 4}, n, int(w.Fd()), n, n)
			w.Close()
			null.Close()
			b := make([]byte, 256)
			at, err := r.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"0", "1", "2", "3", "4"} // the last is the folder itself
			if seal {
				want = append(want, "5")
			}
			if got := strings.Fields(string(b[:at])); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("descriptors %q, want %q", got, want)
			}
		})
	}
}

// What cannot be started is said, and the guest is over.
func TestNotStarted(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l, _ := standing(t, m.reap, orderOf(t, profiles.Kernel{}, "/usr/bin/true"))
			l.run("/usr/bin/false")
			if got := l.told(); !strings.Contains(got.Failed, "/usr/bin/false") || got.Started {
				t.Errorf("told %+v, want that /usr/bin/false is not there", got)
			}
			if code := l.wait(); code != 125 {
				t.Errorf("exit code %d, want 125", code)
			}
		})
	}
}

// An init whose ring is gone before it says Go ends, and nothing runs.
func TestNoGo(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l, _ := standing(t, m.reap, orderOf(t, profiles.Kernel{}, "/usr/bin/true"))
			l.control.Close()
			if code := l.wait(); code != 125 {
				t.Errorf("exit code %d, want 125", code)
			}
		})
	}
}

// The late limits hold for the program, though init could not live with them.
func TestLateLimits(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l, _ := standing(t, m.reap, orderOf(t, profiles.Kernel{Exec: rules("/usr/bin/cat")}, "/usr/bin/bash"))
			got := l.run("/usr/bin/bash", "-c", "ulimit -v; ulimit -Hd; ulimit -n; ulimit -c; ulimit -f")
			if want := fmt.Sprintf("%d\n%d\n64\n0\n1024\n", 512<<10, 128<<10); got.out != want {
				t.Errorf("limits %q, want %q: %s", got.out, want, got.err)
			}
		})
	}
}

// A limit that the host does not let init set is a fault, with the limit's name.
func TestLimitRefused(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may set any limit")
	}
	var have syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_MSGQUEUE, &have); err != nil {
		t.Fatal(err)
	}
	l := launch(t)
	o := orderOf(t, profiles.Kernel{}, "/usr/bin/true")
	o.Limits = []initproto.Limit{{Name: "MSGQUEUE", Resource: unix.RLIMIT_MSGQUEUE, Value: have.Max + 1}}
	l.send(o)
	if r := l.report(); r.Failed != initproto.LayerLimits || !strings.Contains(r.Step, "MSGQUEUE") {
		t.Errorf("report %+v, want one of the limit MSGQUEUE", r)
	}
}

// A version of Landlock that this kernel has not is missing, by name.
func TestLandlockTooOld(t *testing.T) {
	l := launch(t)
	o := orderOf(t, profiles.Kernel{}, "/usr/bin/true")
	o.ABI = 99
	l.send(o)
	if r := l.report(); r.Failed != initproto.LayerLandlock || r.Kind != initproto.KindMissing ||
		!strings.Contains(r.Reason, "99") {
		t.Errorf("report %+v, want that version 99 of Landlock is missing", r)
	}
}
