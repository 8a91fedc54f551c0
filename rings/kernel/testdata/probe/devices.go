package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// devices are probes of what /dev, /proc and /sys give. They only open: nothing
// is written to what opens.
func devices() map[string]probe {
	m := map[string]probe{
		"d_proc_tree":      func(args) string { return processes() },
		"d_tty":            func(args) string { return open("/dev/tty", unix.O_RDWR) },
		"d_ptmx":           func(args) string { return open("/dev/ptmx", unix.O_RDWR) },
		"d_pts":            func(args) string { return open("/dev/pts", unix.O_RDONLY) },
		"d_null":           func(args) string { return open("/dev/null", unix.O_RDWR) },
		"d_urandom":        func(args) string { return open("/dev/urandom", unix.O_RDONLY) },
		"d_stdin":          func(args) string { return open("/dev/stdin", unix.O_RDONLY) },
		"d_kallsyms":       func(args) string { return symbols() },
		"d_environ_secret": func(args) string { return environment() },
	}
	for id, f := range map[string]struct {
		path  string
		flags int
	}{
		"d_kmsg":            {"/dev/kmsg", unix.O_RDONLY},
		"d_disk":            {"/dev/vda", unix.O_RDONLY},
		"d_mem":             {"/dev/mem", unix.O_RDONLY},
		"d_fuse":            {"/dev/fuse", unix.O_RDWR},
		"d_tun":             {"/dev/net/tun", unix.O_RDWR},
		"d_kvm":             {"/dev/kvm", unix.O_RDWR},
		"d_vsock":           {"/dev/vsock", unix.O_RDWR},
		"d_loop":            {"/dev/loop-control", unix.O_RDWR},
		"d_shm":             {"/dev/shm", unix.O_RDONLY},
		"d_mqueue":          {"/dev/mqueue", unix.O_RDONLY},
		"d_sys":             {"/sys", unix.O_RDONLY},
		"d_sys_cgroup":      {"/sys/fs/cgroup", unix.O_RDONLY},
		"d_bpffs":           {"/sys/fs/bpf", unix.O_RDONLY},
		"d_debugfs":         {"/sys/kernel/debug", unix.O_RDONLY},
		"d_core_pattern":    {"/proc/sys/kernel/core_pattern", unix.O_WRONLY},
		"d_modprobe":        {"/proc/sys/kernel/modprobe", unix.O_WRONLY},
		"d_overcommit":      {"/proc/sys/vm/overcommit_memory", unix.O_WRONLY},
		"d_userns_max":      {"/proc/sys/user/max_user_namespaces", unix.O_WRONLY},
		"d_ip_forward":      {"/proc/sys/net/ipv4/ip_forward", unix.O_WRONLY},
		"d_port_start":      {"/proc/sys/net/ipv4/ip_unprivileged_port_start", unix.O_WRONLY},
		"d_shmmax":          {"/proc/sys/kernel/shmmax", unix.O_WRONLY},
		"d_sysrq":           {"/proc/sysrq-trigger", unix.O_WRONLY},
		"d_kcore":           {"/proc/kcore", unix.O_RDONLY},
		"d_oom_adj":         {"/proc/self/oom_score_adj", unix.O_WRONLY},
		"d_uid_map":         {"/proc/self/uid_map", unix.O_WRONLY},
		"d_setgroups":       {"/proc/self/setgroups", unix.O_WRONLY},
		"d_comm":            {"/proc/self/comm", unix.O_WRONLY},
		"d_attr":            {"/proc/self/attr/exec", unix.O_WRONLY},
		"d_clear_refs":      {"/proc/self/clear_refs", unix.O_WRONLY},
		"d_coredump_filter": {"/proc/self/coredump_filter", unix.O_WRONLY},
		"d_timens":          {"/proc/self/timens_offsets", unix.O_WRONLY},
		"d_loginuid":        {"/proc/self/loginuid", unix.O_WRONLY},
		"d_autogroup":       {"/proc/self/autogroup", unix.O_WRONLY},
		"d_pagemap":         {"/proc/self/pagemap", unix.O_RDWR},
		"d_sched":           {"/proc/self/sched", unix.O_WRONLY},
		"d_keys":            {"/proc/keys", unix.O_RDWR},
		"d_irq":             {"/proc/irq", unix.O_RDWR},
		"d_vmallocinfo":     {"/proc/vmallocinfo", unix.O_RDONLY},
		"d_slabinfo":        {"/proc/slabinfo", unix.O_RDONLY},
		"d_dbus":            {"/run/dbus/system_bus_socket", unix.O_PATH},
		"d_docker":          {"/var/run/docker.sock", unix.O_PATH},
	} {
		m[id] = func(args) string { return open(f.path, f.flags) }
	}
	return m
}

// processes says whether /proc shows more than this guest's few.
func processes() string {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return is(err)
	}
	n := 0
	for _, e := range list {
		if c := e.Name()[0]; c >= '0' && c <= '9' {
			n++
		}
	}
	if n > 3 {
		return "many"
	}
	return "few"
}

// symbols says whether addresses of the kernel can be read.
func symbols() string {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return is(err)
	}
	defer f.Close()
	b := make([]byte, 16)
	if _, err := f.Read(b); err != nil {
		return is(err)
	}
	if string(b) == "0000000000000000" {
		return "zeros"
	}
	return "addresses"
}

// environment says whether there is any variable that was not given.
func environment() string {
	for _, e := range os.Environ() {
		return e
	}
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return is(err)
	}
	if len(b) > 0 {
		return "content"
	}
	return "empty"
}
