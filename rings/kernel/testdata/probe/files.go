package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// files are probes of the tree. Arguments: ws, a workspace; lib, a granted file
// that may only be read; secret, a file of the host that is not granted.
func files() map[string]probe {
	return map[string]probe{
		"fs_read_shadow":   func(a args) string { return open("/etc/shadow", unix.O_RDONLY) },
		"fs_read_roothome": func(a args) string { return open("/root/.bashrc", unix.O_RDONLY) },
		"fs_stat_unlisted": func(a args) string { var st unix.Stat_t; return is(unix.Stat(a["secret"], &st)) },
		"fs_path_unlisted": func(a args) string { return open(a["secret"], unix.O_PATH) },
		"fs_access":        func(a args) string { return is(unix.Access(a["secret"], unix.R_OK)) },
		"fs_list_roothome": func(a args) string { return open("/root", unix.O_RDONLY|unix.O_DIRECTORY) },
		"fs_write_etc":     func(a args) string { return create("/etc/probe", 0o600) },
		"fs_write_usr":     func(a args) string { return create("/usr/probe", 0o600) },
		"fs_write_root":    func(a args) string { return create("/probe", 0o600) },
		"fs_mkdir_root":    func(a args) string { return is(unix.Mkdir("/probe", 0o700)) },
		"fs_trunc_lib":     func(a args) string { return open(a["lib"], unix.O_RDWR) },
		"fs_truncate_lib":  func(a args) string { return is(unix.Truncate(a["lib"], 1)) },
		"fs_chmod_lib":     func(a args) string { return is(unix.Chmod(a["lib"], 0o777)) },
		"fs_utimes_lib":    func(a args) string { return is(unix.Utimes(a["lib"], nil)) },
		"fs_chown_lib":     func(a args) string { return is(unix.Chown(a["lib"], -1, -1)) },
		"fs_setxattr_lib":  func(a args) string { return is(unix.Setxattr(a["lib"], "user.probe", []byte("x"), 0)) },
		"fs_unlink_lib":    func(a args) string { return is(unix.Unlink(a["lib"])) },
		"fs_rename_lib":    func(a args) string { return is(unix.Rename(a["lib"], a["lib"]+"x")) },
		"fs_unlink_grant":  func(a args) string { return is(unix.Rmdir(a["ws"])) },
		"fs_symlink_out":   func(a args) string { return through(a, a["secret"]) },
		"fs_symlink_proc":  func(a args) string { return through(a, "/proc/self/root"+a["secret"]) },
		"fs_hardlink_in":   func(a args) string { return is(unix.Link(a["lib"], filepath.Join(a["ws"], "hard"))) },
		"fs_hardlink_out": func(a args) string {
			return made(
				a, func(p string) string { return is(unix.Link(p, filepath.Join(filepath.Dir(a["lib"]), "probe"))) },
			)
		},
		"fs_rename_out": func(a args) string {
			return made(
				a, func(p string) string { return is(unix.Rename(p, filepath.Join(filepath.Dir(a["lib"]), "probe"))) },
			)
		},
		"fs_exchange_out": func(a args) string { return made(a, exchange(a["lib"])) },
		"fs_proc_root":    func(a args) string { return open("/proc/self/root"+a["secret"], unix.O_RDONLY) },
		"fs_proc_cwd": func(a args) string {
			return open(
				"/proc/self/cwd/../../../.."+a["secret"], unix.O_RDONLY,
			)
		},
		"fs_proc_task_root": func(a args) string { return open("/proc/thread-self/root"+a["secret"], unix.O_RDONLY) },
		"fs_proc1_root":     func(a args) string { return open("/proc/1/root"+a["secret"], unix.O_RDONLY) },
		"fs_proc1_cwd":      func(a args) string { return open("/proc/1/cwd"+a["secret"], unix.O_RDONLY) },
		"fs_proc1_mem":      func(a args) string { return open("/proc/1/mem", unix.O_RDWR) },
		"fs_proc1_environ":  func(a args) string { return read("/proc/1/environ") },
		"fs_proc1_fd":       func(a args) string { return open("/proc/1/fd", unix.O_RDONLY|unix.O_DIRECTORY) },
		"fs_dotdot":         func(a args) string { return open("/../../../.."+a["secret"], unix.O_RDONLY) },
		"fs_inherited_fd":   inherited,
		"fs_cwd_escape": func(a args) string {
			return first(is(unix.Chdir("..")), is(unix.Chdir("../..")), open("."+a["secret"], unix.O_RDONLY))
		},
		"fs_mknod": func(a args) string {
			return is(
				unix.Mknod(filepath.Join(a["ws"], "null"), unix.S_IFCHR|0o666, 1<<8|3),
			)
		},
		"fs_mknod_block": func(a args) string {
			return is(
				unix.Mknod(filepath.Join(a["ws"], "disk"), unix.S_IFBLK|0o666, 254<<8),
			)
		},
		"fs_mkfifo": func(a args) string { return is(unix.Mkfifo(filepath.Join(a["ws"], "fifo"), 0o600)) },
		"fs_suid_create": func(a args) string {
			return made(
				a, func(p string) string { return is(unix.Chmod(p, 0o4755)) },
			)
		},
		"fs_sgid_fchmod": sgid,
		"fs_suid_fchmodat2": func(a args) string {
			return made(a, func(p string) string { return sys(452, at(), text(p), 0o4755, 0) })
		},
		"fs_suid_openmode": func(a args) string { return create(filepath.Join(a["ws"], "suid"), 0o4755) },
		"fs_suid_mkdir":    func(a args) string { return is(unix.Mkdir(filepath.Join(a["ws"], "sgid"), 0o2777)) },
		"fs_suid_mknod": func(a args) string {
			return is(
				unix.Mknod(filepath.Join(a["ws"], "node"), unix.S_IFREG|0o4755, 0),
			)
		},
		"fs_suid_openat2": func(a args) string {
			return openat2(filepath.Join(a["ws"], "s2"), unix.O_CREAT|unix.O_WRONLY, 0o4755, 0)
		},
		"fs_openat2_beneath": func(a args) string {
			return openat2(a["secret"], unix.O_RDONLY, 0, 0)
		},
		"fs_openat2_root": func(a args) string { return openat2(a["secret"], unix.O_RDONLY, 0, unix.RESOLVE_IN_ROOT) },
		"fs_openat2_magic": func(a args) string {
			return openat2("/proc/self/root"+a["secret"], unix.O_RDONLY, 0, unix.RESOLVE_NO_SYMLINKS)
		},
		"fs_openat2_cached": func(a args) string {
			return openat2(
				a["secret"], unix.O_RDONLY, 0, 0x20 /* RESOLVE_CACHED */)
		},
		"fs_setxattr_cap": func(a args) string { return made(a, capability) },
		"fs_setxattr_trusted": func(a args) string {
			return made(a, func(p string) string { return is(unix.Setxattr(p, "trusted.x", []byte("x"), 0)) })
		},
		"fs_chown_work": func(a args) string {
			return made(
				a, func(p string) string { return is(unix.Chown(p, 0, 0)) },
			)
		},
		"fs_tmpfile_link":   tmpfile,
		"fs_open_by_handle": byHandle,
		"fs_write_work": func(a args) string {
			return made(a, func(p string) string { return is(os.WriteFile(p, []byte("x"), 0o600)) })
		},
		"fs_read_lib":    func(a args) string { return open(a["lib"], unix.O_RDONLY) },
		"fs_fsize":       fsize,
		"fs_fallocate":   func(a args) string { return made(a, allocate) },
		"fs_deny_nested": func(a args) string { return open(a["denied"], unix.O_RDONLY) },
		"fs_deny_write":  func(a args) string { return create(a["denied"], 0o600) },
		"fs_deny_rename_over": func(a args) string {
			return made(
				a, func(p string) string { return is(unix.Rename(p, a["denied"])) },
			)
		},
		"fs_deny_rename_away": func(a args) string {
			return is(
				unix.Rename(a["denied"], filepath.Join(a["ws"], "away")),
			)
		},
		"fs_deny_hardlink":    func(a args) string { return is(unix.Link(a["denied"], filepath.Join(a["ws"], "h"))) },
		"fs_deny_parent_away": denyParent,
		"fs_reopen_rw":        reopen,
		"fs_inotify_host":     func(a args) string { return watch(a["secret"]) },
		"fs_dnotify":          dnotify,
		"fs_lease":            lease,
		"fs_statmount":        func(a args) string { return mounts(a["secret"]) },
		"fs_overlay_canary":   func(a args) string { return open("/etc/passwd", unix.O_RDONLY) },
		"fs_name_to_handle":   func(a args) string { return handle("/") },
		"fs_swapon": func(a args) string {
			return sys(
				unix.SYS_SWAPON, text(filepath.Join(a["ws"], "none")), 0,
			)
		},
		"fs_quotactl":          func(a args) string { return sys(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0) },
		"fs_acct":              func(a args) string { return sys(unix.SYS_ACCT, text(filepath.Join(a["ws"], "none"))) },
		"fs_sticky_tmp_others": func(a args) string { return open("/tmp/"+filepath.Base(a["secret"]), unix.O_RDONLY) },
	}
}

