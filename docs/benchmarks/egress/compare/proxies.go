//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// proxy is one of those that are compared.
type proxy struct {
	name   string
	direct bool
	closes bool // it closes after every plain request, so that it has no keep-alive
	start  func() (*process, error)
}

// process is a running proxy.
type process struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

func proxies(bin, origin string) []proxy {
	ready := func(program string, args ...string) func() (*process, error) {
		return func() (*process, error) { return startReady(filepath.Join(bin, program), args...) }
	}
	return []proxy{
		{name: "direct", direct: true, start: func() (*process, error) { return &process{}, nil }},
		{name: "ringd", start: ready("egress-ring", "-allow", origin)},
		{name: "goproxy 1.9.2", start: ready("egress-peers")},
		{name: "squid", start: func() (*process, error) { return squid(origin) }},
		{name: "tinyproxy", closes: true, start: func() (*process, error) { return tinyproxy(origin) }},
	}
}

// startReady starts a program that prints its address once it listens.
func startReady(program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s is not ready: %w", program, err)
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

func squid(origin string) (*process, error) {
	_, port, err := net.SplitHostPort(origin)
	if err != nil {
		return nil, err
	}
	return startPeer("squid", func(dir, listen string) (string, []string) {
		conf := filepath.Join(dir, "squid.conf")
		return conf + "\x00" + strings.Join([]string{
			"http_port " + listen,
			"acl ours dst 127.0.0.1/32", "acl ourport port " + port,
			"http_access allow ours ourport", "http_access deny all",
			"cache deny all", "cache_mem 8 MB", "access_log stdio:" + dir + "/access.log",
			"cache_log " + dir + "/cache.log",
			"pid_filename " + dir + "/pid", "coredump_dir " + dir, "shutdown_lifetime 0 seconds", "via off",
			"forwarded_for delete", "pinger_enable off", "",
		}, "\n"), []string{"-N", "-f", conf}
	})
}

func tinyproxy(origin string) (*process, error) {
	_, port, err := net.SplitHostPort(origin)
	if err != nil {
		return nil, err
	}
	return startPeer("tinyproxy", func(dir, listen string) (string, []string) {
		conf := filepath.Join(dir, "tinyproxy.conf")
		_, own, _ := net.SplitHostPort(listen)
		return conf + "\x00" + strings.Join([]string{
			"Port " + own, "Listen 127.0.0.1", "Timeout 600", "MaxClients 1000", "Allow 127.0.0.1",
			"ConnectPort " + port,
			"LogFile \"" + dir + "/log\"", "LogLevel Connect", "",
		}, "\n"), []string{"-d", "-c", conf}
	})
}

// startPeer starts an installed proxy with a configuration in a folder of its own,
// and waits until it listens.
func startPeer(program string, configure func(dir, listen string) (file string, args []string)) (*process, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		if path = "/usr/sbin/" + program; unix.Access(path, unix.X_OK) != nil {
			return nil, errors.New("not installed")
		}
	}
	dir, err := os.MkdirTemp("", program)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // squid gives up root and writes its log there
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listen := free.Addr().String()
	_ = free.Close()
	file, args := configure(dir, listen)
	name, text, _ := strings.Cut(file, "\x00")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // read as another user
		return nil, err
	}
	p := &process{cmd: exec.Command(path, args...), addr: listen, dir: dir}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	for range 200 {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			return p, c.Close()
		}
		<-time.After(25 * time.Millisecond)
	}
	p.stop()
	return nil, errors.New("it does not listen")
}

func (p *process) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
	p.cmd, p.dir = nil, ""
}

// cpu is the processor time of the process so far.
func (p *process) cpu() time.Duration {
	if p.cmd == nil {
		return 0
	}
	var t unix.Timespec
	// The clock of a process, as clock_getcpuclockid(3) makes it.
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid)<<3|2, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// memory is what of it is resident, in bytes.
func (p *process) memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	f := strings.Fields(string(text))
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func (p *process) descriptors() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(list)
}
