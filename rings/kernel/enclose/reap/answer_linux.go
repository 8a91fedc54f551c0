package reap

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/enclose/anyip"
	"github.com/ringd/ringd/rings/kernel/enclose/talk"
	"github.com/ringd/ringd/rings/kernel/order"
)

// answer does what the ring asks. An error ends the guest.
func (r *reaper) answer(a order.Ask) error {
	switch a.What {
	case order.AskUsage:
		return talk.Send(order.Control, r.told())
	case order.AskListen:
		return r.listenOn(a.Ports)
	default:
		return fmt.Errorf("asked for %q", a.What)
	}
}

// listenOn hands over listeners on more ports. One that the program uses itself
// is left to it: what it sends there goes no further than the guest.
func (r *reaper) listenOn(ports []uint16) error {
	if r.Listen == nil || len(ports) > order.MaxPorts {
		return fmt.Errorf("asked for %d ports", len(ports))
	}
	t := r.told()
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, port := range ports {
		fd, err := anyip.Listen(r.ipv6, port)
		if err != nil {
			continue
		}
		fds = append(fds, fd)
		t.Listeners = append(t.Listeners, order.Listener{Kind: order.ListenPort, Port: port})
	}
	return talk.Send(order.Control, t, fds...)
}
