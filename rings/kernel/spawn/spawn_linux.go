package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Spawner starts processes. It is safe for concurrent use.
type Spawner struct {
	requests chan request
	done     chan struct{} // closed when the thread has ended
	null     *os.File
	program  []byte         // the program that Init starts, or nil
	image    *os.File       // a sealed copy in memory; only the thread uses it
	turns    processorTurns // only the thread uses it

	mu     sync.Mutex
	closed bool
	spare  *started // nil if none waits
}

// started is an init that waits for its order.
type started struct {
	process *os.Process
	control *Control
	place   Place
}

type request struct {
	argv  []string // if image is set, argv[0] is replaced
	image bool
	free  bool // may run on any processor
	attr  *os.ProcAttr
	reply chan<- reply
}

type reply struct {
	process *os.Process
	err     error
}

// New starts the thread. The caller closes the Spawner.
func New(c Config) (*Spawner, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s := &Spawner{
		requests: make(chan request), done: make(chan struct{}), null: null, program: c.Image,
		turns: processorTurns{each: max(c.Processors, 1)},
	}
	ready := make(chan error, 1)
	c.Go(func() { s.thread(c.Go, ready) })
	if err := <-ready; err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

// sealed copies a program into memory that cannot be changed any more.
func sealed(image []byte) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("ringd-init", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3, on which each such file is executable
		fd, err = unix.MemfdCreate("ringd-init", flags)
	}
	if err != nil && missing(err) {
		return nil, &Refused{initproto.LayerNamespaces, "memfd_create", err}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the init of guests in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "ringd-init")
	_, err = f.Write(image)
	if err == nil {
		err = seal(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the init of guests in memory: %w", err), f.Close())
	}
	return f, nil
}

// seal makes a file unchangeable. On a busy host the kernel itself may still hold pages of the last write. It
// waits for them and then returns EBUSY.
func seal(f *os.File) (err error) {
	for range 5 {
		_, err = unix.FcntlInt(
			f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL,
		)
		if !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	return err
}

// thread forks on a thread of its own, which is not the first of this process: the first keeps the processors
// from which guests get theirs.
func (s *Spawner) thread(start func(func()), ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		s.serve(ready)
		return
	}
	locked := make(chan struct{})
	start(func() { // on another thread, while this one is in use
		runtime.LockOSThread()
		close(locked)
		s.serve(ready)
	})
	<-locked
	runtime.UnlockOSThread()
}

// serve forks until requests is closed. It never unlocks its thread, so the thread ends with it, and with the
// thread every process that is still alive.
func (s *Spawner) serve(ready chan<- error) {
	defer close(s.done)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		ready <- &Refused{initproto.LayerPrivileges, "give up new privileges", err}
		return
	}
	ready <- nil
	for q := range s.requests {
		p, err := s.fork(q)
		q.reply <- reply{process: p, err: err}
	}
}

func (s *Spawner) fork(q request) (*os.Process, error) {
	// Descriptors with which this process itself was started are not marked, and a guest must not have them.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, &Refused{initproto.LayerDescriptors, "mark descriptors", err}
	}
	processors, err := s.turns.pin(q.free)
	if err != nil {
		return nil, err
	}
	p, err := s.forked(q)
	s.turns.record(p, processors)
	return p, err
}

// forked starts a process on the processors of this thread.
func (s *Spawner) forked(q request) (*os.Process, error) {
	if !q.image {
		return os.StartProcess(q.argv[0], q.argv, q.attr)
	}
	if s.program == nil {
		return nil, errors.New("there is no init of guests in this build")
	}
	if s.image == nil { // also after a failure: the host may have been fixed
		var err error
		if s.image, err = sealed(s.program); err != nil {
			return nil, err
		}
	}
	// Between fork and exec the child moves its descriptors to just above the highest of them. The descriptor
	// of the program must be higher still.
	least := 0
	for _, f := range q.attr.Files {
		if f != nil {
			least = max(least, int(f.Fd()))
		}
	}
	fd, err := unix.FcntlInt(s.image.Fd(), unix.F_DUPFD_CLOEXEC, least+2*len(q.attr.Files)+4)
	if err != nil {
		return nil, fmt.Errorf("find a descriptor: %w", err)
	}
	p, err := os.StartProcess("/proc/self/fd/"+strconv.Itoa(fd), q.argv, q.attr)
	if err != nil && missing(err) {
		err = &Refused{initproto.LayerNamespaces, "make namespaces", err}
	}
	return p, errors.Join(err, unix.Close(fd))
}

