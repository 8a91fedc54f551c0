package enclose

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/order"
)

// failed is the exit code of an init that could not build its guest.
const failed = 125

// Main is the whole of init. It returns only when the guest cannot be, or is
// over, with the exit code of the process.
func Main() int {
	// What follows is state of one thread that must reach the program.
	runtime.LockOSThread()
	var o order.Order
	if _, err := receive(order.Control, &o); err != nil {
		return failed
	}
	r := order.Report{Version: order.Version, Layers: map[string]string{order.LayerProcess: "enforced"}}
	if err := check(o); err != nil {
		var f *fault
		if !errors.As(err, &f) {
			f = &fault{layer: order.LayerProcess, kind: order.KindFault, step: "set up", reason: err.Error()}
		}
		f.report(&r)
		return told(send(order.Control, r))
	}
	if err := send(order.Control, r); err != nil {
		return failed
	}
	return told(execute())
}

func told(error) int { return failed }

// check refuses an order that this init does not understand.
func check(o order.Order) error {
	if o.Version != order.Version {
		return broken(order.LayerProcess, "read the order", fmt.Errorf("version %d of the messages, and this init knows %d", o.Version, order.Version))
	}
	return nil
}

// execute waits for Go and becomes the program.
func execute() error {
	var g order.Go
	fds, err := receive(order.Control, &g)
	if err != nil {
		return err
	}
	if len(fds) != g.Files || len(g.Argv) == 0 {
		return errors.New("descriptors missing")
	}
	for i, fd := range fds {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return err
		}
	}
	if err := unix.Chdir(g.Dir); err != nil {
		return err
	}
	return unix.Exec(g.Argv[0], g.Argv, g.Env)
}
