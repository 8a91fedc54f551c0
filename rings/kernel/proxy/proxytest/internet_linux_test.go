package proxytest_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == scripts {
		os.Exit(scriptGuest())
	}
	if code, over := proxytest.Enter(); over {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestEverywhere: what is sent to any address, IPv4 or IPv6, arrives here, as the
// address that it was meant for.
func TestEverywhere(t *testing.T) {
	i := proxytest.New(t)
	i.Sink("hello\n", 443, 8080)
	i.Datagrams(53)
	for _, to := range []string{"93.184.216.34:443", "10.1.2.3:8080", "169.254.169.254:443",
		"[2606:2800:220:1::1]:443"} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "for %s", to)
		b := make([]byte, 6)
		if _, err := c.Read(b); err != nil || string(b) != "hello\n" {
			t.Errorf("%s answers %q, %v", to, b, err)
		}
		c.Close()
		want := proxytest.Arrival{Network: "tcp", To: netip.MustParseAddrPort(to), Data: "for " + to, Over: true}
		i.Await(to, func(a proxytest.Arrival) bool { return a == want })
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "udp", "8.8.8.8:53")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "a question")
	i.Await("a datagram", func(a proxytest.Arrival) bool { return a.Network == "udp" && a.Data == "a question" })
}

func TestNames(t *testing.T) {
	i := proxytest.New(t)
	i.Name("a.example", "93.184.216.34", "2606:2800:220:1::1")
	got, err := i.Resolve(t.Context(), "a.example.")
	want := []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("2606:2800:220:1::1")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, name := range []string{"b.example.", "a.example", "A.example."} {
		if got, err := i.Resolve(t.Context(), name); err == nil {
			t.Errorf("%s has the addresses %v", name, got)
		}
	}
	if diff := cmp.Diff([]string{"a.example.", "b.example.", "a.example", "A.example."}, i.Lookups()); diff != "" {
		t.Error(diff)
	}
}

// TestEntersOnce: what a test starts is in the same internet, and one whose
// network is up already is left alone.
func TestEntersOnce(t *testing.T) {
	here, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "/usr/bin/readlink", "/proc/self/ns/net").Output()
	if err != nil || strings.TrimSpace(string(out)) != here {
		t.Errorf("a program is in %s, %v, want %s", out, err, here)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	c.Env = append(os.Environ(), "RINGD_TEST_INTERNET=fresh")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "device lo is up") {
		t.Errorf("it is brought up twice: %s", out)
	}
}
