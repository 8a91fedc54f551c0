//go:build unix

package hostcheck_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// files makes a host of "path: text" pairs.
func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

// sources is a host with these files, on a kernel of this release.
func sources(release string, abi int, landlock syscall.Errno, more ...string) hostcheck.Sources {
	m := files(more...)
	m["proc/sys/kernel/osrelease"] = &fstest.MapFile{Data: []byte(release + "\n")}
	return hostcheck.Sources{Root: m, UID: 1000, Landlock: func() (int, syscall.Errno) { return abi, landlock }}
}

const (
	masked = "30 29 0:4 / /proc rw - proc proc rw\n31 30 0:5 / /proc/kcore rw - tmpfs tmpfs rw\n" +
		"32 30 0:4 /sys /proc/sys ro - proc proc rw\n33 30 0:6 / /proc/sys/fs/binfmt_misc rw - autofs x rw\n34 30 0:4 /irq /proc/irq ro - proc proc rw\n"
	filtered = "Name:\tringd\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"
)

func docker(more ...string) hostcheck.Sources {
	return sources("6.8.0-45-generic", 4, 0, append([]string{
		".dockerenv", "", "proc/self/mountinfo", masked, "proc/self/status", filtered}, more...)...)
}

func missing(layer, step string, e syscall.Errno) initproto.Report {
	return initproto.Report{Failed: layer, Kind: initproto.KindMissing, Step: step, Errno: int(e)}
}

// TestFiles: how many files may be open is what the kernel says, and no more than its
// own default is, also where systemd has lifted that.
func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, max, memory string
		want              int
	}{
		{"the kernel's default", "809612\n", "MemTotal:        8192000 kB\n", 809612},
		{"lifted", "9223372036854775807\n", "MemFree:    1 kB\nMemTotal:        8192000 kB\n", 819200},
		{"no memory told", "5000\n", "", 5000},
		{"nothing told", "", "MemTotal:        8192000 kB\n", 0},
	} {
		s := sources("6.18.0", 7, 0, "proc/sys/fs/file-max", tt.max, "proc/meminfo", tt.memory, "proc/sys/fs/file-nr",
			"4892\t0\t2466183\n")
		if got := s.Counts().Files; got != tt.want {
			t.Errorf("%s: %d files, want %d", tt.name, got, tt.want)
		}
		if got := s.OpenFiles(); got != 4892 {
			t.Errorf("%s: %d are open", tt.name, got)
		}
	}
}