// missing reports whether an error of a fork says that the host does not give namespaces, or not to this user.
// A shortage of a resource is not that.
func missing(err error) bool {
	for _, e := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSYS, unix.ENOSPC, unix.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (s *Spawner) start(q request) (*os.Process, error) {
	answer := make(chan reply, 1)
	q.reply = answer
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.requests <- q
	s.mu.Unlock()
	a := <-answer
	return a.process, a.err
}

// Unconfined starts a program with files as its descriptors. nil is the null device for the first three, and no
// descriptor for others. The program has a session of its own, the given environment and folder, no_new_privs,
// and dies with this process. If free is set it runs on any processor, otherwise on its share of them.
func (s *Spawner) Unconfined(argv, env []string, dir string, files []*os.File, free bool) (*os.Process, error) {
	if env == nil {
		env = []string{} // nil would be the environment of this process
	}
	process, err := s.start(request{argv: argv, free: free, attr: &os.ProcAttr{
		Dir: dir, Env: env, Files: s.standard(files),
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}})
	if err != nil {
		return nil, err
	}
	if err := weigh(process); err != nil {
		return nil, errors.Join(err, End(process))
	}
	return process, nil
}

func (s *Spawner) standard(files []*os.File) []*os.File {
	out := make([]*os.File, max(3, len(files)))
	copy(out, files)
	for i := range 3 {
		if out[i] == nil {
			out[i] = s.null
		}
	}
	return out
}

// Place says where the init of a guest runs.
type Place struct {
	// UID and GID are the guest's, and the same on the host. If this process is root, init begins as root of
	// its namespace and then changes to them.
	UID, GID int
	// Group is the open folder of a control group, or nil.
	Group *os.File
	// Stays is set for orders with Reap only, whose programs may start threads and processes. They run on their
	// share of the processors, others on any.
	Stays bool
}

// namespaces of a guest.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// setup are the capabilities that init needs to build a guest as an ordinary user, to which the namespace gives
// none. It drops all of them.
func setup() []uintptr {
	return []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP,
		unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE,
	}
}

// oneThread stops the threads of init from looking for work that does not exist. The environment of init does
// not reach the program.
const oneThread = "GOMAXPROCS=1"

// Init returns a process of the image in namespaces of its own, with nothing but the null device and its
// control socket: the spare one, or a new one. The caller closes the Control and waits for the process. A
// *Refused error says that the host does not give that.
func (s *Spawner) Init(p Place) (*os.Process, *Control, error) {
	if i := s.takeSpare(p); i != nil {
		return i.process, i.control, nil
	}
	return s.init(p)
}

// Spare starts an init for a later Init of the same place, unless one waits. It is not bound to any guest yet,
// so it fits each guest without a control group.
func (s *Spawner) Spare(p Place) error {
	s.mu.Lock()
	waits := s.spare != nil || s.closed
	s.mu.Unlock()
	if waits || p.Group != nil {
		return nil
	}
	process, control, err := s.init(p)
	if err != nil {
		return err
	}
	i := &started{process, control, p}
	s.mu.Lock()
	if s.spare == nil && !s.closed {
		s.spare, i = i, nil
	}
	s.mu.Unlock()
	return i.drop()
}

// takeSpare returns the spare init if it fits and is alive.
func (s *Spawner) takeSpare(p Place) *started {
	s.mu.Lock()
	i := s.spare
	if i == nil || p != i.place {
		s.mu.Unlock()
		return nil
	}
	s.spare = nil
	s.mu.Unlock()
	if i.control.Ready() { // it has sent nothing yet, so this is its end
		_ = i.drop() // at worst its process ID is left
		return nil
	}
	return i
}

// drop ends an init without an owner. nil is allowed.
func (i *started) drop() error {
	if i == nil {
		return nil
	}
	return errors.Join(End(i.process), i.control.Close())
}

