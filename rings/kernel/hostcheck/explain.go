package hostcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Explain says why a layer failed on the host of this process, and what a person can do about it. Both are
// texts for people, of one or more sentences, without a final period. For a report without a failure both are
// empty.
func Explain(r initproto.Report) (reason, remedy string) { return Here().Facts().Explain(r) }

// appArmorRemedy is the remedy if AppArmor denies namespaces to programs without a profile.
const appArmorRemedy = "ringd doctor --apparmor | sudo tee /etc/apparmor.d/ringd && " +
	"sudo apparmor_parser -r /etc/apparmor.d/ringd"

// said is an explanation.
type said struct{ why, fix string }

// Explain explains a failure on a host with these facts.
func (f Facts) Explain(r initproto.Report) (reason, remedy string) {
	if r.Failed == "" {
		return "", ""
	}
	errno := syscall.Errno(r.Errno)
	reason = strings.TrimSuffix(r.Reason, ".")
	if reason == "" {
		reason = r.Step
		if r.Errno != 0 {
			reason = strings.TrimPrefix(reason+": "+errno.Error(), ": ")
		}
	}
	var s said
	switch r.Kind {
	case initproto.KindLies:
		s = f.lies(r)
	case initproto.KindFault:
		s = fault(errno)
	default:
		s = f.missing(r, errno)
	}
	if s.why != "" && !strings.Contains(reason, s.why) { // otherwise it is already explained
		reason = strings.TrimPrefix(reason+": "+s.why, ": ")
	}
	return cmp.Or(reason, "layer "+r.Failed+" failed"), cmp.Or(s.fix, r.Remedy, reportIt)
}

const reportIt = "run `ringd doctor --json` and report what it prints"

// lies explains a host that reported a layer as set although it has no effect.
func (f Facts) lies(r initproto.Report) said {
	who := "something between ringd and the kernel answers system calls without performing them"
	if f.Emulated != "" {
		who = f.Emulated + " replaces the kernel here"
	}
	return said{
		why: "the host says that it gave the layer " + r.Failed + ", and a test in the guest shows that it did not; " +
			who,
		fix: "run no untrusted code on this host: its reports about layers cannot be trusted",
	}
}

// fault is of a single launch.
func fault(e syscall.Errno) said {
	switch e {
	case syscall.ENOENT, syscall.ESTALE:
		return said{fix: "a path of the policy is gone or was replaced: push the policy again"}
	case syscall.ENOMEM, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE:
		return said{fix: "the host has no memory, processes or descriptors left: free some, or raise " +
			"LimitNPROC=, LimitNOFILE= and TasksMax= of ringd's unit"}
	default:
		return said{}
	}
}

// missing explains a host that reports that it does not give a layer.
func (f Facts) missing(r initproto.Report, e syscall.Errno) said {
	if s := f.everywhere(e); s != (said{}) {
		return s
	}
	switch r.Failed {
	case initproto.LayerNamespaces:
		return f.namespaces(r.Step, e)
	case initproto.LayerMounts, initproto.LayerExec:
		return f.mounts(r.Step, e)
	case initproto.LayerLandlock:
		return f.landlock(e)
	case initproto.LayerSeccomp:
		return f.seccomp(e)
	case initproto.LayerMemory:
		return f.memory()
	case initproto.LayerCgroups:
		return f.cgroups()
	case initproto.LayerNetwork, initproto.LayerEgress:
		return f.network(e)
	case initproto.LayerLimits:
		return said{"a limit that the guest needs is above what ringd itself may have",
			"raise the hard limit: ulimit -H, or Limit…= of ringd's unit"}
	default:
		return f.refusedHere(e)
	}
}

// everywhere explains failures of any layer.
func (f Facts) everywhere(e syscall.Errno) said {
	switch {
	case f.System != "" && f.System != "linux":
		return said{"guests need Linux", "run ringd on Linux, in a virtual machine if need be"}
	case f.Emulated == "wsl1":
		return said{"this is WSL 1, which has no Linux kernel", "wsl --set-version <distribution> 2"}
	case f.Emulated == "gvisor":
		return said{"this is gVisor, whose kernel has no Landlock and only part of the rest",
			"run ringd outside gVisor; where gVisor is the isolation you want, JavaScript runs with minTier: wasm"}
	case e == syscall.EAGAIN:
		return said{
			"no more processes are allowed to this user",
			"raise LimitNPROC= and TasksMax= of ringd's unit, or `ulimit -u`",
		}
	default:
		return said{}
	}
}