// Whose the guests are, and what they share.
func TestUsers(t *testing.T) {
	limits := "Limit                     Soft Limit           Hard Limit           Units\nMax processes             " +
		"1000                 2000                 processes\n" +
		"Max open files            4096                 524288               files\n"
	ordinary := sources("6.18.0", 7, 0, "proc/sys/fs/epoll/max_user_watches", "900000\n", "proc/self/limits", limits,
		"proc/sys/fs/pipe-user-pages-hard", "0\n",
		"proc/sys/net/ipv4/tcp_max_orphans", "131072\n", "proc/sys/net/ipv4/tcp_mem", "287898\t383867\t575796\n")
	if got, want := ordinary.Counts(), (hostcheck.Counts{
		Watches: 900000, Tasks: 1000, Descriptors: 4096, Orphans: 131072, PagesTCP: 383867,
	}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if got := ordinary.Counts().Connections(); got != 1024 {
		t.Errorf("guests may have %d connections", got)
	}
	l := ordinary.Users()
	for _, want := range []string{"ringd's own user, 1000", "900000", "750 tasks in all: room for 8 of 88"} {
		if !strings.Contains(l.Reason, want) {
			t.Errorf("%q does not say %q", l.Reason, want)
		}
	}
	if l.State != hostcheck.Partly || !strings.Contains(l.Fix, "guests.uid") {
		t.Errorf("an ordinary user has %+v", l)
	}
	root := ordinary
	root.UID = 0
	if l := root.Users(); l.State != hostcheck.Enforced || l.Fix != "" ||
		!strings.Contains(l.Reason, "a separate user") {
		t.Errorf("root has %+v", l)
	}
	free := sources("6.18.0", 7, 0, "proc/self/limits", "Max processes             unlimited            unlimited    "+
		"        processes\n", "proc/sys/fs/pipe-user-pages-hard", "4096\n")
	if l := free.Users(); free.Counts().ForGuests() != 0 || strings.Contains(l.Reason, "room for") ||
		!strings.Contains(l.Fix, "pipe-user-pages-hard") {
		t.Errorf("a host without a bound of tasks has %+v", l)
	}
}

// Every kind of host that does not give a layer, as it is met in the field.
func TestExplain(t *testing.T) {
	root := func(s hostcheck.Sources) hostcheck.Sources { s.UID = 0; return s }
	for _, tt := range []struct {
		name   string
		on     hostcheck.Sources
		report initproto.Report
		why    string
		fix    string
	}{
		{"Ubuntu 24.04", sources("6.8.0-45-generic", 4, 0, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "Ubuntu 23.10", "ringd doctor --apparmor"},
		{"Ubuntu 24.04, where the namespace comes and its rights do not", sources("6.8.0-45-generic", 4, 0, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
			missing(initproto.LayerMounts, "mount /", syscall.EACCES), "AppArmor", "apparmor_parser"},
		{"Ubuntu 24.04, at loopback", sources("6.8.0-45-generic", 4, 0, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
			missing(initproto.LayerNetwork, "lo up", syscall.EPERM), "AppArmor", "apparmor_parser"},
		{"Ubuntu 24.04 with the restriction off", sources("6.8.0-45-generic", 4, 0, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "refuses user namespaces",
			"RestrictNamespaces="},
		{"Debian", sources("6.1.0-25-amd64", 2, 0, "proc/sys/kernel/unprivileged_userns_clone", "0\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "unprivileged_userns_clone is 0",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"Debian as root", root(sources("6.1.0-25-amd64", 2, 0, "proc/sys/kernel/unprivileged_userns_clone", "0\n")),
			missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "refuses user namespaces", "chroot"},
		{"root without CAP_SETFCAP", root(sources("6.18.44", 7, 0)),
			missing(initproto.LayerNamespaces, "write uid_map", syscall.EPERM), "CAP_SETFCAP",
			"CapabilityBoundingSet="},
		{"namespaces switched off", sources("5.14.0-427.el9", 0, syscall.EOPNOTSUPP, "proc/sys/user/max_user_namespaces", "0\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.ENOSPC), "user.max_user_namespaces is 0",
			"sudo sysctl -w user.max_user_namespaces=15000"},
		{"two kinds switched off", sources("6.18.44", 7, 0, "proc/sys/user/max_net_namespaces", "0\n", "proc/sys/user/max_ipc_namespaces", "0\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.ENOSPC),
			"user.max_net_namespaces, user.max_ipc_namespaces", "user.max_net_namespaces=15000 user.max_ipc_namespaces=15000"},
		{"too many namespaces", sources("6.18.44", 7, 0, "proc/sys/user/max_user_namespaces", "100\n"),
			missing(initproto.LayerNamespaces, "clone", syscall.ENOSPC), "no more namespaces", "max_user_namespaces"},
		{"nested too deeply, an old kernel", sources("4.18.0", 0, syscall.ENOSYS), missing(initproto.LayerNamespaces, "clone", syscall.EUSERS), "no more namespaces", "max_"},
		{"no namespaces built", sources("6.18.44", 7, 0), missing(initproto.LayerNamespaces, "clone", syscall.EINVAL), "built without", "CONFIG_USER_NS"},
		{"Docker", docker(), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "docker's default profile", "--security-opt seccomp=unconfined"},
		{"Docker with a profile that allows namespaces", docker(), missing(initproto.LayerMounts, "mount proc", syscall.EPERM), "/proc/irq and 2 more", "systempaths=unconfined"},
		{"Docker without landlock_*", docker(), missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.ENOSYS), "docker", "run ringd on the host"},
		{"Podman", sources("6.9.0", 4, 0, "run/.containerenv", "", "proc/self/status", filtered), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "podman's default", "podman run"},
		{"Kubernetes", docker("run/secrets/kubernetes.io/serviceaccount/token", "x"), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "pod's profile", "hostUsers: false"},
		{"Kubernetes by its group", docker("proc/self/cgroup", "0::/kubepods/burstable/pod1\n"), missing(initproto.LayerMounts, "mount proc", syscall.EPERM), "mounted over", "procMount: Unmasked"},
		{"LXC", sources("6.8.0", 4, 0, "run/systemd/container", "lxc\n", "proc/self/status", filtered), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "(lxc)", "security.nesting=true"},
		{"the signs of a container and no filter", sources("6.8.0", 4, 0, ".dockerenv", ""), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "refuses user namespaces", "chroot"},
		{"a unit with a filter", sources("6.8.0", 4, 0, "proc/self/status", filtered), missing(initproto.LayerNamespaces, "clone", syscall.EPERM), "system call filter", "RestrictNamespaces="},
		{"a masked /proc without a container", sources("6.8.0", 4, 0, "proc/self/mountinfo", masked), missing(initproto.LayerMounts, "mount proc", syscall.EPERM), "mounted over", "mount nothing below /proc"},
		{"too old for the mounts", sources("5.10.0-30-amd64", 0, syscall.ENOSYS), missing(initproto.LayerMounts, "mount_setattr /usr", syscall.ENOSYS), "Linux 5.10.0-30-amd64", "Linux 5.12"},
		{"too many mounts", sources("6.18.44", 7, 0), missing(initproto.LayerMounts, "move_mount", syscall.ENOSPC), "limit of mounts", "fs.mount-max"},
		{"too old for Landlock", sources("5.10.0-30-amd64", 0, syscall.ENOSYS), missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.ENOSYS), "has no Landlock", "6.12"},
		{"Landlock not built", sources("6.18.44", 0, syscall.ENOSYS), missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.ENOSYS), "built without Landlock", "CONFIG_SECURITY_LANDLOCK"},
		{"Landlock not switched on", sources("6.1.0", 0, syscall.EOPNOTSUPP, "sys/kernel/security/lsm", "lockdown,capability,yama"),
			missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.EOPNOTSUPP), "not switched on",
			"lsm=landlock,lockdown,capability,yama"},
		{"Landlock not switched on, no list", sources("6.1.0", 0, syscall.EOPNOTSUPP),
			missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.EOPNOTSUPP), "not switched on",
			"lsm=landlock,"},
		{"an old version of Landlock", sources("6.1.0", 2, 0), missing(initproto.LayerLandlock, "version", 0), "version 2", "6.12"},
		{"no seccomp", sources("6.18.44", 7, 0), missing(initproto.LayerSeccomp, "seccomp", syscall.EINVAL), "without seccomp", "CONFIG_SECCOMP_FILTER"},
		{"a listener around ringd", sources("6.18.44", 7, 0), missing(initproto.LayerSeccomp, "seccomp", syscall.EBUSY), "listener", "outside the tool"},
		{"no MDWE", sources("6.1.0-25-amd64", 2, 0), missing(initproto.LayerMemory, "PR_SET_MDWE", syscall.EINVAL), "Linux 6.1.0-25-amd64", "6.3 or later; a policy that allows the executor jit"},
		{"no programs from memory", sources("6.18.44", 7, 0, "proc/sys/vm/memfd_noexec", "2\n"), missing(initproto.LayerNamespaces, "memfd_create", syscall.EACCES), "vm.memfd_noexec is 2", "sudo sysctl -w vm.memfd_noexec=1"},
		{"no more processes", sources("6.18.44", 7, 0), missing(initproto.LayerNamespaces, "clone", syscall.EAGAIN), "no more processes", "TasksMax="},
		{"gVisor", sources("4.4.0", 0, syscall.ENOSYS, "proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"),
			missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.ENOSYS), "gVisor", "minTier: wasm"},
		{"gVisor by its name", sources("4.19.0-gvisor", 0, syscall.ENOSYS), missing(initproto.LayerMounts, "open_tree", syscall.ENOSYS), "gVisor", "outside gVisor"},
		{"WSL 1", sources("4.4.0-19041-Microsoft", 0, syscall.ENOSYS), missing(initproto.LayerNamespaces, "clone", syscall.EINVAL), "WSL 1", "wsl --set-version"},
		{"WSL 2 has a kernel", sources("5.15.153.1-microsoft-standard-WSL2", 0, syscall.EOPNOTSUPP), missing(initproto.LayerLandlock, "landlock_create_ruleset", syscall.EOPNOTSUPP), "not switched on", "lsm=landlock"},
		{"cgroup v1", sources("6.18.44", 7, 0), missing(initproto.LayerCgroups, "", 0), "not under cgroup v2", "unified_cgroup_hierarchy"},
		{"a lie", docker(), initproto.Report{Failed: initproto.LayerSeccomp, Kind: initproto.KindLies, Step: "canary unshare"}, "does not" /* see below */, "run no untrusted code"},
		{"a lie of gVisor", sources("4.19.0-gvisor", 0, syscall.ENOSYS), initproto.Report{Failed: initproto.LayerSeccomp, Kind: initproto.KindLies}, "gvisor replaces the kernel", "run no untrusted code"},
		{"a path that is gone", sources("6.18.44", 7, 0), initproto.Report{Failed: initproto.LayerMounts, Kind: initproto.KindFault, Step: "open_tree /x", Errno: int(syscall.ENOENT)}, "open_tree /x: no such file", "push the policy again"},
		{"no memory", sources("6.18.44", 7, 0), initproto.Report{Failed: initproto.LayerMounts, Kind: initproto.KindFault, Errno: int(syscall.ENOMEM)}, "cannot allocate", "LimitNPROC="},
		{"a failure that nobody foresaw", sources("6.18.44", 7, 0), missing(initproto.LayerCapabilities, "capset", syscall.ERANGE), "capset: numerical result", "report what it prints"},
		{"a remedy that init knows", sources("6.18.44", 7, 0), initproto.Report{Failed: initproto.LayerCapabilities, Kind: initproto.KindMissing, Reason: "It is so.", Remedy: "do this"}, "It is so", "do this"},
		{"a kind of failure that is not known", sources("6.18.44", 7, 0), initproto.Report{Failed: "moon"}, "layer moon failed", "report"},
		{"a host of which nothing is known", hostcheck.Sources{}, missing(initproto.LayerLandlock, "x", syscall.EPERM), "Landlock", "6.12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			why, fix := tt.on.Facts().Explain(tt.report)
			if tt.why == "does not" {
				tt.why = "shows that it did not"
			}
			if !strings.Contains(why, tt.why) {
				t.Errorf("reason %q lacks %q", why, tt.why)
			}
			if !strings.Contains(fix, tt.fix) {
				t.Errorf("remedy %q lacks %q", fix, tt.fix)
			}
			again := tt.report
			again.Reason, again.Remedy = why, fix
			if w, f := tt.on.Facts().Explain(again); w != why || f != fix {
				t.Errorf("explained again: %q %q", w, f)
			}
			for _, s := range []string{why, fix} {
				if s == "" || strings.HasSuffix(s, ".") || strings.HasPrefix(s, ":") || strings.Contains(s, "errno 0") {
					t.Errorf("not fit to print: %q", s)
				}
			}
		})
	}
	if why, fix := hostcheck.Explain(initproto.Report{}); why != "" || fix != "" {
		t.Errorf("nothing failed: %q %q", why, fix)
	}
}

func TestCgroup(t *testing.T) {
	const mount = "30 29 0:4 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	at := func(owner uint32, controllers string) hostcheck.Sources {
		s := sources("6.18.44", 7, 0, "proc/self/mountinfo", mount, "proc/self/cgroup", "0::/user.slice/ringd.scope\n",
			"sys/fs/cgroup/user.slice/ringd.scope/cgroup.controllers", controllers)
		s.Root.(fstest.MapFS)["sys/fs/cgroup/user.slice/ringd.scope"] = &fstest.MapFile{
			Mode: fs.ModeDir | 0o755, Sys: &syscall.Stat_t{Uid: owner}}
		return s
	}
	for _, tt := range []struct {
		name      string
		on        hostcheck.Sources
		group     string
		delegated bool
	}{
		{"delegated", at(1000, "cpu memory pids\n"), "/sys/fs/cgroup/user.slice/ringd.scope", true},
		{"of another", at(0, "cpu memory pids\n"), "/sys/fs/cgroup/user.slice/ringd.scope", false},
		{"without memory", at(1000, "cpu memoryless pids\n"), "", false},
		{"v1", sources("6.18.44", 7, 0, "proc/self/cgroup", "4:memory:/x\n0::/\n", "proc/self/mountinfo", "30 29 0:4 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n"), "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.on.Facts()
			if f.Cgroup2 != tt.group || f.Delegated != tt.delegated {
				t.Errorf("%q %v", f.Cgroup2, f.Delegated)
			}
			if why, fix := f.Explain(missing(initproto.LayerCgroups, "", 0)); !strings.Contains(fix, "Delegate=yes") ||
				why == "" {
				t.Errorf("%q %q", why, fix)
			}
		})
	}
}

