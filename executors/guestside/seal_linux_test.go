package guestside

// In the package: seal has no exported name. It is for good, so each check runs
// in a process of its own.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const roleSealed = "seal-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == roleSealed {
		os.Exit(sealed(os.Args[2] == "sealed"))
	}
	if len(os.Args) > 1 && os.Args[1] == roleRing {
		os.Exit(ringGuest(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// sealed tries what a sealed process cannot do and prints what it could.
func sealed(first bool) int {
	f, err := os.CreateTemp("", "seal")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.Remove(f.Name())
	if first {
		if err := SealAlone(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	could := func(what string, err error) {
		if err == nil {
			fmt.Print(what, " ")
		}
	}
	_, err = os.Open("/dev/null")
	could("open", err)
	_, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	could("socket", err)
	_, err = unix.MemfdCreate("x", 0)
	could("memfd", err)
	err = unix.Pipe2(make([]int, 2), 0)
	could("pipe", err)
	_, err = f.Write([]byte("x"))
	could("write", err)
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	could("execute", unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC))
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		fmt.Print("dump ")
	}
	return 0
}

func TestSeal(t *testing.T) {
	for role, want := range map[string]string{
		"open":   "open socket memfd pipe write execute dump", // the checks can fail
		"sealed": "",
	} {
		out, err := exec.Command("/proc/self/exe", roleSealed, role).Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", role, err, out)
		}
		got := strings.TrimSpace(string(out))
		if role == "sealed" && got == "execute" && !knowsMDWE() {
			continue // attested as what the kernel has: before Linux 6.3 it cannot be refused
		}
		if got != want {
			t.Errorf("%s: the process could %q, want %q", role, got, want)
		}
	}
}

func knowsMDWE() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	return !errors.Is(err, unix.EINVAL)
}
