package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// programs are probes of what can be started. Arguments: ws; unlisted, a program
// that is not granted; bash, one that is; ldso, the loader; copied, a copy of a
// dynamic program in ws; so, a copy of a library in ws; libelf, a program that
// lies in a granted folder of libraries. What starts says nothing: its exit code
// is the result.
func programs() map[string]probe {
	return map[string]probe{
		"wait":             wait,
		"ex_self":          func(a args) string { return become("/proc/self/exe", again()...) },
		"ex_ran":           func(args) string { return "ran" },
		"ex_unlisted":      func(a args) string { return become(a["unlisted"]) },
		"ex_listed":        func(a args) string { return become(a["bash"], "-c", "echo RESULT x ran") },
		"ex_copied":        func(a args) string { return become(a["copied"]) },
		"ex_copied_self":   copySelf,
		"ex_ldso_copied":   func(a args) string { return become(a["ldso"], a["copied"]) },
		"ex_ldso_unlisted": func(a args) string { return become(a["ldso"], a["unlisted"]) },
		"ex_ldso_libdir":   func(a args) string { return become(a["ldso"], a["libelf"]) },
		"ex_libdir":        func(a args) string { return become(a["libelf"]) },
		"ex_ldso_preload": func(a args) string {
			return loads(a, exec.Command(a["ldso"], "--preload", a["so"], a["bash"], "-c", showMaps(a)))
		},
		"ex_library":          func(a args) string { return become(a["libc"]) },
		"ex_memfd":            func(a args) string { return memfd(0, false) },
		"ex_memfd_execflag":   func(a args) string { return memfd(unix.MFD_EXEC, false) },
		"ex_memfd_procfd":     func(a args) string { return memfd(0, true) },
		"ex_memfd_noexec":     func(a args) string { return memfd(unix.MFD_NOEXEC_SEAL, true) },
		"ex_memfd_allow_seal": func(a args) string { return memfd(unix.MFD_ALLOW_SEALING, true) },
		"ex_memfd_huge":       func(a args) string { return memfd(unix.MFD_HUGETLB, true) },
		"ex_memfd_chmod":      memfdChmod,
		"ex_script":           func(a args) string { return script(a, "#!"+a["bash"]+"\n") },
		"ex_script_unlisted":  func(a args) string { return script(a, "#!"+a["unlisted"]+"\n") },
		"ex_script_interp":    func(a args) string { return become(a["bash"], writeScript(a, "echo RESULT x ran\n")) },
		"ex_proc1_exe":        func(a args) string { return become("/proc/1/exe") },
		"ex_fd_exec":          func(a args) string { return fdexec(a["copied"]) },
		"ex_fd_exec_path":     func(a args) string { return fdexecPath(a["copied"]) },
		"ex_dir_exec":         func(a args) string { return direxec(a) },
		"ex_dlopen_work":      dlopen,
		"ex_ldpreload":        func(a args) string { return loaded(a, "LD_PRELOAD="+a["so"]) },
		"ex_ldaudit":          func(a args) string { return loaded(a, "LD_AUDIT="+a["so"]) },
		"ex_ldlibrary":        ldlibrary,
		"ex_setuid_su":        func(a args) string { return become("/usr/bin/su", "-c", "true") },
		"ex_binfmt_mount": func(args) string {
			return sys(
				unix.SYS_MOUNT, text("b"), text("/tmp"), text("binfmt_misc"), 0, 0)
		},
		"ex_binfmt_register": func(args) string { return open("/proc/sys/fs/binfmt_misc/register", unix.O_WRONLY) },
		"ex_tmp":             func(a args) string { return copyTo(a["copied"], "/tmp/copied") },
		"ex_shm":             func(a args) string { return copyTo(a["copied"], "/dev/shm/copied") },
		"ex_fifo":            fifo,
		"ex_subprocess":      subprocess,
		"ex_noexec_remount": func(a args) string {
			return sys(
				unix.SYS_MOUNT, 0, text(a["ws"]), 0, unix.MS_REMOUNT|unix.MS_BIND, 0)
		},
		"ex_memfd_script_bash": memfdScript,
		"ex_execve_null":       func(a args) string { return sys(unix.SYS_EXECVE, text(a["unlisted"]), 0, 0) },
		"ex_uselib":            func(a args) string { return sys(uselib, text(a["so"])) },
	}
}

func copySelf(a args) string {
	return copyTo("/proc/self/exe", filepath.Join(a["ws"], "self-copy"))
}

// copyTo copies a program and starts the copy.
func copyTo(from, to string) string {
	in, err := os.Open(from)
	if err != nil {
		return is(err)
	}
	defer in.Close()
	_ = os.Remove(to)
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "create " + is(err)
	}
	_, err = io.Copy(out, in)
	out.Close()
	if err != nil {
		return "copy " + is(err)
	}
	return become(to, again()...)
}

// again is how a copy of this program is started: it says that it ran.
func again() []string { return append([]string{os.Args[1], "ex_ran"}, os.Args[3:]...) }