func at() uintptr { v := unix.AT_FDCWD; return uintptr(v) }

// text is a string for the kernel. It stays reachable: the process is short.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kept [][]byte

func create(path string, mode uint32) string {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err == nil {
		unix.Close(fd)
	}
	return is(err)
}

func read(path string) string {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > 0 {
		return "content"
	}
	return is(err)
}

// made calls f with a new file of the workspace.
func made(a args, f func(path string) string) string {
	p := filepath.Join(a["ws"], fmt.Sprintf("made-%d", os.Getpid()))
	if r := create(p, 0o600); r != "ok" {
		return r
	}
	defer os.Remove(p)
	return f(p)
}

func through(a args, to string) string {
	l := filepath.Join(a["ws"], "evil")
	_ = os.Remove(l)
	if err := os.Symlink(to, l); err != nil {
		return is(err)
	}
	defer os.Remove(l)
	return open(l, unix.O_RDONLY)
}

func exchange(with string) func(string) string {
	return func(p string) string {
		return is(unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, with, unix.RENAME_EXCHANGE))
	}
}

// inherited looks for any descriptor that the starter had: 5 to 300.
func inherited(args) string {
	for fd := 5; fd < 300; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFIFO {
			to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			if to == "anon_inode:[eventpoll]" || to == "anon_inode:[eventfd]" {
				continue // of the Go runtime
			}
			fmt.Fprintf(os.Stderr, "%d is %s\n", fd, to)
			return "inherited"
		}
	}
	return "EBADF"
}

