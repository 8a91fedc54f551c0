package guestinit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// wrongListen describes a Listen that init does not support, or returns an empty text.
func wrongListen(o initproto.Order) string {
	l := o.Listen
	if l == nil {
		return ""
	}
	taken := []uint16{0, initproto.DNS, l.Proxy}
	switch {
	case o.Network != initproto.NetworkOwn:
		return "listeners in no network of the guest's own"
	case l.Proxy == 0 || l.Proxy == initproto.DNS:
		return fmt.Sprintf("a proxy on port %d", l.Proxy)
	case len(l.Ports) > initproto.MaxPorts:
		return fmt.Sprintf("%d ports, and at most %d can be", len(l.Ports), initproto.MaxPorts)
	}
	for _, p := range l.Ports {
		if slices.Contains(taken, p) {
			return fmt.Sprintf("port %d is there twice, or is no port", p)
		}
		taken = append(taken, p)
	}
	return ""
}

// setNetwork brings loopback up if the guest has a network of its own.
func (g *guest) setNetwork() error {
	if g.Network != initproto.NetworkOwn {
		return nil
	}
	if err := Up(); err != nil {
		return missing(initproto.LayerNetwork, "bring loopback up", err)
	}
	// The kernel has one allowance for the connections of the whole host.
	for name, most := range map[string]string{
		"tcp_rmem": procfs.ReadSizes, "tcp_wmem": procfs.WriteSizes, "tcp_max_tw_buckets": procfs.Remnants,
	} {
		if err := write("/proc/sys/net/ipv4/"+name, most); err != nil {
			return missing(initproto.LayerNetwork, "bound what the kernel has for connections: "+name, err)
		}
	}
	if g.Listen == nil {
		return nil
	}
	// The next step sets routes by it, whose error would be misleading.
	if err := g.hasLoopback(); err != nil {
		return canary{name: "loopback", layer: initproto.LayerNetwork}.shows(err)
	}
	return nil
}

// setListeners makes every address local, listens, and sends the sockets to the ring at once: init keeps none.
func (g *guest) setListeners() error {
	if g.Listen == nil {
		return nil
	}
	if err := Route(unix.AF_INET); err != nil {
		return missing(initproto.LayerEgress, "make every address local", err)
	}
	switch err := g.routeIPv6(); {
	case err == nil:
		g.ipv6 = true
	case !noIPv6(err):
		return missing(initproto.LayerEgress, "make every address of IPv6 local", err)
	}
	if g.Reap { // which listens on more ports later, without privileges
		if err := write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"); err != nil {
			return missing(initproto.LayerEgress, "open low ports", err)
		}
	}
	list, fds, err := g.listenAll()
	defer closeAll(fds)
	if err != nil {
		return missing(initproto.LayerEgress, "listen", err)
	}
	for _, to := range g.elsewhere() {
		if err := arrives(fds[len(fds)-1], to, initproto.DNS); err != nil {
			return canary{name: "every address is local", layer: initproto.LayerEgress}.shows(err)
		}
	}
	g.proved = append(g.proved, "every address is local")
	r := initproto.Report{Version: initproto.Version, Listeners: list, IPv6: g.ipv6}
	if err := initproto.Send(initproto.Control, r, fds...); err != nil {
		return broken(initproto.LayerEgress, "hand over listeners", err)
	}
	return nil
}

// routeIPv6 makes every address of IPv6 local, if sockets support IPv6.
func (g *guest) routeIPv6() error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	unix.Close(fd)
	return Route(unix.AF_INET6)
}