func (f Facts) namespaces(step string, e syscall.Errno) said {
	if step == "memfd_create" { // of the program that is started in them first
		return f.memfd(e)
	}
	switch e {
	case syscall.EPERM, syscall.EACCES:
		return f.namespacesRefused(step)
	case syscall.ENOSPC, syscall.EUSERS:
		if len(f.NoneLeft) > 0 {
			return said{strings.Join(f.NoneLeft, ", ") + " is 0: namespaces are switched off",
				"sudo sysctl -w " + strings.Join(withValue(f.NoneLeft, "=15000"), " ") +
					"; to keep it, write the same to /etc/sysctl.d/60-ringd.conf"}
		}
		return said{"no more namespaces are allowed to this user, or they are nested too deeply",
			"sudo sysctl -w user.max_user_namespaces=15000, and see the other user.max_*_namespaces"}
	case syscall.EINVAL, syscall.ENOSYS:
		return said{"this kernel was built without one of the user, mount, process, network, IPC, UTS and control " +
			"group namespaces",
			"use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and " +
				"CONFIG_CGROUPS"}
	default:
		return said{}
	}
}

func withValue(names []string, value string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] += value
	}
	return out
}

func (f Facts) namespacesRefused(step string) said {
	switch {
	case f.UsernsOff && f.UID != 0:
		return said{"kernel.unprivileged_userns_clone is 0: namespaces are for root alone (Debian)",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1; to keep it, write the same to " +
				"/etc/sysctl.d/60-ringd.conf"}
	case f.AppArmorUserns && f.UID != 0:
		return said{"AppArmor refuses user namespaces to programs without a profile " +
			"(kernel.apparmor_restrict_unprivileged_userns, Ubuntu 23.10 and later)", appArmorRemedy}
	case f.Filtered: // a container denies namespaces by a filter
		return f.contained("namespaces")
	case strings.Contains(step, "id_map") && f.UID == 0:
		return said{"ringd is root without CAP_SETFCAP, CAP_SETUID or CAP_SETGID, which a map of users needs",
			"CapabilityBoundingSet= of ringd's unit must keep them; or run ringd as an ordinary user"}
	default:
		return said{"the kernel refuses user namespaces to ringd: in a chroot, by a security module, or by the " +
			"limits of its unit",
			"run ringd outside a chroot, and without RestrictNamespaces= in its unit; see `dmesg | tail` for a " +
				"security module"}
	}
}

// contained explains denials by a container, or by a filter around ringd.
func (f Facts) contained(what string) said {
	switch f.Container {
	case "docker", "podman":
		return said{f.Container + "'s default profile refuses " + what + " to what runs in the container",
			f.Container + " run --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
				"--security-opt systempaths=unconfined …, in a container that holds nothing but ringd; or run ringd " +
				"on the host"}
	case "kubernetes":
		return said{"the pod's profile refuses " + what + " to what runs in it",
			"in the pod: hostUsers: false; in its securityContext: procMount: Unmasked, seccompProfile: {type: " +
				"Unconfined}, " +
				"appArmorProfile: {type: Unconfined}; in a pod that holds nothing but ringd"}
	case "":
		return said{"a system call filter around ringd refuses " + what,
			"remove RestrictNamespaces=, SystemCallFilter= and PrivateUsers= from ringd's unit, or start it outside " +
				"the tool that filters"}
	default:
		return said{"the container (" + f.Container + ") refuses " + what + " to what runs in it",
			"allow nested containers (lxc: security.nesting=true), or run ringd on the host"}
	}
}

func (f Facts) mounts(step string, e syscall.Errno) said {
	refused := e == syscall.EPERM || e == syscall.EACCES
	switch {
	case refused && strings.Contains(step, "proc") && len(f.MaskedProc) > 0:
		fix := "mount nothing below /proc where ringd runs: remove ProtectKernelTunables=, ProtectKernelLogs=, " +
			"ProtectProc= and ProcSubset= from its unit"
		switch f.Container {
		case "docker", "podman":
			fix = f.Container + " run --security-opt systempaths=unconfined …"
		case "kubernetes":
			fix = "in the securityContext of the container: procMount: Unmasked, with hostUsers: false in the pod"
		}
		return said{"something is mounted over " + some(f.MaskedProc) +
			", so the kernel gives a guest no separate /proc", fix}
	case refused && f.AppArmorUserns && f.UID != 0:
		return said{"AppArmor removes the rights of a user namespace from programs without a profile " +
			"(kernel.apparmor_restrict_unprivileged_userns, Ubuntu 23.10 and later)", appArmorRemedy}
	case refused && (f.Container != "" || f.Filtered):
		return f.contained("mounts")
	case e == syscall.ENOSYS || e == syscall.EINVAL:
		return f.old("open_tree, move_mount and mount_setattr", 5, 12)
	case e == syscall.ENOSPC:
		return said{"the limit of mounts is reached", "sudo sysctl -w fs.mount-max=100000"}
	default:
		return said{}
	}
}

