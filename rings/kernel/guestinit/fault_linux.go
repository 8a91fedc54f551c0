package guestinit

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// fault is why a guest cannot be built: the layer, the step, and the error of the kernel.
type fault struct {
	layer  string
	kind   string
	step   string
	errno  syscall.Errno
	reason string
}

func (f *fault) Error() string {
	if f.errno != 0 {
		return fmt.Sprintf("%s: %s: %v", f.layer, f.step, f.errno)
	}
	return fmt.Sprintf("%s: %s: %s", f.layer, f.step, f.reason)
}

// missing is a step that the host rejects. If the host lacks a resource, it is a fault of this one guest: see
// short.
func missing(layer, step string, err error) error {
	return because(initproto.KindMissing, layer, step, err)
}

// broken is a step that fails for a reason of this one guest.
func broken(layer, step string, err error) error {
	return because(initproto.KindFault, layer, step, err)
}

// lies is a layer that the host reported as set but that has no effect.
func lies(layer, step, reason string) error {
	return &fault{layer: layer, kind: initproto.KindLies, step: step, reason: reason}
}

func because(kind, layer, step string, err error) error {
	f := &fault{layer: layer, kind: kind, step: step, reason: err.Error()}
	errors.As(err, &f.errno)
	if short(f.errno) {
		f.kind = initproto.KindFault
	}
	return f
}

// short reports an errno of a host that has temporarily run out of a resource. It neither says whether a layer
// is available nor whether one is in force. A process that exhausts a resource, such as a guest, must not
// decide what is known about the host from then on.
func short(e syscall.Errno) bool {
	switch e {
	case syscall.ENOMEM, syscall.ENFILE, syscall.EMFILE, syscall.ENOBUFS, syscall.EAGAIN, syscall.EINTR:
		return true
	default:
		return false
	}
}

// report copies the failure into a report.
func (f *fault) report(r *initproto.Report) {
	r.Failed, r.Kind, r.Step, r.Errno, r.Reason = f.layer, f.kind, f.step, int(f.errno), f.reason
}

// asError is the error of a raw call, nil for 0.
func asError(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