func sgid(a args) string {
	return made(a, func(p string) string {
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			return is(err)
		}
		defer f.Close()
		return is(unix.Fchmod(int(f.Fd()), 0o2755))
	})
}

func openat2(path string, flags, mode, resolve uint64) string {
	fd, err := unix.Openat2(
		unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Mode: mode, Resolve: resolve},
	)
	if err == nil {
		unix.Close(fd)
	}
	return is(err)
}

func capability(p string) string {
	v := make([]byte, 20) // revision 2, CAP_SYS_ADMIN
	v[3], v[6] = 2, 0x20
	return is(unix.Setxattr(p, "security.capability", v, 0))
}

func tmpfile(a args) string {
	dir := filepath.Dir(a["lib"])
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	return is(
		unix.Linkat(
			unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, filepath.Join(dir, "probe"),
			unix.AT_SYMLINK_FOLLOW,
		),
	)
}

func byHandle(args) string {
	h := unix.NewFileHandle(1, make([]byte, 8))
	fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, h, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return is(err)
}

func handle(path string) string {
	_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	return is(err)
}

// fsize writes 64 MiB and one byte, over every limit of the tests.
func fsize(a args) string {
	signal.Ignore(syscall.SIGXFSZ)
	return made(a, func(p string) string {
		f, err := os.OpenFile(p, os.O_WRONLY, 0)
		if err != nil {
			return is(err)
		}
		defer f.Close()
		_, err = f.WriteAt([]byte{1}, 64<<20)
		return is(err)
	})
}

func allocate(p string) string {
	f, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		return is(err)
	}
	defer f.Close()
	return is(unix.Fallocate(int(f.Fd()), 0, 0, 1<<20))
}

// denyParent moves the folder of a denied file away, to read it elsewhere.
func denyParent(a args) string {
	away := filepath.Join(a["ws"], "moved")
	if err := unix.Rename(filepath.Dir(a["denied"]), away); err != nil {
		return is(err)
	}
	r := open(filepath.Join(away, filepath.Base(a["denied"])), unix.O_RDONLY)
	return first(is(unix.Rename(away, filepath.Dir(a["denied"]))), r)
}

// reopen opens a descriptor for reading again, for writing.
func reopen(a args) string {
	fd, err := unix.Open(a["lib"], unix.O_RDONLY, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	return open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR)
}

func watch(path string) string {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, path, unix.IN_ALL_EVENTS)
	return is(err)
}

func dnotify(a args) string {
	fd, err := unix.Open(a["ws"], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), 1026 /* F_NOTIFY */, 1)
	return is(err)
}

func lease(a args) string {
	fd, err := unix.Open(a["lib"], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return is(err)
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return is(err)
}

// mounts says whether the table of mounts names a folder of the host.
func mounts(secret string) string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return is(err)
	}
	for _, w := range []string{" / / ", "/work/main", filepath.Dir(secret) + " "} {
		for i := 0; i+len(w) <= len(b); i++ {
			if string(b[i:i+len(w)]) == w && w != " / / " {
				return "named"
			}
		}
	}
	return "nothing"
}
