//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// target is how a client reaches the origin.
type target struct {
	proxy, origin string
	direct        bool
}

// patience is how long a client waits for an answer.
const patience = 30 * time.Second

type conn struct {
	net.Conn
	r    *bufio.Reader
	full string // what stands before a path: of an absolute-form, or nothing
	host string
}

func dial(addr string, host string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 32<<10), host: host}, nil
}

// tunnel opens a connection to the origin through CONNECT.
func (t target) tunnel() (*conn, error) {
	if t.direct {
		return dial(t.origin, t.origin)
	}
	c, err := dial(t.proxy, t.origin)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", t.origin, t.origin)
	if _, err := c.head(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// fetch asks for n bytes and reads them.
func (c *conn) fetch(n int64) error {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET %s/%d HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", c.full, n,
		c.host); err != nil {
		return err
	}
	length, err := c.head()
	if err != nil {
		return err
	}
	if length != n {
		return fmt.Errorf("an answer of %d bytes, want %d", length, n)
	}
	if n < 1<<20 {
		_, err = c.r.Discard(int(n))
		return err
	}
	_, err = io.CopyN(nowhere{}, c.r, n)
	return err
}

// nowhere has no ReadFrom, whose buffer of 8 KiB would be what is measured.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// head reads a head of status 200 and returns its length; 0: it names none.
func (c *conn) head() (length int64, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.Equal(line[9:12], []byte("200")) {
		return 0, fmt.Errorf("answer %q", line)
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return length, nil
		}
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			length, err = strconv.ParseInt(string(bytes.TrimSpace(line[len(name):])), 10, 64)
			if err != nil {
				return 0, err
			}
		}
	}
}

// small is what a request of a closed loop gets.
const small = 100

// keepAlive sends plain requests on one connection.
func keepAlive(t target) (one func() error, end func(), err error) {
	addr, full := t.proxy, "http://"+t.origin
	if t.direct {
		addr, full = t.origin, ""
	}
	c, err := dial(addr, t.origin)
	if err != nil {
		return nil, nil, err
	}
	c.full = full
	return func() error { return c.fetch(small) }, func() { _ = c.Close() }, nil
}

// tunnels opens a tunnel for each request.
func tunnels(t target) (one func() error, end func(), err error) {
	return func() error {
		c, err := t.tunnel()
		if err != nil {
			return err
		}
		if err := c.fetch(small); err != nil {
			_ = c.Close()
			return err
		}
		return c.Close()
	}, func() {}, nil
}

// origin answers GET /N with N bytes.
type origin struct {
	l    net.Listener
	addr string
}

func listen() (*origin, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &origin{l, l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return o, nil
}

func serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 8<<10)
	block := make([]byte, 256<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || !bytes.HasPrefix(line, []byte("GET /")) {
			return
		}
		path, _, _ := bytes.Cut(line[len("GET /"):], []byte(" "))
		n, err := strconv.ParseInt(string(path), 10, 64)
		if err != nil {
			return
		}
		for len(line) > 2 {
			if line, err = r.ReadSlice('\n'); err != nil {
				return
			}
		}
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", n)
		if n <= int64(len(block)) {
			if _, err := c.Write(append(head, block[:n]...)); err != nil {
				return
			}
			continue
		}
		if _, err := c.Write(head); err != nil {
			return
		}
		for n > 0 {
			m, err := c.Write(block[:min(n, int64(len(block)))])
			if err != nil {
				return
			}
			n -= int64(m)
		}
	}
}
