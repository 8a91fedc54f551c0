package door

import "net"

// Ports are the TCP addresses that are listened on.
func (d *Door) Ports() []net.Addr {
	var out []net.Addr
	for _, p := range d.ports {
		out = append(out, p.Addr())
	}
	return out
}
