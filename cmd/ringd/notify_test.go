package main

// In the package: systemd's socket is spoken to by an unexported method.

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/schema/wire"
)

// systemd hears READY=1 on the socket it named, with what is in force, and
// stdout gets exactly one line.
func TestReadyTellsSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var out bytes.Buffer
	p := &program{Program: &cli.Program{Out: &out}}
	p.printReady(wire.Status{Generation: 4, Revision: "sha256:0123456789abcdef"}, "/run/r.sock")
	p.printReady(wire.Status{}, "/run/r.sock")
	buf := make([]byte, 512)
	for _, want := range []string{
		"READY=1\nSTATUS=generation 4, sha256:0123456789ab",
		"READY=1\nSTATUS=no policy in force",
	} {
		n, err := c.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("got %q, %v, want %q", buf[:n], err, want)
		}
	}
	if want := "ringd ready: /run/r.sock, generation 4, sha256:0123456789ab\nringd ready: /run/r.sock, no policy in " +
		"force\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestFieldsForSystemdAreInert: systemd hears the fields of ringd and no other, and the line
// that scripts wait for is one line, whatever is in force.
func TestFieldsForSystemdAreInert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	buf := make([]byte, 4<<10)
	hear := func(name, text string) {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Check(t, name, text, string(buf[:n])+"\n", 2)
		if !strings.HasPrefix(string(buf[:n]), "READY=1\nSTATUS=") {
			t.Errorf("%s of %q: %q", name, text, buf[:n])
		}
	}
	for _, text := range append(clitest.Hostile(), "x\nMAINPID=1") {
		var out bytes.Buffer
		p := &program{Program: &cli.Program{Out: &out}}
		p.printReady(wire.Status{Generation: 4, Revision: text}, "/run/"+text)
		hear("the state", text)
		clitest.Check(t, "the ready line", text, out.String(), 1)
		notifySystemd("READY=1", "STATUS="+text)
		hear("a field", text)
	}
}