// noIPv6 reports an error of a host without IPv6, or with IPv6 switched off.
func noIPv6(err error) bool {
	for _, e := range []unix.Errno{
		unix.EAFNOSUPPORT, unix.EOPNOTSUPP, unix.ENOENT, unix.ENODEV, unix.EACCES, unix.EINVAL,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// write writes a setting of the kernel.
func write(name, text string) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// listenAll makes all listeners. That of DNS over TCP is the last. The descriptors that it returns together
// with an error have to be closed too.
func (g *guest) listenAll() (list []initproto.Listener, fds []int, err error) {
	add := func(kind string, port uint16, fd int, failed error) {
		if failed == nil {
			list, fds = append(list, initproto.Listener{Kind: kind, Port: port}), append(fds, fd)
		}
		err = cmp.Or(err, failed)
	}
	fd, failed := proxy(g.Listen.Proxy)
	add(initproto.ListenProxy, g.Listen.Proxy, fd, failed)
	for _, port := range g.Listen.Ports {
		fd, failed = Listen(g.ipv6, port)
		add(initproto.ListenPort, port, fd, failed)
	}
	fd, failed = packets(g.ipv6, initproto.DNS)
	add(initproto.ListenDNS, initproto.DNS, fd, failed)
	fd, failed = Listen(g.ipv6, initproto.DNS)
	add(initproto.ListenDNS2, initproto.DNS, fd, failed)
	return list, fds, err
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// elsewhere are addresses for documentation, which no host has. An IPv4 address is in the form in which the
// kernel maps it into IPv6.
func (g *guest) elsewhere() [][16]byte {
	list := [][16]byte{{10: 0xff, 0xff, 203, 0, 113, 7}}
	if g.ipv6 {
		list = append(list, [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 7})
	}
	return list
}

// hasNetwork: there is nothing but loopback.
func (g *guest) hasNetwork() error {
	text, err := procfs.Read("/proc/thread-self/net/dev")
	if err != nil {
		return err
	}
	if err := onlyLoopback(text); err != nil {
		return err
	}
	return g.hasLoopback()
}

// onlyLoopback reads the table of network devices.
func onlyLoopback(table string) error {
	lo := false
	for line := range strings.Lines(table) {
		name, _, ok := strings.Cut(line, ":")
		if !ok {
			continue // a heading
		}
		switch name = strings.TrimSpace(name); {
		case name == "lo":
			lo = true
		case !slices.Contains(fallbacks(), name):
			return fmt.Errorf("there is a network device %q", name)
		}
	}
	if !lo {
		return errors.New("there is no loopback")
	}
	return nil
}

// fallbacks are the devices that a kernel with drivers of tunnels puts into every new network
// (net.core.fb_tunnels_only_for_init_net). They lead nowhere, and they stay down.
func fallbacks() []string {
	return []string{"tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "sit0", "ip6tnl0", "ip6_vti0", "ip6gre0"}
}

// hasLoopback: a network of its own has loopback, and it is up.
func (g *guest) hasLoopback() error {
	if g.Network != initproto.NetworkOwn {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r)
	}
	if err != nil {
		return fmt.Errorf("ask for lo: %w", err)
	}
	if r.Uint16()&unix.IFF_UP == 0 {
		return errors.New("loopback is down")
	}
	return nil
}

// keepsNetwork: the program can neither add a way out nor remove the one that leads to the ring.
func (g *guest) keepsNetwork() error {
	if g.Network != initproto.NetworkOwn {
		return errNotAsked
	}
	if err := expect("adding a route", Route(unix.AF_INET), unix.EPERM); err != nil {
		return err
	}
	return expect("changing a device", down(), unix.EPERM)
}

// hasListeners: exactly the ordered ports have listeners.
func (g *guest) hasListeners() error {
	if g.Listen == nil {
		return errNotAsked
	}
	streams := slices.Sorted(slices.Values(append([]uint16{initproto.DNS, g.Listen.Proxy}, g.Listen.Ports...)))
	for _, t := range []struct {
		name string
		want []uint16
	}{{"tcp", streams}, {"udp", []uint16{initproto.DNS}}} {
		have, err := procfs.Listening(t.name)
		if err != nil {
			return err
		}
		if !slices.Equal(have, t.want) {
			return fmt.Errorf("%s listens on %v, and not on %v", t.name, have, t.want)
		}
	}
	return nil
}
