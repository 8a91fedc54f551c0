package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/conn"
	"github.com/ringd/ringd/rings/kernel/order"
	"github.com/ringd/ringd/rings/kernel/spawn"
)

// plain starts a guest without the layers: its own process group away from any
// terminal, no environment but the one given, the connection as descriptor 3. The
// limits hold before anything is sent to it. What the profile grants is granted
// to nobody here.
func (r *Ring) plain(s executors.Spec) (*guest, error) {
	ours, theirs, err := conn.Pair()
	if err != nil {
		return nil, err
	}
	g := &guest{
		ring: r, agent: s.Agent, executor: s.Executor, kernel: ungranted(s.Kernel),
		conn: conn.New(ours, &r.watching), attestation: plainAttestation(s.Executor), done: make(chan struct{}),
	}
	files := []*os.File{nil, nil, nil, theirs}
	var far []*os.File
	if s.Streams {
		if g.streams, far, err = conn.NewStreams(g.streamsOf(s)); err == nil {
			copy(files, far)
		}
	}
	if err == nil {
		g.process, err = r.spawn.Plain(s.Argv, s.Env, cmp.Or(s.Dir, "/"), files)
	}
	err = errors.Join(err, theirs.Close(), spawn.CloseFiles(far))
	if g.process == nil {
		return nil, errors.Join(err, g.abandon())
	}
	if err == nil {
		err = limitProcess(g.process.Pid, s)
	}
	if err == nil {
		err = r.keep(g)
	}
	if err == nil && s.Streams {
		err = g.awaitEnd()
	}
	if err != nil {
		return nil, errors.Join(err, g.Kill(), g.abandon())
	}
	return g, nil
}

// ungranted is what a guest without the layers has of a profile: its limits.
func ungranted(k profiles.Kernel) profiles.Kernel {
	k.Read, k.Write, k.Deny, k.Exec, k.Libraries, k.Network = nil, nil, nil, nil, nil, profiles.NetworkOff
	return k
}

// awaitEnd waits for the end of a guest with streams, in the background and
// without a thread, so that its streams end with it and nothing of its group goes
// on.
func (g *guest) awaitEnd() error {
	fd, err := unix.PidfdOpen(g.process.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch guest %d: %w", g.process.Pid, err)
	}
	handle := os.NewFile(uintptr(fd), "guest")
	raw, err := handle.SyscallConn()
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	g.ring.begin(func() {
		err := raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
		_ = errors.Join(err, g.Kill(), handle.Close()) // Kill, or Close of the ring, meets an error again
	})
	return nil
}

// limitProcess sets the resource limits of a guest that waits for its first
// message. There is no limit of processes: the kernel counts them for the whole
// user, and with the threads of every other process of the user among them.
func limitProcess(pid int, s executors.Spec) error {
	for _, l := range limits(s) {
		if l.Resource == unix.RLIMIT_NPROC {
			continue
		}
		var old unix.Rlimit
		if err := unix.Prlimit(pid, l.Resource, nil, &old); err != nil {
			return fmt.Errorf("read limit %s: %w", l.Name, err)
		}
		v := min(l.Value, old.Max)
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set limit %s of process %s: %w", l.Name, strconv.Itoa(pid), err)
		}
	}
	return nil
}

// Address space beside the memory in use: the Go runtime and wazero reserve far
// more than they touch, so the tight limit is that of data.
const reservedBytes = 16 << 30

// spare is how many threads of a reaping init are counted as the guest's.
const spare = 8

// noCore is the limit of core dumps, in bytes: less than any dump has, so that no
// file is made, and the one value for which the kernel starts no program of the
// host's either. At 0 it does start that, as root, and hands it the guest's memory.
const noCore = 1

// limits are the resource limits of a guest. Where both the executor and the
// profile name one the tighter holds.
func limits(s executors.Spec) []order.Limit {
	k := s.Kernel
	cpu := tighter(s.CPU.Milliseconds(), k.CPUMillis)
	memory := tighter(s.MemoryBytes, k.MemoryBytes)
	files := k.Files
	if files <= 0 {
		files = 64
	}
	processes := max(k.Processes, 1)
	if !s.Seals {
		processes += spare
	}
	list := []order.Limit{
		{Name: "CPU", Resource: unix.RLIMIT_CPU, Value: uint64(cpu)/1000 + 1},
		{Name: "FSIZE", Resource: unix.RLIMIT_FSIZE, Value: uint64(tighter(s.FileBytes, k.FileBytes))},
		{Name: "CORE", Resource: unix.RLIMIT_CORE, Value: noCore},
		{Name: "NOFILE", Resource: unix.RLIMIT_NOFILE, Value: uint64(files)},
		{Name: "MEMLOCK", Resource: unix.RLIMIT_MEMLOCK},
		{Name: "MSGQUEUE", Resource: unix.RLIMIT_MSGQUEUE},
		{Name: "RTPRIO", Resource: unix.RLIMIT_RTPRIO},
		{Name: "NPROC", Resource: unix.RLIMIT_NPROC, Value: uint64(processes)},
	}
	if !raceDetector { // it maps terabytes before main
		list = append(list,
			order.Limit{Name: "DATA", Resource: unix.RLIMIT_DATA, Value: uint64(memory)},
			order.Limit{Name: "AS", Resource: unix.RLIMIT_AS, Value: uint64(memory) + reservedBytes})
	}
	return list
}

// tighter is the smaller of two limits, of which 0 is none; 0 when both are.
func tighter(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		a = b
	}
	return max(a, 0)
}
