// This file owns the TCP listener of the API: TLS 1.3 and nothing else, the
// certificate, the authorities of clients, and how many connections there may be.
//
// It refuses key files that others can read, certificates that others can write,
// and keeps what it has when the files change to something that does not hold.
// Who a caller is, and may do, is decided above it: package api.

package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
)

const (
	defaultPerAddress = 128
	defaultTotal      = 512
)

// PortConfig says where to listen. Address, Cert, Key and Logger are required.
type PortConfig struct {
	Address  string // IP:PORT; port 0 takes any
	Cert     string // file of the certificate and what it is signed with, PEM
	Key      string // file of its key, PEM, readable by its owner alone
	ClientCA string // file of the authorities whose clients may connect, PEM; "": a token is enough
	Logger   *slog.Logger

	PerAddress int // connections of one address (an IPv6 network of 64 bits); 0: 128
	Total      int // connections of all; 0: 512
}

// Port is a listener whose connections speak TLS 1.3. It is safe for concurrent
// use; its owner calls Close.
type Port struct {
	tcp   net.Listener
	files *files
	room  *connRoom[string]
}

// Open reads the files and listens.
func Open(cfg PortConfig) (*Port, error) {
	if cfg.Logger == nil {
		return nil, errors.New("port.Config.Logger is missing")
	}
	if cfg.PerAddress <= 0 {
		cfg.PerAddress = defaultPerAddress
	}
	if cfg.Total <= 0 {
		cfg.Total = defaultTotal
	}
	if _, err := netip.ParseAddrPort(cfg.Address); err != nil {
		return nil, fmt.Errorf("listen on %q: want IP:PORT, such as 127.0.0.1:7443", cfg.Address)
	}
	f, err := readFiles(cfg)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Address, err)
	}
	l, err := net.Listen("tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Address, err)
	}
	return &Port{tcp: l, files: f, room: NewRoom[string](cfg.PerAddress, cfg.Total)}, nil
}

// Accept returns a connection whose handshake is still to come: it fails for
// anything but TLS 1.3, and without a certificate of ClientCA where one is asked.
func (p *Port) Accept() (net.Conn, error) {
	for {
		c, err := p.tcp.Accept()
		if err != nil {
			return nil, err
		}
		from := source(c.RemoteAddr())
		if held, ok := p.room.Admit(c, from); ok {
			return tls.Server(&placed{Conn: held, from: from}, p.files.server()), nil
		}
	}
}

// Addr is where it listens.
func (p *Port) Addr() net.Addr { return p.tcp.Addr() }

// Close stops listening. Connections go on.
func (p *Port) Close() error { return p.tcp.Close() }

// ConnSource says which address a connection of a Port came from; ok is false for any
// other connection.
func ConnSource(c net.Conn) (from string, ok bool) {
	over, ok := c.(*tls.Conn)
	if !ok {
		return "", false
	}
	known, ok := over.NetConn().(*placed)
	if !ok {
		return "", false
	}
	return known.from, true
}

// proveConn says that the caller of a connection of a Port is known: the connection is not
// closed for another one that comes when all places are taken.
func proveConn(c net.Conn) {
	over, ok := c.(*tls.Conn)
	if !ok {
		return
	}
	if known, ok := over.NetConn().(*placed); ok {
		if h, ok := known.Conn.(interface{ Prove() }); ok {
			h.Prove()
		}
	}
}

// source is what connections and wrong tokens are counted by: an address of IPv4,
// or the network of 64 bits that one of IPv6 lies in.
func source(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// placed is a connection that knows where it came from.
type placed struct {
	net.Conn
	from string
}
