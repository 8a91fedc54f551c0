package seccomp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// sealedAllows are calls that a guest makes after its seal, as they were traced
// with the tests of the JavaScript executor, with and without the race detector.
const sealedAllows = `read:3 write:3 pread64:4 recvfrom:3,1,1,64 close:3 sendmsg:4 epoll_pwait:7 epoll_ctl:7 ioctl:2,0x5401
	mmap:0,4096,3,0x4022 mmap:1,4096,3,0x12,6 mmap:0,4096,0,0x22 munmap:1,1 madvise:1,1,4 madvise:1,1,15 mprotect:1,1,3
	clone:0x50f00 clone:0x3d0f00 set_robust_list:1,24 rseq:1,32 futex:1 sched_yield nanosleep:1 sched_getaffinity:0,128
	rt_sigaction:10 rt_sigprocmask:2 rt_sigreturn sigaltstack:0 tgkill:1,1,23 getpid gettid restart_syscall
	clock_gettime:2 getrandom:1,8 prctl:0x53564d41,0 prctl:21 prctl:39 prctl:66 exit exit_group:1`

// sealedRefuses is what a program that broke out would try.
const sealedRefuses = `open:1 openat:0xffffff9c,1 openat2:3 creat:1 execve:1 execveat:3 fork vfork clone:17 clone:0x4111
	clone:0x10050f00 socket:2,1 socket:1,1 socketpair:1,1 connect:3,1 bind:3 listen:3 accept4:3 sendto:3,1,1,0,1,16 sendmsg:3,1
	sendmmsg:3 recvmsg:3 recvmmsg:3 dup:3 dup2:3,9 dup3:3,9 pipe pipe2:1 fcntl:3,1030 memfd_create:1,9 eventfd2:0
	epoll_create1:0 timerfd_create:0 signalfd4:3 pidfd_open:1 inotify_init1:0 mmap:0,4096,5,0x22 mmap:0,4096,7,0x22 mmap:0,4096,4,2,3 mmap:0,4096,3,0x40022
	mprotect:1,1,5 mprotect:1,1,4 pkey_mprotect:1,1,5 mremap:1 shmat:1 personality:0x400000 ptrace:16 process_vm_readv:1
	process_vm_writev:1 kill:1,9 kill:0xffffffff,9 tkill:1,9 rt_sigqueueinfo:1 pidfd_send_signal:3 unshare:0x10000000 setns:3
	mount:1 umount2:1 chroot:1 pivot_root:1 bpf:0 perf_event_open:1 userfaultfd:0 io_uring_setup:1 keyctl:0 add_key:1
	prctl:38,1 prctl:4,1 prctl:22,2 prctl:65,0 seccomp:1 prlimit64:0,7,1 setrlimit:7,1 ioctl:0,0x5412 ioctl:3,0x8913 readlink:1
	readlinkat:3 stat:1 fstat:3 newfstatat:3,1 statx:3,1 getdents64:3 getcwd:1 chdir:1 unlink:1 unlinkat:3,1 rename:1 mkdir:1 chmod:1
	truncate:1 ftruncate:3 pwrite64:3 writev:3 readv:3 lseek:3 sendfile:1 splice:1 vmsplice:1 setsid setpgid:0 uname:1 sysinfo:1
	getppid getuid times:1 capset:1 setuid:0 sched_setaffinity:0 setpriority:0 wait4:1 arch_prctl:0x1002 modify_ldt:1
	getsockopt:3 setsockopt:3,1,26 shutdown:3`

func calls(t *testing.T, text string) (out [][]string) {
	t.Helper()
	for w := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(w, ":")
		out = append(out, append([]string{name}, strings.FieldsFunc(rest, func(r rune) bool { return r == ',' })...))
	}
	return out
}

func TestSeal(t *testing.T) {
	for _, tt := range []struct {
		text string
		want map[bool]uint32 // by notify
	}{
		{sealedAllows, map[bool]uint32{false: ok, true: ok}},
		{sealedRefuses, map[bool]uint32{false: seccomp.RetKill, true: seccomp.RetNotify}},
	} {
		for _, c := range calls(t, tt.text) {
			for _, arch := range architectures() {
				for notify, want := range tt.want {
					args := make([]string, 0, len(c)-1)
					for i, v := range c[1:] {
						args = append(args, fmt.Sprintf("%d=%s", i, v))
					}
					a := arguments(t, args)
					got, has := ask(t, seal(t, arch, notify), arch, c[0], a[:]...)
					if !has {
						continue
					}
					if got != want {
						t.Errorf("%s %v: %#x, want %#x", arch, c, got, want)
					}
				}
			}
		}
	}
}

// TestSealCanaries: what a guest tries to see that its seal stands.
func TestSealCanaries(t *testing.T) {
	for _, arch := range architectures() {
		for _, notify := range []bool{false, true} {
			p := seal(t, arch, notify)
			for _, tt := range []struct {
				call string
				args []uint64
				want uint32
			}{
				{"dup", []uint64{0xffffffff}, eperm},
				{"dup", []uint64{1<<64 - 1}, eperm},
				{"mprotect", []uint64{0, 0, 4}, eperm},
				{"clone3", []uint64{1, 88}, enosys},
			} {
				if got, _ := ask(t, p, arch, tt.call, tt.args...); got != tt.want {
					t.Errorf("%s %s: %#x", arch, tt.call, got)
				}
			}
			// A length with nothing in its low half is still a length.
			if got, _ := ask(t, p, arch, "mprotect", 4096, 1<<32, 4); got == eperm || got == ok {
				t.Errorf("%s: code in 4 GiB: %#x", arch, got)
			}
		}
	}
}

// TestSealOnly: the seal takes away and never gives. What it allows, the filter
// beneath allows too, so that a guest can run under both.
func TestSealOnly(t *testing.T) {
	for _, arch := range architectures() {
		below := build(t, seccomp.Spec{Arch: arch, Seals: true, JIT: true})
		for _, c := range calls(t, sealedAllows) {
			args := make([]string, 0, len(c)-1)
			for i, v := range c[1:] {
				args = append(args, fmt.Sprintf("%d=%s", i, v))
			}
			a := arguments(t, args)
			if got, has := ask(t, below, arch, c[0], a[:]...); has && got != ok {
				t.Errorf("%s %v: %#x", arch, c, got)
			}
		}
	}
}
