package guestinit

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// answer handles a request of the ring. An error ends the guest.
func (r *reaper) answer(a initproto.Ask) error {
	switch a.What {
	case initproto.AskUsage:
		return initproto.Send(initproto.Control, r.answerTo(a))
	case initproto.AskWeighed:
		r.memory.weighed()
		return nil
	case initproto.AskListen:
		return r.listenOn(a)
	default:
		return fmt.Errorf("asked for %q", a.What)
	}
}

func (r *reaper) answerTo(a initproto.Ask) initproto.Told {
	t := r.usageSoFar()
	t.What = a.What
	return t
}

// listenOn passes listeners on more ports to the ring. A port that the program uses itself is left to it:
// packets sent there do not leave the guest.
func (r *reaper) listenOn(a initproto.Ask) error {
	if r.Listen == nil || len(a.Ports) > initproto.MaxPorts {
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
		fd, err := Listen(r.ipv6, port)
		if err != nil {
			continue
		}
		fds = append(fds, fd)
		t.Listeners = append(t.Listeners, initproto.Listener{Kind: initproto.ListenPort, Port: port})
	}
	return initproto.Send(initproto.Control, t, fds...)
}
