// Command lab makes a guest that has namespaces, a tree of its own and nothing
// else: no Landlock, no filter, no limits, memory that may become executable.
// The tests start probes in it to show that what a guest is refused can be done
// where the layer is missing. It runs as the first process of namespaces that a
// test made, and nowhere else: exit 97.
//
//	lab JSON
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lab is what the test asks for.
type Lab struct {
	Token string
	Dir   string // an empty folder of the host, where the tree is made
	Binds []Bind
	Links map[string]string // path -> text
	Caps  bool              // keep the capabilities of the user namespace
	NoPID bool              // there is no PID namespace
	Argv  []string
	Env   []string
}

// Bind is one file or folder of the host, at Path in the lab. What is not the
// test's own is read-only.
type Bind struct {
	From, Path string
	Own        bool
}

func main() {
	runtime.LockOSThread()
	var l Lab
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &l) != nil {
		os.Exit(97)
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(users)); err != nil || len(f) < 3 || f[2] == "4294967295" ||
		(!l.NoPID && os.Getpid() != 1) || len(l.Token) < 16 {
		os.Exit(97)
	}
	if err := l.build(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(98)
	}
	fmt.Fprintln(os.Stderr, "lab:", syscall.Exec(l.Argv[0], l.Argv, l.Env))
	os.Exit(99)
}

func (l *Lab) build() error {
	if err := unix.Sethostname([]byte("guest-" + l.Token)); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private: %w", err)
	}
	if err := unix.Mount("lab", l.Dir, "tmpfs", 0, "mode=0777"); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	for _, d := range []string{"proc", "dev", "dev/shm", "tmp", "usr", "etc", "root"} {
		if err := os.MkdirAll(filepath.Join(l.Dir, d), 0o777); err != nil {
			return err
		}
	}
	for _, b := range l.Binds {
		if err := l.bind(b); err != nil {
			return fmt.Errorf("bind %s: %w", b.From, err)
		}
	}
	for path, to := range l.Links {
		if err := os.Symlink(to, filepath.Join(l.Dir, path)); err != nil {
			return err
		}
	}
	if l.NoPID {
		if err := unix.Mount("/proc", filepath.Join(l.Dir, "proc"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("proc: %w", err)
		}
	} else if err := unix.Mount("proc", filepath.Join(l.Dir, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := os.Chdir(l.Dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if l.Caps {
		return nil
	}
	return drop()
}

func (l *Lab) bind(b Bind) error {
	st, err := os.Stat(b.From)
	if err != nil {
		return err
	}
	to := filepath.Join(l.Dir, b.Path)
	if st.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(b.From, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || b.Own {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// drop gives up all capabilities, for good.
func drop() error {
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break
		}
	}
	// As uid 0 an exec would give them back.
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, 0x1|0x2, 0, 0, 0); err != nil {
		return fmt.Errorf("securebits: %w", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capset(&hdr, &data[0])
}
