package proxy_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// public is the answer of a lookup where a row gives none.
const public = "93.184.215.14"

// row is a line of a corpus. What stands for long texts is in the README of
// testdata/attacks/http.
type row struct {
	ID, Category, Expect, Why string
	Allow, Deny               []string
	MustDial                  string `json:"must_dial"`
	Request                   struct {
		egress.Action
		Fill, Fields, Each int
	}
}

// rows reads every corpus that there is.
func rows(t *testing.T) []row {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/attacks/*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for _, path := range append([]string{"../../../testdata/egress.jsonl"}, files...) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r row
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if r.Request.Kind != "" {
				r.expand()
				out = append(out, r)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (r *row) expand() {
	var fields strings.Builder
	for i := range r.Request.Fields {
		fmt.Fprintf(&fields, "X-%d: %s\r\n", i, strings.Repeat("a", r.Request.Each))
	}
	r.Request.Raw = strings.NewReplacer("%FILL%", strings.Repeat("a", r.Request.Fill), "%FIELDS%",
		fields.String()).Replace(r.Request.Raw)
}

// raw are the bytes of a row that gives them.
func (r *row) raw(t *testing.T) string {
	t.Helper()
	if r.Request.RawHex == "" {
		return r.Request.Raw
	}
	b, err := hex.DecodeString(r.Request.RawHex)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// agent compiles the entries of a row as the compiler does. One that cannot be
// read stays as it is, which closes the list.
func (r *row) agent() profiles.Agent {
	e := profiles.Egress{Mode: profiles.EgressAllowlist}
	for i, list := range [][]string{r.Allow, r.Deny} {
		for _, text := range list {
			entry, err := egress.ReadEntry(text)
			if err != nil {
				entry.Host = text
			}
			rule := profiles.EgressRule{Host: entry.Host, Ports: entry.Ports, AnyPort: entry.AnyPort}
			if i == 0 {
				e.Allow = append(e.Allow, rule)
			} else {
				e.Deny = append(e.Deny, rule)
			}
		}
	}
	return profiles.Agent{Name: "a", Egress: e}
}

// ports finds the ports that a row has anything to do with.
func (r *row) ports() []uint16 {
	out := []uint16{80, 443}
	for _, text := range append(slices.Clone(r.Allow), r.Request.Target) {
		for _, m := range regexp.MustCompile(`:(\d{1,5})\b`).FindAllStringSubmatch(text, -1) {
			if n, err := strconv.ParseUint(m[1], 10, 16); err == nil && n > 0 {
				out = append(out, uint16(n))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// split cuts host:port; the host is as it stands there, in brackets or not.
func split(target string) (host string, port uint16, ok bool) {
	i := strings.LastIndexByte(target, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(target[i+1:], 10, 16)
	return target[:i], uint16(n), err == nil && strconv.FormatUint(n, 10) == target[i+1:]
}

// literal is the address that a host is, as a client would read it.
func literal(host string) (netip.Addr, bool) {
	inner, open := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	a, err := netip.ParseAddr(inner)
	return a, err == nil && a.Zone() == "" && open == closed && !(open && a.Is4())
}

func vector(size int, s string) string {
	out := ""
	for i := size - 1; i >= 0; i-- {
		out += string([]byte{byte(len(s) >> (8 * i))})
	}
	return out + s
}

// writtenHello names a server as a row says, whether a client could or not.
func writtenHello(name string, ech bool) string {
	extensions := "\x00\x2b" + vector(2, "\x02\x03\x04")
	if name != "" {
		extensions += "\x00\x00" + vector(2, vector(2, "\x00"+vector(2, name)))
	}
	if ech {
		extensions += "\xfe\x0d" + vector(2, "\x00something else")
	}
	body := "\x03\x03" + strings.Repeat("r", 32) + vector(1, "") + vector(2, "\x13\x01") + vector(1, "\x00") +
		vector(2, extensions)
	return "\x16\x03\x01" + vector(2, "\x01"+vector(3, body))
}

// first is what a client says in a tunnel to a target.
func (r *row) first(host string, port uint16) string {
	q := r.Request
	switch {
	case q.Payload != "" || q.TLS == "none":
		return q.Payload
	case q.SNI != nil:
		return writtenHello(*q.SNI, q.ECH)
	case port != 443 && !q.ECH:
		return "something"
	}
	if _, ok := literal(host); ok {
		host = ""
	}
	return writtenHello(strings.TrimSuffix(host, "."), q.ECH)
}
