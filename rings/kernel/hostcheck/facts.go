// Package hostcheck explains why a host does not give a layer of the kernel ring, and what a person can do about it.
// It only reads. The kernel ring and `ringd doctor` print its texts. Its input comes through Sources, so that a test
// can describe any host.
package hostcheck

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Sources is where facts come from.
type Sources struct {
	// Root is the file tree of the host, with /proc and /sys in it.
	Root fs.FS
	// Landlock asks the kernel for the version of Landlock.
	Landlock func() (abi int, err syscall.Errno)
	// UID is the user that ringd runs as.
	UID int
}

// Here is the host that this process runs on.
func Here() Sources {
	return Sources{Root: os.DirFS("/"), Landlock: landlock, UID: os.Getuid()}
}

// Facts are the known facts about a host. The zero value knows nothing.
type Facts struct {
	System        string        `json:"system"`  // linux
	Release       string        `json:"release"` // of the kernel: 6.18.44
	LandlockABI   int           `json:"landlock_abi"`
	LandlockErrno syscall.Errno `json:"-"`                   // why it is 0
	Container     string        `json:"container,omitempty"` // docker, podman, kubernetes, lxc, …
	Emulated      string        `json:"emulated,omitempty"`  // gvisor, wsl1: no Linux kernel
	// Filtered says that ringd itself runs under a seccomp filter.
	Filtered bool     `json:"filtered,omitempty"`
	LSM      []string `json:"lsm,omitempty"` // security modules; nil if they cannot be read
	// MaskedProc are paths below /proc that are hidden by a mount.
	MaskedProc []string `json:"masked_proc,omitempty"`
	// AppArmorUserns: kernel.apparmor_restrict_unprivileged_userns is on.
	AppArmorUserns bool `json:"apparmor_restricts_userns,omitempty"`
	// UsernsOff: kernel.unprivileged_userns_clone is 0.
	UsernsOff bool `json:"unprivileged_userns_off,omitempty"`
	// NoneLeft names the limits user.max_*_namespaces that are 0.
	NoneLeft    []string `json:"no_namespaces,omitempty"`
	MemfdNoExec int      `json:"memfd_noexec,omitempty"` // vm.memfd_noexec
	// Cgroup2 is ringd's control group, or empty if the host does not use cgroup v2 alone.
	Cgroup2   string `json:"cgroup2,omitempty"`
	Delegated bool   `json:"cgroup_delegated,omitempty"` // and ringd may make groups below it
	UID       int    `json:"uid"`
}

// Facts reads the facts. A fact that cannot be read is left out.
func (s Sources) Facts() Facts {
	f := Facts{System: runtime.GOOS, UID: s.UID}
	if s.Root == nil {
		return f
	}
	if s.Landlock != nil {
		f.LandlockABI, f.LandlockErrno = s.Landlock()
	}
	f.Release = s.line("proc/sys/kernel/osrelease")
	f.Emulated = emulated(f.Release, s.text("proc/version"))
	f.Container = s.container()
	status := s.text("proc/self/status")
	f.Filtered = field(status, "Seccomp") == "2"
	if lsm := s.line("sys/kernel/security/lsm"); lsm != "" {
		f.LSM = strings.Split(lsm, ",")
	}
	mounts := s.text("proc/self/mountinfo")
	f.MaskedProc = maskedProc(mounts)
	f.AppArmorUserns = s.line("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1"
	f.UsernsOff = s.line("proc/sys/kernel/unprivileged_userns_clone") == "0"
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if name := "max_" + kind + "_namespaces"; s.line("proc/sys/user/"+name) == "0" {
			f.NoneLeft = append(f.NoneLeft, "user."+name)
		}
	}
	f.MemfdNoExec, _ = strconv.Atoi(s.line("proc/sys/vm/memfd_noexec")) // not there: 0
	f.Cgroup2, f.Delegated = s.cgroup(mounts)
	return f
}

// text reads a small file. It is empty if the file cannot be read.
func (s Sources) text(name string) string {
	b, err := fs.ReadFile(s.Root, name)
	if err != nil {
		return ""
	}
	return string(b)
}

func (s Sources) line(name string) string {
	first, _, _ := strings.Cut(s.text(name), "\n")
	return strings.TrimSpace(first)
}

func (s Sources) there(name string) bool {
	_, err := fs.Stat(s.Root, name)
	return err == nil
}

// field is the value of a line "Name:\tvalue".
func field(text, name string) string {
	for l := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(l, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// emulated returns the name of the system that replaces the Linux kernel, or "" if the kernel is Linux. The date
// is the build date that every gVisor reported before it had a name of its own.
func emulated(release, version string) string {
	all := strings.ToLower(release + " " + version)
	switch {
	case strings.Contains(all, "gvisor"), strings.Contains(version, "Sun Jan 10 15:06:54 PST 2016"):
		return "gvisor"
	case strings.Contains(release, "-Microsoft"):
		return "wsl1"
	default:
		return ""
	}
}

// container names the kind of container in which ringd runs, if any.
func (s Sources) container() string {
	groups := s.text("proc/self/cgroup") + s.text("proc/1/cgroup")
	switch {
	case s.there(
		"var/run/secrets/kubernetes.io",
	), s.there("run/secrets/kubernetes.io"), strings.Contains(groups, "kubepods"):
		return "kubernetes"
	case s.there("run/.containerenv"):
		return "podman"
	case s.there(".dockerenv"), strings.Contains(groups, "/docker/"), strings.Contains(groups, "/docker-"):
		return "docker"
	}
	return s.line("run/systemd/container") // "lxc", "systemd-nspawn", …
}

// maskedProc lists the mount points below /proc. The kernel mounts a proc for a guest only if nothing is hidden
// in the daemon's. binfmt_misc does not count: it hides an empty folder.
func maskedProc(mountinfo string) []string {
	var out []string
	for l := range strings.Lines(mountinfo) {
		f := strings.Fields(l)
		if len(f) > 4 && strings.HasPrefix(f[4], "/proc/") && f[4] != "/proc/sys/fs/binfmt_misc" {
			out = append(out, f[4])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// cgroup finds ringd's group of cgroup v2, and whether it may make groups there.
func (s Sources) cgroup(mountinfo string) (group string, delegated bool) {
	at := ""
	for l := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(l, " - ")
		if f := strings.Fields(before); ok && strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 {
			at = f[4]
		}
	}
	for l := range strings.Lines(s.text("proc/self/cgroup")) {
		if g, ok := strings.CutPrefix(strings.TrimSpace(l), "0::"); ok && at != "" {
			group = strings.TrimRight(at+g, "/")
		}
	}
	if group == "" || !strings.Contains(
		" "+s.line(strings.TrimPrefix(group, "/")+"/cgroup.controllers")+" ", " memory ",
	) {
		return "", false
	}
	info, err := fs.Stat(s.Root, strings.TrimPrefix(group, "/"))
	return group, err == nil && ownedBy(info, s.UID)
}

// before reports whether a kernel of this release is older than major.minor. An unknown release is not.
func before(release string, major, minor int) bool {
	a, rest, _ := strings.Cut(release, ".")
	b := strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	x, err := strconv.Atoi(a)
	if err != nil || len(b) == 0 {
		return false
	}
	y, err := strconv.Atoi(b[0])
	return err == nil && (x < major || x == major && y < minor)
}