func TestExamine(t *testing.T) {
	all := map[string]string{}
	for _, n := range hostcheck.Names() {
		all[n] = hostcheck.Enforced
	}
	partly := map[string]string{initproto.LayerViolations: hostcheck.Partly,
		initproto.LayerCgroups: hostcheck.Unavailable, initproto.LayerNamespaces: hostcheck.Enforced}
	for _, tt := range []struct {
		name   string
		report initproto.Report
		err    error
		stands bool
		lies   bool
		want   map[string]string // layer: state and a part of its words
	}{
		{name: "all", report: initproto.Report{Layers: all}, stands: true, want: map[string]string{initproto.LayerMounts: "enforced granted paths", initproto.LayerSeal: "enforced gave up"}},
		{name: "some", report: initproto.Report{Layers: partly}, stands: true, want: map[string]string{
			initproto.LayerViolations: "best-effort refused system calls and programs are recorded",
			initproto.LayerCgroups:    "unavailable limits hold for each process",
			initproto.LayerNamespaces: "enforced separate users", initproto.LayerMounts: "unavailable not there"}},
		{name: "none", report: missing(initproto.LayerNamespaces, "clone", syscall.EPERM), want: map[string]string{
			initproto.LayerNamespaces: "unavailable operation not permitted",
			initproto.LayerSeccomp:    "unavailable not in use", initproto.LayerCgroups: "unavailable cgroup v2"}},
		{name: "a lie", report: initproto.Report{Failed: initproto.LayerSeccomp, Kind: initproto.KindLies, Layers: partly}, lies: true,
			want: map[string]string{initproto.LayerSeccomp: "unavailable shows that it did not",
				initproto.LayerNamespaces: "enforced separate"}},
		{name: "no word of the guest", err: errors.New("start init: no such file"), want: map[string]string{initproto.LayerProcess: "unavailable start init: no such file"}},
		// A failed layer is not enforced, whatever else the report says of it.
		{name: "a report at odds with itself", report: initproto.Report{Layers: all, Failed: initproto.LayerSeccomp, Kind: initproto.KindMissing},
			want: map[string]string{initproto.LayerSeccomp: "unavailable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := sources("6.18.44", 7, 0).Examine(t.Context(),
				func(context.Context) (initproto.Report, error) { return tt.report, tt.err })
			if h.Stands != tt.stands || h.Lies != tt.lies || (h.Failed == "") != tt.stands {
				t.Errorf("stands %v, lies %v, failed %q", h.Stands, h.Lies, h.Failed)
			}
			var names []string
			for _, l := range h.Layers {
				names = append(names, l.Name)
				state, words, _ := strings.Cut(tt.want[l.Name], " ")
				if tt.want[l.Name] != "" && (l.State != state || !strings.Contains(l.Reason, words)) {
					t.Errorf("%s: %s %q, want %q", l.Name, l.State, l.Reason, tt.want[l.Name])
				}
				if l.Reason == "" || l.State == "" {
					t.Errorf("%s says nothing: %+v", l.Name, l)
				}
				if l.Name == h.Failed && l.Fix == "" {
					t.Errorf("%s has no remedy", l.Name)
				}
			}
			if d := cmp.Diff(hostcheck.Names(), names); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNames(t *testing.T) {
	names := hostcheck.Names()
	for _, n := range []string{initproto.LayerNamespaces, initproto.LayerSeal, initproto.LayerViolations,
		initproto.LayerSelfTest} {
		if !slices.Contains(names, n) || hostcheck.Holds(n) == "" {
			t.Errorf("%s is not described", n)
		}
	}
	if hostcheck.Holds("moon") != "" {
		t.Error("the moon holds something")
	}
}

func TestAppArmorProfile(t *testing.T) {
	p, ok := hostcheck.AppArmorProfile("/usr/local/bin/ringd")
	if !ok || !strings.Contains(p, "\nprofile ringd /usr/local/bin/ringd flags=(unconfined) {\n  userns,\n") {
		t.Errorf("%v\n%s", ok, p)
	}
	for _, bad := range []string{"", "ringd", "/home/*/ringd", "/tmp/a b", "/tmp/{a,b}", "/tmp/\"", "/tmp/x\n}",
		"/tmp/@{HOME}", "/tmp/é", "/a[b]", "/a\\b", "/a?"} {
		if p, ok := hostcheck.AppArmorProfile(bad); ok {
			t.Errorf("%q: %s", bad, p)
		}
	}
}

func FuzzFacts(f *testing.F) {
	f.Add("6.18.44", masked, "0::/x\n", filtered)
	f.Add("", "1 2 3 4 /proc/x - cgroup2 ", "0::/../..", "Seccomp:")
	f.Fuzz(func(t *testing.T, release, mounts, groups, status string) {
		s := sources(release, 0, syscall.ENOSYS, "proc/self/mountinfo", mounts, "proc/self/cgroup", groups,
			"proc/self/status", status)
		facts := s.Facts()
		for _, n := range hostcheck.Names() {
			for _, e := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.ENOSPC} {
				if why, fix := facts.Explain(missing(n, "proc", e)); why == "" || fix == "" {
					t.Errorf("%s: %q %q", n, why, fix)
				}
			}
		}
	})
}

// The words of this host are those of a real one.
func TestHere(t *testing.T) {
	f := hostcheck.Here().Facts()
	if f.Release == "" || f.System == "" {
		t.Skipf("no /proc here: %+v", f)
	}
	if f.LandlockABI == 0 && f.LandlockErrno == 0 {
		t.Errorf("Landlock is neither there nor not: %+v", f)
	}
}
