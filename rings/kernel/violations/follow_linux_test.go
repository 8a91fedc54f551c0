package violations_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/violations"
)

const roleLandlocked = "watch-test-landlocked"

// landlocked may read no file, and tries one for each line it reads.
func landlocked() error {
	runtime.LockOSThread()
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs), 0)
	if e != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", e)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", e)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		_, err := unix.Open(in.Text(), unix.O_RDONLY, 0)
		fmt.Println(text(err))
	}
	return in.Err()
}

// audit turns the kernel's audit log on or off, and says whether it was on.
func audit(t *testing.T, on bool) (was bool, err error) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	ask := func(kind uint16, flags uint16, body []byte) ([]byte, error) {
		m := make([]byte, 16, 16+len(body))
		binary.NativeEndian.PutUint32(m, uint32(16+len(body)))
		binary.NativeEndian.PutUint16(m[4:], kind)
		binary.NativeEndian.PutUint16(m[6:], flags)
		if err := unix.Sendto(fd, append(m, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		b := make([]byte, 4096)
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			return nil, err
		}
		if binary.NativeEndian.Uint16(b[4:]) == unix.NLMSG_ERROR {
			if e := int32(binary.NativeEndian.Uint32(b[16:])); e != 0 {
				return nil, unix.Errno(-e)
			}
		}
		return b[:n], nil
	}
	status, err := ask(1000, unix.NLM_F_REQUEST, nil)
	if err != nil || len(status) < 24 {
		return false, errors.Join(err, errors.New("no status"))
	}
	was = binary.NativeEndian.Uint32(status[20:]) != 0
	set := make([]byte, 40) // struct audit_status: a mask with the switch alone
	binary.NativeEndian.PutUint32(set, 1)
	if on {
		binary.NativeEndian.PutUint32(set[4:], 1)
	}
	_, err = ask(1001, unix.NLM_F_REQUEST|unix.NLM_F_ACK, set)
	return was, err
}

// What Landlock refuses is seen, or it is said why not and what helps. The audit
// log of this host is turned on for a moment only where the tests must all run.
func TestFollow(t *testing.T) {
	var routines sync.WaitGroup
	defer routines.Wait()
	goes := func(f func()) { routines.Go(f) }
	f, err := violations.Follow(goes)
	switch {
	case err == nil:
	case !errors.Is(err, violations.ErrUnseen):
		t.Fatal(err)
	case errors.Is(err, unix.EPERM):
		if !strings.Contains(err.Error(), "CAP_AUDIT_READ") {
			t.Errorf("no remedy: %v", err)
		}
		return
	case os.Getenv("RINGD_REQUIRE_KERNEL") != "1":
		if !strings.Contains(err.Error(), "auditctl -e 1") {
			t.Errorf("no remedy: %v", err)
		}
		t.Skip(err)
	default:
		was, err := audit(t, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := audit(t, was); err != nil {
				t.Error(err)
			}
		})
		if f, err = violations.Follow(goes); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	}()
	t.Run("a guest", func(t *testing.T) { follow(t, f, nil) })
	t.Run("not on record", func(t *testing.T) { follow(t, f, errors.New("the disk is full")) })
}

func follow(t *testing.T, f *violations.Follower, report error) {
	file := t.TempDir() + `/secret "file"`
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", roleLandlocked)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	seen, ended := make(chan violations.Violation, 16), make(chan error, 1)
	stop := f.Guest(cmd.Process.Pid, violations.Told{
		Report: func(v violations.Violation) error { seen <- v; return report },
		End:    func(_ violations.Violation, err error) { ended <- err },
	})
	defer stop()
	fmt.Fprintln(in, file)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		unavailable(t, "no Landlock here: %v", err)
	}
	if strings.TrimSpace(line) != "EACCES" {
		t.Fatalf("opened: %s", line)
	}
	want := violations.Violation{Layer: "landlock", Call: "fs.read_file", Detail: file, PID: cmd.Process.Pid, Count: 1}
	if d := cmp.Diff(want, <-seen); d != "" {
		t.Error(d)
	}
	if report != nil && !errors.Is(<-ended, report) {
		t.Error("the guest was not ended")
	}
}
