// The TCP listener of the API: TLS 1.3 only, with its certificate, the authorities of clients, and limits of
// connections. Key files that others can read, and certificates that others can write, are refused. If the
// files become invalid, the previous ones stay in use.

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

// PortConfig configures a Port. Address, Cert, Key and Logger are required.
type PortConfig struct {
	Address  string // IP:PORT; port 0 takes a free one
	Cert     string // PEM file of the certificate and its chain
	Key      string // PEM file of its key, readable only by its owner
	ClientCA string // PEM file of the authorities whose clients may connect; empty means that a token is enough
	Logger   *slog.Logger

	PerAddress int // connections of one address (an IPv6 network of 64 bits); zero means 128
	Total      int // connections of all addresses; zero means 512
}

// Port is a listener for TLS 1.3. It is safe for concurrent use, and its owner calls Close.
type Port struct {
	tcp   net.Listener
	files *certFiles
	room  *connLimit[string]
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

// Accept returns a connection before its handshake. The handshake fails for anything but TLS 1.3, and for a
// client without a certificate of ClientCA if that is set.
func (p *Port) Accept() (net.Conn, error) {
	for {
		c, err := p.tcp.Accept()
		if err != nil {
			return nil, err
		}
		from := source(c.RemoteAddr())
		if held, ok := p.room.Admit(c, from); ok {
			return tls.Server(&sourceConn{Conn: held, from: from}, p.files.server()), nil
		}
	}
}

// Addr returns the listen address.
func (p *Port) Addr() net.Addr { return p.tcp.Addr() }

// Close stops listening. Open connections continue.
func (p *Port) Close() error { return p.tcp.Close() }

// ConnSource returns the source address of a connection of a Port. ok is false for any other connection.
func ConnSource(c net.Conn) (from string, ok bool) {
	over, ok := c.(*tls.Conn)
	if !ok {
		return "", false
	}
	known, ok := over.NetConn().(*sourceConn)
	if !ok {
		return "", false
	}
	return known.from, true
}

// proveConn marks the caller of a connection as known, so that the connection is not closed for a new one
// when all places are taken.
func proveConn(c net.Conn) {
	over, ok := c.(*tls.Conn)
	if !ok {
		return
	}
	if known, ok := over.NetConn().(*sourceConn); ok {
		if h, ok := known.Conn.(interface{ Prove() }); ok {
			h.Prove()
		}
	}
}

// source returns the key by which connections and wrong tokens are counted: an IPv4 address, or the network
// of 64 bits of an IPv6 address.
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

// sourceConn is a connection with its source.
type sourceConn struct {
	net.Conn
	from string
}
