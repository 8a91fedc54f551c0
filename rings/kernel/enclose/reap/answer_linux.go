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
		return talk.Send(order.Control, r.answerTo(a))
	case order.AskWeighed:
		r.memory.weighed()
		return nil
	case order.AskListen:
		return r.listenOn(a)
	default:
		return fmt.Errorf("asked for %q", a.What)
	}
}

func (r *reaper) answerTo(a order.Ask) order.Told {
	t := r.told()
	t.What = a.What
	return t
}

// listenOn hands over listeners on more ports. One that the program uses itself
// is left to it: what it sends there goes no further than the guest.
func (r *reaper) listenOn(a order.Ask) error {
	if r.Listen == nil || len(a.Ports) > order.MaxPorts {
		return fmt.Errorf("asked for %d ports", len(a.Ports))
	}
	t := r.answerTo(a)
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, port := range a.Ports {
		fd, err := anyip.Listen(r.ipv6, port)
		if err != nil {
			continue
		}
		fds = append(fds, fd)
		t.Listeners = append(t.Listeners, order.Listener{Kind: order.ListenPort, Port: port})
	}
	return talk.Send(order.Control, t, fds...)
}