// some lists the first elements of a list.
func some(l []string) string {
	if len(l) > 2 {
		return fmt.Sprintf("%s and %d more", l[0], len(l)-1)
	}
	return strings.Join(l, " and ")
}

// old explains a call that came with a certain kernel version.
func (f Facts) old(what string, major, minor int) said {
	since := fmt.Sprintf("%d.%d", major, minor)
	if before(f.Release, major, minor) {
		return said{"Linux " + f.Release + " does not have " + what, "use Linux " + since + " or later"}
	}
	if f.Container != "" || f.Filtered {
		return f.contained(what)
	}
	return said{"this kernel does not have " + what, "use Linux " + since + " or later, as your distribution builds it"}
}

func (f Facts) landlock(e syscall.Errno) said {
	switch {
	case f.LandlockABI > 0 && e != syscall.ENOSYS && e != syscall.EOPNOTSUPP:
		return said{fmt.Sprintf(
			"this kernel has version %d of Landlock, and the profile needs a later one", f.LandlockABI,
		),
			"use Linux 6.12 or later; the least is version 3, of Linux 6.2"}
	case e == syscall.EOPNOTSUPP || f.LandlockErrno == syscall.EOPNOTSUPP:
		list := "landlock,lockdown,yama,integrity,apparmor,bpf"
		if len(f.LSM) > 0 {
			list = "landlock," + strings.Join(f.LSM, ",")
		}
		return said{"Landlock is built into this kernel and not switched on",
			"add lsm=" + list + " to the kernel's command line (GRUB_CMDLINE_LINUX in /etc/default/grub), and restart"}
	case before(f.Release, 5, 13):
		return said{"Linux " + f.Release + " has no Landlock", "use Linux 6.12 or later"}
	case f.Container != "" || f.Filtered:
		return f.contained("landlock_create_ruleset")
	default:
		return said{
			"this kernel was built without Landlock", "use a kernel with CONFIG_SECURITY_LANDLOCK, 6.12 or later",
		}
	}
}

func (f Facts) seccomp(e syscall.Errno) said {
	switch {
	case e == syscall.EINVAL && !before(f.Release, 5, 0), e == syscall.ENOSYS:
		return said{"this kernel was built without seccomp filters", "use a kernel with CONFIG_SECCOMP_FILTER"}
	case e == syscall.EBUSY:
		return said{"the filter around ringd has a listener, and the kernel allows only one",
			"start ringd outside the tool that watches its system calls"}
	default:
		return f.refusedHere(e)
	}
}

func (f Facts) memory() said {
	s := f.old("PR_SET_MDWE, which keeps memory from becoming executable", 6, 3)
	if s.fix != "" && before(f.Release, 6, 3) {
		s.fix += "; a policy that allows the executor jit does not ask for it"
	}
	return s
}

func (f Facts) memfd(e syscall.Errno) said {
	switch {
	case f.MemfdNoExec >= 2:
		return said{"vm.memfd_noexec is 2: no program starts from memory, but the first program of a guest does",
			"sudo sysctl -w vm.memfd_noexec=1; to keep it, write the same to /etc/sysctl.d/60-ringd.conf"}
	case e == syscall.ENOSYS:
		return f.old("memfd_create", 3, 17)
	default:
		return f.refusedHere(e)
	}
}

// cgroupRemedy is the remedy that gives ringd a control group of its own.
const cgroupRemedy = "in ringd's unit: Delegate=yes (systemd), which gives it a separate control group; " +
	"from a shell: systemd-run --user --scope -p Delegate=yes ringd serve"

func (f Facts) cgroups() said {
	if f.Cgroup2 == "" {
		return said{"memory and processes of this host are not under cgroup v2",
			"start the kernel with systemd.unified_cgroup_hierarchy=1, then " + cgroupRemedy}
	}
	return said{"ringd's control group " + f.Cgroup2 + " is shared with others", cgroupRemedy}
}

func (f Facts) network(e syscall.Errno) said {
	if e == syscall.EPERM || e == syscall.EACCES {
		if f.AppArmorUserns && f.UID != 0 {
			return said{"AppArmor removes the rights of a user namespace from programs without a profile " +
				"(kernel.apparmor_restrict_unprivileged_userns, Ubuntu 23.10 and later)", appArmorRemedy}
		}
		return f.contained("a separate network")
	}
	return f.refusedHere(e)
}

// refusedHere explains the failure of a call that every host of the kind has.
func (f Facts) refusedHere(e syscall.Errno) said {
	if (f.Container != "" || f.Filtered) && (e == syscall.EPERM || e == syscall.EACCES || e == syscall.ENOSYS) {
		return f.contained("a call that the layer needs")
	}
	return said{}
}
