package kernel

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// listenSockets are the sockets that an init made in the network of its guest.
type listenSockets struct {
	Listeners []initproto.Listener
	Files     []*os.File
	IPv6      bool
}

// Are reports whether they are exactly the ordered ones.
func (s *listenSockets) Are(l initproto.Listen) bool {
	want := []initproto.Listener{{Kind: initproto.ListenProxy, Port: l.Proxy}}
	for _, p := range l.Ports {
		want = append(want, initproto.Listener{Kind: initproto.ListenPort, Port: p})
	}
	want = append(
		want, initproto.Listener{Kind: initproto.ListenDNS, Port: initproto.DNS},
		initproto.Listener{Kind: initproto.ListenDNS2, Port: initproto.DNS},
	)
	return slices.Equal(s.Listeners, want) && len(s.Files) == len(want)
}

// Close closes the sockets that were not taken.
func (s *listenSockets) Close() error {
	var err error
	for _, f := range s.Files {
		err = errors.Join(err, f.Close())
	}
	s.Files = nil
	return err
}

// listenersConfig is what guestListeners need.
type listenersConfig struct {
	Egress   *proxy.Egress
	Agent    string
	Executor string
	Grants   []profiles.Grants // narrow the agent's profile
	Run      func() string     // run that the guest serves now, or empty
	// Runs returns the deciders of a live run. Each of them has to allow a connection, in addition to the
	// agent's profile. If it returns none, the run is over and nothing is reachable. If Runs is nil, the
	// profile alone decides.
	Runs func(run string) []*profiles.Decider
	// Generation in force, for the record. If nil, it is 0.
	Generation func() int64
	// Ask asks the guest's init to listen on more ports. If it can, the new sockets arrive through Add. If nil,
	// it cannot be asked.
	Ask func(ports []uint16) error
}

// guestListeners are the listeners of one guest. They deny everything until Follow gave them a set. They are
// safe for concurrent use. A nil value has no listeners.
type guestListeners struct {
	cfg     listenersConfig
	guest   *proxy.Guest
	decider atomic.Pointer[profiles.Decider]
	ipv6    bool

	mu     sync.Mutex
	proxy  uint16
	ports  []uint16 // ports that are listened on
	asking bool     // the init reads requests
}

// openListeners serves the sockets of a guest. It owns them from then on, also if it returns an error.
func openListeners(c listenersConfig, s *listenSockets) (*guestListeners, error) {
	d := &guestListeners{cfg: c, ipv6: s.IPv6}
	d.guest = c.Egress.Open(proxy.Holder{
		Agent: c.Agent, Executor: c.Executor, Run: c.Run, Generation: c.Generation,
		Deciders: d.deciders,
	})
	if err := d.serve(s); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// deciders returns the deciders in force: the profile of the agent, and the deciders of the run that the guest
// serves.
func (d *guestListeners) deciders() []*profiles.Decider {
	out := []*profiles.Decider{d.decider.Load()}
	run := d.cfg.Run()
	if d.cfg.Runs == nil || run == "" {
		return out
	}
	more := d.cfg.Runs(run)
	if len(more) == 0 {
		return nil
	}
	return append(out, more...)
}

// Proxy is the port of the proxy.
func (d *guestListeners) Proxy() uint16 { return d.proxy }

// Add serves listeners that the init made on request.
func (d *guestListeners) Add(s *listenSockets) error {
	if d == nil {
		return errors.Join(errors.New("the init of a guest without a network sends listeners"), s.Close())
	}
	return d.serve(s)
}

// serve takes every socket, and closes the rest on an error.
func (d *guestListeners) serve(s *listenSockets) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }() // the served sockets are copies
	if len(s.Listeners) != len(s.Files) {
		return fmt.Errorf(
			"open the listeners of a guest: %d descriptors for %d listeners", len(s.Files), len(s.Listeners),
		)
	}
	var packets net.PacketConn
	for i, l := range s.Listeners {
		if l.Kind == initproto.ListenDNS {
			packets, err = net.FilePacketConn(s.Files[i])
			if err == nil {
				err = d.guest.ServeDNSPackets(packets, d.ipv6)
			}
		} else {
			err = d.stream(l, s.Files[i])
		}
		if err != nil {
			return fmt.Errorf("open the %s listener of a guest: %w", l.Kind, err)
		}
	}
	return nil
}

func (d *guestListeners) stream(l initproto.Listener, f *os.File) error {
	n, err := net.FileListener(f)
	if err != nil {
		return err
	}
	serve := d.guest.ServeTransparent
	switch l.Kind {
	case initproto.ListenProxy:
		d.proxy, serve = l.Port, d.guest.ServeProxy
	case initproto.ListenDNS2:
		serve = func(n net.Listener) error { return d.guest.ServeDNS(n, d.ipv6) }
	case initproto.ListenPort:
		d.mu.Lock()
		if !slices.Contains(d.ports, l.Port) {
			d.ports = append(d.ports, l.Port)
		}
		d.mu.Unlock()
	default:
		return errors.Join(fmt.Errorf("unknown kind %q", l.Kind), n.Close())
	}
	return serve(n)
}

// Follow puts a set in force for the guest. Connections that are no longer allowed stay open until egress
// checks them again.
func (d *guestListeners) Follow(set *runDeciders) {
	if d == nil {
		return
	}
	d.decider.Store(set.Of(d.cfg.Agent, d.cfg.Grants))
	d.ask()
}

// Begin says that the program of the guest has started, and that its init now reads requests for ports that a
// set lists and that have no listener yet.
func (d *guestListeners) Begin() {
	if d == nil || d.cfg.Ask == nil {
		return
	}
	d.mu.Lock()
	d.asking = true
	d.mu.Unlock()
	d.ask()
}

func (d *guestListeners) ask() {
	if more := d.missing(); len(more) > 0 {
		_ = d.cfg.Ask(more) // an init that is gone needs no ports
	}
}

// missing returns the ports to ask for. A port that the init cannot have, because the program uses it, is left
// to the program until the next set.
func (d *guestListeners) missing() (more []uint16) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asking {
		return nil
	}
	for _, p := range listenedPorts(d.decider.Load()) {
		if p != d.proxy && !slices.Contains(d.ports, p) && len(d.ports)+len(more) < initproto.MaxPorts {
			more = append(more, p)
		}
	}
	return more
}

// Close closes the listeners and all open connections. It may be called more than once.
func (d *guestListeners) Close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.asking = false
	d.mu.Unlock()
	d.guest.Close()
}

func decimal(port uint16) string { return strconv.Itoa(int(port)) }
