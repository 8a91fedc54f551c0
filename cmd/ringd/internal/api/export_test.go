package api

import "net"

// Ports are the TCP addresses that are listened on.
func (d *Listeners) Ports() []net.Addr {
	var out []net.Addr
	for _, p := range d.ports {
		out = append(out, p.Addr())
	}
	return out
}
