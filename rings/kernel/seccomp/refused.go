package seccomp

import "slices"

// refused are calls whose denial is neither EPERM nor reported. Ordinary programs try them, and continue
// without them if the kernel says that it has no such thing.
func refused() []row {
	return slices.Concat(hidden(), older(), costly())
}

// hidden calls have arguments behind a pointer, which a filter cannot read.
func hidden() []row {
	return []row{
		{"clone3", absent, "flags behind a pointer; C libraries go on with clone"},
		{"openat2", absent, "modes behind a pointer; programs go on with openat"},
		{"unshare", canary, "never; with no flags it does nothing, and shows that this filter stands"},
	}
}

// older lists calls that programs use on newer kernels and do without on others.
func older() []row {
	return []row{
		{
			"landlock_create_ruleset landlock_add_rule landlock_restrict_self", absent,
			"xz restricts itself where it can",
		},
		{
			"statmount listmount cachestat listns lsm_get_self_attr lsm_list_modules", absent,
			"new ways to ask what a guest need not know",
		},
		{
			"setxattrat getxattrat listxattrat removexattrat file_getattr file_setattr", absent,
			"new ways for calls that are allowed",
		},
		{"rseq_slice_yield", absent, "more time than one's share"},
		{"set_mempolicy mbind set_mempolicy_home_node", absent, "placing memory; allocators do without"},
		{
			"epoll_ctl_old epoll_wait_old _sysctl sysfs ustat uselib nfsservctl lookup_dcookie", absent,
			"no kernel has them any more",
		},
		{
			"afs_syscall create_module get_kernel_syms query_module getpmsg putpmsg security tuxcall vserver", absent,
			"no kernel ever had them, or none has",
		},
	}
}

// costly lists calls that use resources of the host's other users outside of a guest's limits.
func costly() []row {
	return []row{
		{
			"inotify_init inotify_init1 inotify_add_watch inotify_rm_watch", absent,
			"instances are few for a user of the host, and tail looks again without them",
		},
		{"shmget shmat shmctl shmdt", absent, "memory that no limit of a process counts"},
		{"semget semop semtimedop semctl msgget msgsnd msgrcv msgctl", absent, "kernel memory that outlives a process"},
		{
			"mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", absent,
			"kernel memory that outlives a process",
		},
		{
			"io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents", absent,
			"slots that all users of the host share",
		},
		{"sync syncfs", quiet(eperm), "writes out what others have written; sync has no result"},
		{"mlockall munlockall", quiet(eperm), "all of a process in memory, when programs can do without"},
		{"ioprio_set", quiet(eperm), "before other users of a disk"},
		{
			"sched_setaffinity", quiet(eperm),
			"more processors than a guest is given; programs without it go on where they are",
		},
		{
			"fallocate", quiet(eopnotsupp),
			"room on a disk faster than it is written, and than anyone sees it; C libraries write instead",
		},
	}
}
