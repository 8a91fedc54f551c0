package proxy

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// pumpDirection is one direction of a tunnel. It waits for bytes before it takes a buffer, so an idle one is
// a goroutine and this struct.
type pumpDirection struct {
	pump     *pump
	dst      relayStream
	in, out  syscall.RawConn
	m        byteMeter
	receive  func(fd uintptr) bool // bound once, because a bound method allocates
	from, to func(fd uintptr) bool

	buf  *[]byte
	pipe *pipe
	n    int // bytes in buf or pipe
	err  error
}

func newDirection(p *pump, dst, src relayStream, m byteMeter) (*pumpDirection, error) {
	in, err := src.SyscallConn()
	if err != nil {
		return nil, err
	}
	out, err := dst.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &pumpDirection{pump: p, dst: dst, in: in, out: out, m: m}, nil
}

func (d *pumpDirection) run() error {
	d.receive = d.receiveReady
	for copied := 0; copied < spliceAfter; copied += d.n {
		if end, err := d.copySome(); end || err != nil {
			return err
		}
	}
	d.from, d.to = d.spliceIn, d.spliceOut
	defer func() { d.pump.pipes.put(d.pipe, d.n == 0) }()
	for {
		end, err := d.spliceSome()
		if errors.Is(err, errNoPipe) {
			end, err = d.copySome()
			d.n = 0
		}
		if end || err != nil {
			return err
		}
	}
}

// copySome moves the bytes of one read, and sets n to their number.
func (d *pumpDirection) copySome() (end bool, err error) {
	d.n, d.err = 0, nil
	if err := d.in.Read(d.receive); err != nil {
		return false, err
	}
	if d.buf == nil {
		return d.err == nil, d.err
	}
	_, err = d.dst.Write((*d.buf)[:d.n])
	d.pump.buffers.Put(d.buf)
	d.buf = nil
	return false, err
}

// receiveReady takes a buffer, reads into it, and keeps it only if bytes were read.
func (d *pumpDirection) receiveReady(fd uintptr) bool {
	buf, ok := d.pump.buffers.Get().(*[]byte)
	if !ok {
		d.err = errors.New("relay: no buffer")
		return true
	}
	may, bounded, wait := d.take(fd, len(*buf))
	if may == 0 {
		d.pump.buffers.Put(buf)
		return !wait
	}
	n, err := retryInterrupted(func() (int, error) { return unix.Read(int(fd), (*buf)[:may]) })
	if d.read(may, n, bounded) {
		d.buf, d.n = buf, n
		return true
	}
	d.pump.buffers.Put(buf)
	return d.emptyRead(n, err)
}

// take returns how many of at most n bytes may be read now. If none may, wait says whether to wait for bytes.
// From a bounded meter it takes only as many as are ready to be read, because another direction that shares
// the limit would miss bytes that are taken and returned later.
func (d *pumpDirection) take(fd uintptr, n int) (may int, bounded, wait bool) {
	if !d.m.Bounded() {
		return n, false, false
	}
	may, wait = d.takeReady(fd, n)
	return may, true, wait
}

// read counts n bytes that were read. It returns false if nothing may be passed on. If a limit was set
// meanwhile, it applies to these bytes, and bytes that were not taken from a bounded meter are not returned
// to one.
func (d *pumpDirection) read(may, n int, bounded bool) bool {
	switch {
	case bounded:
		d.m.Back(may - max(n, 0))
		return n > 0
	case n <= 0:
		return false
	}
	if took := d.m.Take(n); took < n {
		d.m.Back(took)
		d.err = errUsedUp
	}
	return d.err == nil
}

func (d *pumpDirection) takeReady(fd uintptr, n int) (may int, wait bool) {
	ready, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		d.err = fmt.Errorf("relay: how much can be read: %w", err)
		return 0, false
	}
	if ready == 0 {
		// No bytes yet, the end, or an error: only a read can tell.
		var one [1]byte
		ready, err = retryInterrupted(func() (int, error) {
			n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			return n, err
		})
		if ready <= 0 {
			return 0, !d.emptyRead(ready, err)
		}
	}
	if may = d.m.Take(min(ready, n)); may == 0 {
		d.err = errUsedUp
	}
	return may, false
}

// emptyRead handles a read without bytes. It returns false to wait, true for an end or an error.
func (d *pumpDirection) emptyRead(n int, err error) bool {
	if errors.Is(err, unix.EAGAIN) {
		return false
	}
	if n != 0 && d.err == nil {
		d.err = err
	}
	return true
}

// spliceSome moves the ready bytes through a pipe, which it keeps while there are more.
func (d *pumpDirection) spliceSome() (end bool, err error) {
	d.n, d.err = 0, nil
	if err := d.in.Read(d.from); err != nil {
		return false, err
	}
	if d.n == 0 {
		return d.err == nil, d.err
	}
	for d.n > 0 {
		if err := d.out.Write(d.to); err != nil {
			return false, err
		}
		if d.err != nil {
			return false, d.err
		}
	}
	return false, nil
}

func (d *pumpDirection) spliceIn(fd uintptr) bool {
	if d.pipe == nil {
		if d.pipe = d.pump.pipes.get(); d.pipe == nil {
			d.err = errNoPipe
			return true
		}
	}
	may, bounded, wait := d.take(fd, d.pipe.size)
	if may == 0 {
		d.pump.pipes.put(d.pipe, true)
		d.pipe = nil
		return !wait
	}
	n, err := retryInterrupted(func() (int, error) {
		n, err := unix.Splice(int(fd), nil, d.pipe.w, nil, may, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		return int(n), err
	})
	if d.read(may, n, bounded) {
		d.n = n
		return true
	}
	d.pump.pipes.put(d.pipe, n <= 0)
	d.pipe = nil
	return d.emptyRead(n, err)
}

func (d *pumpDirection) spliceOut(fd uintptr) bool {
	n, err := retryInterrupted(func() (int, error) {
		n, err := unix.Splice(d.pipe.r, nil, int(fd), nil, d.n, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		return int(n), err
	})
	switch {
	case n > 0:
		d.n -= n
		return true
	case errors.Is(err, unix.EAGAIN):
		return false
	case err == nil:
		err = fmt.Errorf("relay: %d bytes stay in a pipe", d.n)
	}
	d.err = err
	return true
}

// retryInterrupted retries a call that a signal interrupted (EINTR).
func retryInterrupted(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
