package httphead_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// TestClasses derives the table of bytes anew.
func TestClasses(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		want := byte(0)
		for _, class := range []struct {
			bit byte
			in  bool
		}{
			{httphead.InToken, letter || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0},
			{httphead.InTarget, 0x21 <= c && c <= 0x7e && c != '#' && c != '\\'},
			{httphead.InValue, c == '\t' || 0x20 <= c && c <= 0x7e || c >= 0x80},
			{httphead.InAuthority, letter || strings.IndexByte("-._~!$&'()*+;=:[]%", c) >= 0},
			{httphead.InHex, '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'},
		} {
			if class.in {
				want |= class.bit
			}
		}
		if httphead.Classes[i] != want {
			t.Errorf("%q is %#x, want %#x", c, httphead.Classes[i], want)
		}
	}
}

func TestRequestForward(t *testing.T) {
	const raw = "GET http://a.example/x?y=1 HTTP/1.1\r\nHost: a.example\r\nConnection: X-Hop, close\r\nx-hop: 1\r\n" +
		"Accept: */*\r\nProxy-Authorization: Basic x\r\n\r\n"
	var r httphead.Request
	for n := range len(raw) {
		if _, err := r.Read([]byte(raw[:n])); !errors.Is(err, httphead.ErrMore) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	n, err := r.Read([]byte(raw + "more"))
	if err != nil || n != len(raw) {
		t.Fatal(n, err)
	}
	got := string(r.AppendForward(nil, "a.example"))
	if want := "GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n"; got != want {
		t.Errorf("got %q", got)
	}
}
