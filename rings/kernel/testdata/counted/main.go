// Counted uses up what the kernel counts for a user, or shows what is left of it.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// run does what the first argument says, prints one line, and stays until its input
// ends.
func run(args []string) error {
	line, err := do(args)
	if err != nil {
		return err
	}
	fmt.Println(line)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func do(args []string) (string, error) {
	switch args[0] {
	case "id":
		return fmt.Sprint(os.Getuid(), os.Geteuid(), os.Getgid()), nil
	case "pipes": // as many as there are, or so many
		n, err := strconv.Atoi(args[1])
		for i := range n {
			if err := syscall.Pipe2(make([]int, 2), syscall.O_CLOEXEC); err != nil {
				return fmt.Sprintf("%d pipes, %v", i, err), nil
			}
		}
		return fmt.Sprintf("%d pipes", n), err
	case "watches":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return "", err
		}
		return watches(n)
	case "locks", "locking":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return "", err
		}
		if args[0] == "locking" { // it may be ended before there are all
			go locks(n)
			return "locking", nil
		}
		return locks(n)
	case "mapped", "mapping":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return "", err
		}
		if args[0] == "mapping" {
			go mapped(n)
			return "mapping", nil
		}
		return mapped(n)
	case "accepted", "ended":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return "", err
		}
		return accepted(n, args[0] == "ended")
	case "closed", "reset", "connecting": // connections that nobody accepts, and that are gone at their other end
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return "", err
		}
		if args[0] == "connecting" {
			go unaccepted(n, true)
			return "connecting", nil
		}
		return unaccepted(n, args[0] == "reset")
	case "hidden": // in a socket
		line, err := watches(100)
		if err != nil {
			return "", err
		}
		p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		e, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			return "", err
		}
		return line, syscall.Sendmsg(p[0], []byte("x"), syscall.UnixRights(e), nil, 0)
	case "room":
		return room()
	case "write":
		return write(args[1])
	default:
		return "", fmt.Errorf("no such thing as %s", args[0])
	}
}

// watches makes so many with one file and one number for another: one is of a file
// and of the number that it had when it was made.
func watches(n int) (string, error) {
	const numbers = 100
	var eps []int
	for range (n + numbers - 1) / numbers {
		e, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			return "", err
		}
		eps = append(eps, e)
	}
	p := make([]int, 2)
	if err := syscall.Pipe2(p, syscall.O_CLOEXEC); err != nil {
		return "", err
	}
	made := 0
	for i := range numbers {
		as := 2000 + i
		if err := syscall.Dup3(p[0], as, syscall.O_CLOEXEC); err != nil {
			return "", err
		}
		for _, e := range eps {
			if made == n {
				break
			}
			if err := syscall.EpollCtl(e, syscall.EPOLL_CTL_ADD, as,
				&syscall.EpollEvent{Events: syscall.EPOLLIN}); err != nil {
				return fmt.Sprintf("%d watches, %v", made, err), nil
			}
			made++
		}
		if err := syscall.Close(as); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d watches", made), nil
}

// mapped makes so many mappings of one page of shared memory, each a file of its own
// without a descriptor. Their rights differ from one to the next, so that none merge.
func mapped(n int) (string, error) {
	for i := range n {
		if _, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|i&1*syscall.PROT_WRITE,
			syscall.MAP_SHARED|syscall.MAP_ANON); err != nil {
			return fmt.Sprintf("%d files, %v", i, err), nil
		}
	}
	return fmt.Sprintf("%d files", n), nil
}

// locks makes so many of single bytes, of one file, and never two that touch.
func locks(n int) (string, error) {
	f, err := os.Create("/tmp/locked")
	if err != nil {
		return "", err
	}
	for i := range n {
		l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(2 * (n - i)), Len: 1}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l); err != nil {
			return fmt.Sprintf("%d locks, %v", i, err), nil
		}
	}
	kept = f
	return fmt.Sprintf("%d locks", n), nil
}

// kept keeps the locks: they go with the file.
var kept *os.File

// unaccepted makes so many connections to listeners that take none, and closes its end
// of each, by a reset or in order.
func unaccepted(n int, reset bool) (string, error) {
	const stream, queue = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC, 1000
	var to syscall.Sockaddr
	for i := range n {
		if i%queue == 0 {
			l, err := syscall.Socket(syscall.AF_INET, stream, 0)
			if err != nil {
				return "", err
			}
			at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, byte(i / queue / 250), byte(i/queue%250) + 1}}
			if err := cmp.Or(syscall.Bind(l, at), syscall.Listen(l, 2*queue)); err != nil {
				return "", err
			}
			if to, err = syscall.Getsockname(l); err != nil {
				return "", err
			}
		}
		c, err := syscall.Socket(syscall.AF_INET, stream, 0)
		if err != nil {
			return "", err
		}
		if err := syscall.Connect(c, to); err != nil {
			return fmt.Sprintf("%d connections, %v", i, err), nil
		}
		if reset {
			err = syscall.SetsockoptLinger(c, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		}
		if err := cmp.Or(err, syscall.Close(c)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d connections", n), nil
}

// accepted makes so many connections of this program with itself, and sends a byte over
// each, both ways. With end it closes each before the next.
func accepted(n int, end bool) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	var all []net.Conn
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return fmt.Sprintf("%d connections, %v", len(all)/2, err), nil
		}
		o, err := l.Accept()
		if err != nil {
			return "", err
		}
		if end {
			if err := cmp.Or(c.Close(), o.Close()); err != nil {
				return "", err
			}
			continue
		}
		all = append(all, c, o)
	}
	b := make([]byte, 1)
	for i, c := range all {
		if _, err := c.Write([]byte("x")); err != nil {
			return "", err
		}
		if _, err := all[i^1].Read(b); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d connections", n), nil
}

// room is how many bytes a new pipe takes.
func room() (string, error) {
	p := make([]int, 2)
	if err := syscall.Pipe2(p, syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return "", err
	}
	n, err := syscall.Write(p[1], bytes.Repeat([]byte("x"), 1<<20))
	return fmt.Sprintf("room for %d", n), err
}

// write changes what is in a folder, adds to it, and says whose all of it is.
func write(dir string) (string, error) {
	var whose []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "", err
		}
		if _, err := f.WriteString("more\n"); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new"+strconv.Itoa(len(entries))), nil, 0o600); err != nil {
		return "", err
	}
	if entries, err = os.ReadDir(dir); err != nil {
		return "", err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return "", err
		}
		s, _ := info.Sys().(*syscall.Stat_t)
		whose = append(whose, fmt.Sprintf("%s:%d:%d", e.Name(), s.Uid, s.Gid))
	}
	return strings.Join(whose, " "), nil
}