func (s *Spawner) init(p Place) (*os.Process, *Control, error) {
	ours, theirs, err := packets()
	if err != nil {
		return nil, nil, err
	}
	files := make([]*os.File, initproto.Control+1)
	copy(files, []*os.File{s.null, s.null, s.null})
	files[initproto.Control] = theirs
	sys := &syscall.SysProcAttr{
		Cloneflags: namespaces, Setsid: true, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: p.UID, HostID: p.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: p.GID, HostID: p.GID, Size: 1}},
	}
	if os.Getuid() == 0 {
		root := syscall.SysProcIDMap{Size: 1}
		sys.UidMappings = append(sys.UidMappings, root)
		sys.GidMappings = append(sys.GidMappings, root)
		sys.GidMappingsEnableSetgroups = true // so that groups can be cleared
	} else {
		sys.AmbientCaps = setup()
	}
	if p.Group != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(p.Group.Fd())
	}
	argv := []string{"ringd-init"}
	if p.Stays {
		argv = append(argv, initproto.Stays)
	}
	process, err := s.start(request{image: true, free: !p.Stays, argv: argv, attr: &os.ProcAttr{
		Dir: "/", Env: []string{oneThread}, Files: files, Sys: sys,
	}})
	runtime.KeepAlive(p.Group)
	if err == nil { // init waits for its order, so no program has begun
		err = weigh(process)
	}
	if err = errors.Join(err, theirs.Close()); err != nil {
		if process != nil {
			err = errors.Join(err, End(process))
		}
		return nil, nil, errors.Join(err, ours.Close())
	}
	return process, ours, nil
}

// Users returns a user namespace that swaps the users a and b and maps all others to themselves. Mounts are
// mapped by it. This process must be root. The caller closes it.
func (s *Spawner) Users(a, b int) (*os.File, error) {
	const all = 1<<32 - 1
	a, b = min(a, b), max(a, b)
	var users []syscall.SysProcIDMap
	for _, m := range []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: 0, Size: a}, {ContainerID: a, HostID: b, Size: 1},
		{ContainerID: a + 1, HostID: a + 1, Size: b - a - 1},
		{ContainerID: b, HostID: a, Size: 1}, {ContainerID: b + 1, HostID: b + 1, Size: all - b - 1},
	} {
		if m.Size > 0 {
			users = append(users, m)
		}
	}
	ours, theirs, err := packets()
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, initproto.Control+1)
	copy(files, []*os.File{s.null, s.null, s.null})
	files[initproto.Control] = theirs
	process, err := s.start(request{image: true, free: true, argv: []string{"ringd-init"}, attr: &os.ProcAttr{
		Dir: "/", Env: []string{oneThread}, Files: files, Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, Setsid: true, Pdeathsig: syscall.SIGKILL, UidMappings: users,
			GidMappings: []syscall.SysProcIDMap{{Size: all}}, GidMappingsEnableSetgroups: true,
		},
	}})
	if err = errors.Join(err, theirs.Close()); process == nil {
		return nil, errors.Join(err, ours.Close())
	}
	// The process waits for an order that never comes.
	f, failed := os.Open("/proc/" + strconv.Itoa(process.Pid) + "/ns/user")
	if err = errors.Join(err, failed, End(process), ours.Close()); err != nil && f != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

// End kills an init, which may be dead, and waits for it.
func End(p *os.Process) error {
	err := p.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_, failed := p.Wait()
	return errors.Join(err, failed)
}

// Null is the null device. Close of the Spawner closes it.
func (s *Spawner) Null() *os.File { return s.null }

// Close ends the thread, and with it the processes that it started. It may be called more than once.
func (s *Spawner) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	spare := s.spare
	s.spare = nil
	if first {
		close(s.requests)
	}
	s.mu.Unlock()
	err := spare.drop()
	<-s.done
	if !first {
		return err
	}
	return errors.Join(err, s.closeFiles())
}

func (s *Spawner) closeFiles() error {
	err := s.null.Close()
	if s.image != nil {
		err = errors.Join(err, s.image.Close())
	}
	return err
}