// memfd starts a program that is in memory alone.
func memfd(flags int, proc bool) string {
	fd, err := unix.MemfdCreate("probe", flags)
	if err != nil {
		return "create " + is(err)
	}
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return "open " + is(err)
	}
	out := os.NewFile(uintptr(fd), "probe")
	if _, err := io.Copy(out, in); err != nil {
		return "copy " + is(err)
	}
	if proc {
		return become(fmt.Sprintf("/proc/self/fd/%d", fd), again()...)
	}
	return emptyPath(fd)
}

func memfdChmod(args) string {
	fd, err := unix.MemfdCreate("probe", unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return "create " + is(err)
	}
	return is(unix.Fchmod(fd, 0o755))
}

func emptyPath(fd int) string {
	argv := []uintptr{text("probe")}
	for _, a := range again() {
		argv = append(argv, text(a))
	}
	argv = append(argv, 0)
	return sys(unix.SYS_EXECVEAT, uintptr(fd), text(""), slice(argv), slice([]uintptr{0}), unix.AT_EMPTY_PATH)
}

func fdexec(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return is(err)
	}
	return emptyPath(fd)
}

func fdexecPath(path string) string {
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return is(err)
	}
	return become(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func direxec(a args) string {
	fd, err := unix.Open(a["ws"], unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return is(err)
	}
	argv := []uintptr{text("probe"), 0}
	return sys(unix.SYS_EXECVEAT, uintptr(fd), text(filepath.Base(a["copied"])), slice(argv), slice([]uintptr{0}), 0)
}

func writeScript(a args, body string) string {
	p := filepath.Join(a["ws"], "script")
	_ = os.Remove(p)
	if err := os.WriteFile(p, []byte(body), 0o755); err != nil {
		return "/nowhere"
	}
	return p
}

func script(a args, body string) string {
	p := writeScript(a, body+"echo RESULT x ran\n")
	return become(p)
}

// dlopen has bash load a library of the workspace as a builtin of its own.
func dlopen(a args) string {
	out, err := exec.Command(a["bash"], "-c", "enable -f "+a["so"]+" probe").CombinedOutput()
	switch s := string(out); {
	case strings.Contains(s, "failed to map segment"):
		return "unmapped"
	case strings.Contains(s, "cannot find probe_struct"):
		return "mapped"
	default:
		return fmt.Sprintf("%v %.80q", err, s)
	}
}

func loaded(a args, env string) string {
	c := exec.Command(a["bash"], "-c", showMaps(a))
	c.Env = []string{env, "LC_ALL=C"}
	return loads(a, c)
}

// showMaps says whether the library of the workspace is in the memory of a shell.
func showMaps(a args) string {
	return "while read -r l; do case $l in *r-xp*" + a["so"] +
		"*) echo mapped $l;; esac; done </proc/self/maps; echo looked"
}

func loads(a args, c *exec.Cmd) string {
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	err := c.Run()
	switch {
	case strings.Contains(bad.String(), "undefined symbol"): // it is there, and is no such library
		return "mapped"
	case strings.Contains(out.String(), "mapped"):
		fmt.Fprint(os.Stderr, out.String(), bad.String())
		return "mapped"
	case strings.Contains(bad.String(), "cannot be preloaded") && strings.Contains(out.String(), "looked"),
		strings.Contains(bad.String(), "cannot be loaded"), strings.Contains(bad.String(), "failed to map"):
		return "unmapped"
	}
	return fmt.Sprintf("%v %.60q %.100q", err, out.String(), bad.String())
}

// ldlibrary puts a library of the guest's own before that of the host.
func ldlibrary(a args) string {
	dir := filepath.Join(a["ws"], "lib")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return is(err)
	}
	b, err := os.ReadFile(a["so"])
	if err != nil {
		return is(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libtinfo.so.6"), b, 0o755); err != nil {
		return is(err)
	}
	c := exec.Command(a["bash"], "-c", "echo $(</proc/self/maps)")
	c.Env = []string{"LD_LIBRARY_PATH=" + dir, "LC_ALL=C"}
	out, _ := c.CombinedOutput()
	if strings.Contains(string(out), "failed to map") {
		return "unmapped"
	}
	if strings.Contains(string(out), dir) {
		return "mapped"
	}
	return fmt.Sprintf("%.100q", string(out))
}

func fifo(a args) string {
	p := filepath.Join(a["ws"], "xfifo")
	_ = os.Remove(p)
	if err := unix.Mkfifo(p, 0o755); err != nil {
		return is(err)
	}
	return become(p)
}

func subprocess(a args) string {
	out, err := exec.Command(a["bash"], "-c", "echo ran; exit 7").Output()
	if e := (&exec.ExitError{}); err != nil && asExit(err, &e) && e.ExitCode() == 7 && string(out) == "ran\n" {
		return "ok"
	}
	return is(err)
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	if ok {
		*to = e
	}
	return ok
}

// memfdScript is what an interpreter that is granted does with any text.
func memfdScript(a args) string {
	fd, err := unix.MemfdCreate("probe", unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return "create " + is(err)
	}
	if _, err := unix.Write(fd, []byte("echo RESULT x ran\n")); err != nil {
		return is(err)
	}
	return is(syscall.Exec(a["bash"], []string{"bash", fmt.Sprintf("/proc/self/fd/%d", fd)}, nil))
}
