package main

import "golang.org/x/sys/unix"

// numbers are calls that are refused by their number alone. Outside they are
// refused for their arguments: bad pointers, descriptors that are not there.
func numbers() map[string]probe {
	m := map[string]probe{}
	bad := ^uintptr(0)
	for id, c := range map[string][]uintptr{
		"n_iouring_enter":     {unix.SYS_IO_URING_ENTER, bad, 1, 0, 0, 0, 0},
		"n_iouring_register":  {unix.SYS_IO_URING_REGISTER, bad, 0, 0, 0},
		"n_iouring_hi":        {unix.SYS_IO_URING_SETUP, 1 << 32, 0},
		"n_io_setup":          {unix.SYS_IO_SETUP, 1, 0},
		"n_mount":             {unix.SYS_MOUNT, 0, 0, 0, 0, 0},
		"n_umount2":           {unix.SYS_UMOUNT2, 0, 0},
		"n_fsopen":            {unix.SYS_FSOPEN, 0, 0},
		"n_fsconfig":          {unix.SYS_FSCONFIG, bad, 0, 0, 0, 0},
		"n_fsmount":           {unix.SYS_FSMOUNT, bad, 0, 0},
		"n_fspick":            {unix.SYS_FSPICK, bad, 0, 0},
		"n_open_tree":         {unix.SYS_OPEN_TREE, bad, 0, 0},
		"n_open_tree_attr":    {467, bad, 0, 0, 0, 0},
		"n_move_mount":        {unix.SYS_MOVE_MOUNT, bad, 0, bad, 0, 0},
		"n_mount_setattr":     {unix.SYS_MOUNT_SETATTR, bad, 0, 0, 0, 0},
		"n_statmount":         {457, 0, 0, 0, 0},
		"n_listmount":         {458, 0, 0, 0, 0},
		"n_listns":            {470, 0, 0, 0, 0},
		"n_pivot_root":        {unix.SYS_PIVOT_ROOT, 0, 0},
		"n_setns":             {unix.SYS_SETNS, bad, 0},
		"n_bpf":               {unix.SYS_BPF, 0, 0, 0},
		"n_perf":              {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0},
		"n_uffd_flags":        {unix.SYS_USERFAULTFD, 1 << 20},
		"n_keyctl":            {unix.SYS_KEYCTL, 0, 0xfffffffd, 0, 0, 0},
		"n_keyctl_join":       {unix.SYS_KEYCTL, 1, 0, 0, 0, 0},
		"n_keyctl_link":       {unix.SYS_KEYCTL, 8, 0xfffffffc, 0xfffffffd, 0, 0},
		"n_add_key":           {unix.SYS_ADD_KEY, 0, 0, 0, 0, 0},
		"n_request_key":       {unix.SYS_REQUEST_KEY, 0, 0, 0, 0},
		"n_init_module":       {unix.SYS_INIT_MODULE, 0, 0, 0},
		"n_finit_module":      {unix.SYS_FINIT_MODULE, bad, 0, 0},
		"n_delete_module":     {unix.SYS_DELETE_MODULE, 0, 0},
		"n_kexec_load":        {unix.SYS_KEXEC_LOAD, 0, 0, 0, 0},
		"n_kexec_file":        {unix.SYS_KEXEC_FILE_LOAD, bad, bad, 0, 0, 0},
		"n_syslog":            {unix.SYS_SYSLOG, 3, 0, 0},
		"n_modify_ldt":        {modifyLDT, 0, 0, 0},
		"n_iopl":              {iopl, 3},
		"n_ioperm":            {ioperm, 0x80, 1, 1},
		"n_kcmp":              {unix.SYS_KCMP, 1, 1, 0, 0, 0},
		"n_pidfd_getfd":       {unix.SYS_PIDFD_GETFD, bad, 0, 0},
		"n_process_vm_readv":  {unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0},
		"n_process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0},
		"n_ptrace":            {unix.SYS_PTRACE, 0x4206, 0, 0, 0},
		"n_memfd_secret":      {unix.SYS_MEMFD_SECRET, 1 << 30},
		"n_fanotify_init":     {unix.SYS_FANOTIFY_INIT, 0, 0},
		"n_fanotify_mark":     {unix.SYS_FANOTIFY_MARK, bad, 0, 0, 0, 0},
		"n_open_by_handle":    {unix.SYS_OPEN_BY_HANDLE_AT, bad, 0, 0},
		"n_name_to_handle":    {unix.SYS_NAME_TO_HANDLE_AT, bad, 0, 0, 0, 0},
		"n_swapon":            {unix.SYS_SWAPON, 0, 0},
		"n_swapoff":           {unix.SYS_SWAPOFF, 0},
		"n_reboot":            {unix.SYS_REBOOT, 0, 0, 0, 0}, // without its magic numbers it does nothing anywhere
		"n_acct":              {unix.SYS_ACCT, bad},
		"n_quotactl":          {unix.SYS_QUOTACTL, bad, 0, 0, 0},
		"n_quotactl_fd":       {unix.SYS_QUOTACTL_FD, bad, 0, 0, 0},
		"n_settimeofday":      {unix.SYS_SETTIMEOFDAY, bad, 0},
		"n_clock_settime":     {unix.SYS_CLOCK_SETTIME, 0, bad},
		"n_adjtimex":          {unix.SYS_ADJTIMEX, bad},
		"n_clock_adjtime":     {unix.SYS_CLOCK_ADJTIME, 0, bad},
		"n_lookup_dcookie":    {unix.SYS_LOOKUP_DCOOKIE, 0, 0, 0},
		"n_nfsservctl":        {unix.SYS_NFSSERVCTL, 0, 0, 0},
		"n_sysfs":             {sysfs, 3},
		"n_ustat":             {ustat, 0, 0},
		"n_move_pages":        {unix.SYS_MOVE_PAGES, 1, 0, 0, 0, 0, 0},
		"n_migrate_pages":     {unix.SYS_MIGRATE_PAGES, 1, 0, 0, 0},
		"n_mbind":             {unix.SYS_MBIND, 0, 0, 99, 0, 0, 0},
		"n_set_mempolicy":     {unix.SYS_SET_MEMPOLICY, 99, 0, 0},
		"n_vmsplice":          {unix.SYS_VMSPLICE, bad, 0, 0, 0},
		"n_process_mrelease":  {448, bad, 0},
		"n_process_madvise":   {unix.SYS_PROCESS_MADVISE, bad, 0, 0, 0, 0},
		"n_lsm_get":           {459, 100, 0, 0, 0},
		"n_lsm_set":           {460, 100, 0, 0, 0},
		"n_setxattrat":        {463, bad, 0, 0, 0, 0, 0},
		"n_file_setattr":      {469, bad, 0, 0, 0, 0},
		"n_unknown":           {9999},
		"n_unknown_max":       {0x3fffffff},
		"n_negative":          {^uintptr(0)},
		"n_x32_getpid":        {x32Bit | 39},
		"n_x32_execve":        {x32Bit | 520, 0, 0, 0},
		"n_x32_ioctl":         {x32Bit | 514, 0, unix.TIOCSTI, 0},
	} {
		m[id] = func(args) string { return sys(c[0], c[1:]...) }
	}
	for id, c := range map[string][]uintptr{
		"n_int80_getpid":  {20},
		"n_int80_socket":  {359, unix.AF_NETLINK, unix.SOCK_RAW, 4},
		"n_int80_unshare": {310, 0},
		"n_int80_execve":  {11, 0, 0, 0},
		"n_int80_ptrace":  {26, 0, 0, 0},
		"n_int80_unknown": {9999},
	} {
		m[id] = func(args) string {
			var v [4]uintptr
			copy(v[:], c)
			r := int32(int80(v[0], v[1], v[2], v[3]))
			if r < 0 && r > -4096 {
				return is(unix.Errno(-r))
			}
			return "ok"
		}
	}
	return m
}
