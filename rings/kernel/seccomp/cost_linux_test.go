package seccomp_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// bench is a thread of its own, under a filter or none, that times calls.
type bench struct {
	name string
	spec *seccomp.Spec
	ask  chan func()
	took chan time.Duration
	fail chan error
	best map[string]time.Duration
}

const batch = 2000

func (b *bench) loop() {
	runtime.LockOSThread() // for good: the filter stays on this thread
	if b.spec != nil {
		p, err := seccomp.Build(*b.spec)
		if err == nil {
			err = install(p, 0)
		}
		if err != nil {
			b.fail <- err
			return
		}
	}
	b.fail <- nil
	for call := range b.ask {
		begin := time.Now()
		for range batch {
			call()
		}
		b.took <- time.Since(begin)
	}
}

// use prints what a call costs under some filters: of many short batches that take
// turns the best, since other programs run too.
func use() error {
	wide := seccomp.Spec{Arch: runtime.GOARCH, Network: initproto.NetworkOwn, Processes: true, Sessions: true, WX: true}
	benches := []*bench{{name: "no filter"}, {name: "tight", spec: &seccomp.Spec{Arch: runtime.GOARCH}},
		{name: "wide", spec: &wide}}
	for _, b := range benches {
		b.ask, b.took, b.fail = make(chan func()), make(chan time.Duration), make(chan error)
		b.best = map[string]time.Duration{}
		go b.loop()
		if err := <-b.fail; err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	fd := null.Fd()
	for _, c := range []struct {
		name string
		call func()
	}{
		{"getppid", func() { _, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) }},
		{"read", func() { _, _, _ = unix.RawSyscall(unix.SYS_READ, fd, 0, 0) }},
		{"fcntl", func() { _, _, _ = unix.RawSyscall(unix.SYS_FCNTL, fd, unix.F_GETFL, 0) }},
		{"openat", func() { _, _, _ = unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), 0, 0, 0, 0, 0) }},
		{"mmap", func() { _, _, _ = unix.RawSyscall6(unix.SYS_MMAP, 0, 0, 1, 2, 0, 0) }},
	} {
		for range 200 {
			for _, b := range benches {
				b.ask <- c.call
				if d := <-b.took; b.best[c.name] == 0 || d < b.best[c.name] {
					b.best[c.name] = d
				}
			}
		}
		fmt.Printf("%s:", c.name)
		for _, b := range benches {
			fmt.Printf("  %s %.1f ns", b.name, float64(b.best[c.name].Nanoseconds())/batch)
		}
		fmt.Println()
	}
	return nil
}

// TestCost reports what a filter costs, with -v; it asserts only that the calls
// are made.
func TestCost(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	out, err := inside(t, roleUse, nil).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("\n%s", out)
}
