package egress_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// seeds gives the targets and entries of the tables.
func seeds(t testing.TB) (targets, entries []string) {
	t.Helper()
	for _, path := range []string{"../../testdata/egress.jsonl", "../../testdata/attacks/egress/cases.jsonl"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c struct {
				Allow   []string
				Request egress.Action
			}
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if len(c.Request.Target) < 300 {
				targets = append(targets, c.Request.Target)
			}
			entries = append(entries, c.Allow...)
		}
		f.Close()
	}
	for _, list := range []*[]string{&targets, &entries} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return targets, entries
}

// What is accepted reads the same way for the standard library, is in canonical
// form, and comes back from its own text.
func FuzzParseAuthority(f *testing.F) {
	targets, _ := seeds(f)
	for _, s := range targets {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, r := egress.ParseAuthority(text)
		if r != nil {
			if d != (egress.Dest{}) || r.Code != egress.Target {
				t.Fatalf("%q: refused, and %v, %v", text, d, r)
			}
			return
		}
		if again, r := egress.ParseAuthority(d.String()); r != nil || again != d {
			t.Fatalf("%q is %v, and its text is %v, %v", text, d, again, r)
		}
		host, port, err := net.SplitHostPort(text)
		if err != nil || port != fmt.Sprint(d.Port) {
			t.Fatalf("%q: %q %q %v, not %v", text, host, port, err, d)
		}
		if a, err := netip.ParseAddr(host); err == nil && a.Unmap() != d.Addr || err != nil &&
			strings.ToLower(strings.TrimSuffix(host, ".")) != d.Name {
			t.Fatalf("%q: %q is not %v", text, host, d)
		}
		if u, err := url.Parse("http://" + text + "/"); err != nil || u.Host != text || u.User != nil {
			t.Fatalf("%q: %v, %v", text, u, err)
		}
		if net.ParseIP(d.Name) != nil || d.Addr.IsValid() == (d.Name != "") || d.Port == 0 {
			t.Fatalf("%q is %+v", text, d)
		}
	})
}

func FuzzParseAbsolute(f *testing.F) {
	targets, _ := seeds(f)
	for _, s := range targets {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, path, r := egress.ParseAbsolute(text)
		if r != nil {
			return
		}
		if strings.ContainsAny(path, " \r\n\x00#\\") || path[0] != '/' {
			t.Fatalf("%q has the path %q", text, path)
		}
		u, err := url.Parse(text)
		if err != nil {
			return // an escape that is none; heads with one are not read
		}
		if u.User != nil || u.Scheme != "http" || u.Fragment != "" {
			t.Fatalf("%q is %v", text, u)
		}
		again, r := egress.ParseAuthority(d.String())
		if r != nil || again != d {
			t.Fatalf("%q is %v", text, d)
		}
		if !strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), d.Host()) && !d.Addr.IsValid() {
			t.Fatalf("%q is %v here and %q there", text, d, u.Hostname())
		}
	})
}

// A URL is read by net/url, which the bridge sends it with, as it was decided.
func FuzzParseURL(f *testing.F) {
	targets, _ := seeds(f)
	for _, s := range targets {
		f.Add(s, "/next")
		f.Add("https://api.example.com/a/b?c", s)
	}
	f.Fuzz(func(t *testing.T, text, location string) {
		u, r := egress.ParseURL(text)
		if r != nil {
			return
		}
		same(t, u)
		if next, r := u.Parse(location); r == nil {
			same(t, next)
		}
	})
}

func same(t *testing.T, u egress.URL) {
	t.Helper()
	std, err := url.Parse(u.Text)
	if err != nil {
		t.Fatalf("%q: %v", u.Text, err)
	}
	port := uint16(80)
	if u.Scheme == "https" {
		port = 443
	}
	d, r := egress.ParseHost(strings.TrimSuffix(std.Host, ":"+std.Port()), port)
	if std.Port() != "" {
		d, r = egress.ParseAuthority(std.Host)
	}
	decoded, err := url.PathUnescape(u.Path)
	if r != nil || err != nil || d != u.Dest || std.User != nil || std.Scheme != u.Scheme || std.Path != decoded ||
		std.RawQuery != u.Query || std.Fragment != "" {
		t.Fatalf("%+v is %+v (%v, %v)", u, std, r, err)
	}
	again, r := egress.ParseURL(u.Text)
	if r != nil || again != u {
		t.Fatalf("%+v comes back as %+v (%v)", u, again, r)
	}
}

// An entry that is read is in canonical form, and a list takes it.
func FuzzReadEntry(f *testing.F) {
	_, entries := seeds(f)
	for _, s := range entries {
		f.Add(s)
	}
	for _, s := range []string{"bücher.example", "faß.de:8443", "*.例え.テスト", "**.example.com:*", "[2606:4700::]/32:443",
		"[2606:4700::/32]:443", "::ffff:1.2.3.4", "EXAMPLE.com."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := egress.ReadEntry(text)
		if err != nil {
			return
		}
		again, err := egress.ReadEntry(e.Host)
		if err != nil || again.Host != e.Host || again.AnyPort || again.Ports != nil {
			t.Fatalf("%q is %+v, and that is %+v, %v", text, e, again, err)
		}
		l := egress.NewList(egress.Allowlist, []egress.Entry{e}, nil, nil)
		if r := l.Closed(); r != nil {
			t.Fatalf("%q is %+v, and a list of it is closed: %v", text, e, r)
		}
	})
}

// world makes lists and requests that have to do with each other.
type world struct {
	random           *rand.Rand
	targets, entries []string
}

func (w *world) entry() (e egress.Entry) {
	for {
		text := w.entries[w.random.IntN(len(w.entries))]
		if w.random.IntN(3) == 0 {
			text = []string{"*.example.com:*", "api.example.com:80", "api.example.com", "93.184.0.0/16:*",
				"10.0.0.0/8:443", "b.example.com:*", "127.0.0.1:8080", "[2606:4700::]/32:443"}[w.random.IntN(8)]
		}
		var err error
		if e, err = egress.ReadEntry(text); err == nil {
			break
		}
	}
	if w.random.IntN(4) == 0 && !e.AnyPort && !slices.Contains(e.Ports, 443) && len(e.Ports) > 0 {
		e.Methods = []string{"GET", "HEAD"}[:1+w.random.IntN(2)]
	}
	if w.random.IntN(6) == 0 && len(e.Ports) > 0 && !slices.Contains(e.Ports, 443) {
		e.Paths = []string{"/v1"}
	}
	e.ECH = w.random.IntN(3) == 0
	if w.random.IntN(4) == 0 {
		e.Expires = time.Unix(1e9+int64(w.random.IntN(3)-1)*100, 0)
	}
	return e
}

func (w *world) list(most int) (out []egress.Entry) {
	for range w.random.IntN(most + 1) {
		out = append(out, w.entry())
	}
	return out
}

func (w *world) request() egress.Action {
	r := egress.Action{Kind: []string{"connect", "http", "socks5", "fetch", "dns"}[w.random.IntN(5)],
		Target: w.targets[w.random.IntN(len(w.targets))]}
	if w.random.IntN(2) == 0 {
		host := []string{"api.example.com", "a.b.example.com", "b.example.com", "93.184.215.14", "10.1.2.3",
			"127.0.0.1", "[2606:4700::1]"}[w.random.IntN(7)]
		port := []string{"443", "80", "8080"}[w.random.IntN(3)]
		switch r.Kind {
		case "http":
			r.Target = "http://" + host + ":" + port + []string{"/", "/v1/x", "/v2"}[w.random.IntN(3)]
		case "fetch":
			r.Target = []string{"http", "https"}[w.random.IntN(2)] + "://" + host + ":" + port + "/v1"
			if w.random.IntN(2) == 0 {
				r.Redirects = []string{"https://b.example.com/"}
			}
		case "dns":
			r.Target = host
		default:
			r.Target = host + ":" + port
		}
	}
	if w.random.IntN(3) == 0 {
		r.Method = []string{"GET", "POST", "TRACE"}[w.random.IntN(3)]
		if r.Kind == "connect" {
			r.Path = "/v1"
		}
	}
	if w.random.IntN(2) == 0 {
		r.ResolvesTo = [][]string{{"93.184.215.14"}, {"10.1.2.3"}, {"127.0.0.1"}, {"10.1.2.3", "93.184.215.14"},
			{"64:ff9b::10.1.2.3"}, {"2606:4700::1"}}[w.random.IntN(6)]
		r.ResolveMode = []string{"", "rrset"}[w.random.IntN(2)]
	}
	if w.random.IntN(3) == 0 {
		sni := []string{"api.example.com", "b.example.com", "evil.net", ""}[w.random.IntN(4)]
		r.SNI, r.ECH = &sni, w.random.IntN(3) == 0
	}
	return r
}

// Taking an allowed entry away, adding a denied one, letting time pass beyond an
// expiry, or closing the list never lets reach more; and the same question has
// the same answer. What is dialed by the narrower list is no other address than a
// wider one lets through.
func narrows(t *testing.T, seed uint64, targets, entries []string) (allowed int) {
	t.Helper()
	w := &world{rand.New(rand.NewPCG(seed, 7)), targets, entries}
	lists := 150
	if os.Getenv("RINGD_LONG") != "" {
		lists = 1000
	}
	for range lists {
		allow, deny := w.list(6), w.list(1)
		wide := egress.NewList(egress.Allowlist, allow, deny, nil)
		less := slices.Clone(allow)
		if len(less) > 0 {
			at := w.random.IntN(len(less))
			less = slices.Delete(less, at, at+1)
		}
		narrow := []*egress.List{
			egress.NewList(egress.Allowlist, less, deny, nil),
			egress.NewList(egress.Allowlist, allow, append(slices.Clone(deny), w.entry()), nil),
			egress.NewList(egress.Gateway, allow, deny, nil), egress.NewList(egress.Closed, allow, deny, nil), nil,
		}
		for range 20 {
			r, at := w.request(), time.Unix(1e9, 0)
			before := fmt.Sprintf("%+v", r)
			out, again := egress.DecideAction(wide, r, at), egress.DecideAction(wide, r, at)
			if !sameDecision(again, out) || fmt.Sprintf("%+v", r) != before {
				t.Fatalf("%+v: %v, then %v", r, out, again)
			}
			if out.Allowed() {
				allowed++
			}
			for i, l := range narrow {
				if got := egress.DecideAction(l, r, at); got.Allowed() && !out.Allowed() {
					t.Fatalf("narrowed by %d: %+v is %v, was refused: %v\nallow %+v\ndeny %+v", i, r, got,
						out.Refusal(), allow, deny)
				}
			}
			for _, later := range []time.Time{time.Unix(1e9+1000, 0), {}} {
				if got := egress.DecideAction(wide, r, later); got.Allowed() && !out.Allowed() {
					t.Fatalf("at %v: %+v is %v, was refused: %v\nallow %+v", later, r, got, out.Refusal(), allow)
				}
			}
		}
	}
	return allowed
}

func sameDecision(a, b egress.Decision) bool {
	return a.Allowed() == b.Allowed() && a.Target() == b.Target() && slices.Equal(a.Dial(), b.Dial()) &&
		cmp.Equal(a.Match(), b.Match()) && cmp.Equal(a.Refusal(), b.Refusal())
}

func TestNarrowerNeverWidens(t *testing.T) {
	targets, entries := seeds(t)
	allowed := 0
	for seed := range uint64(4) {
		allowed += narrows(t, seed, targets, entries)
	}
	if allowed < 500 {
		t.Errorf("only %d of the requests were allowed before: the sample is too poor", allowed)
	}
}

func FuzzMatch(f *testing.F) {
	targets, entries := seeds(f)
	f.Add(uint64(4)) // those below are the test's
	f.Fuzz(func(t *testing.T, seed uint64) { narrows(t, seed, targets, entries) })
}

// A request is decided by its path as it is decoded once, and what two servers
// could read differently is refused.
func FuzzRequestPath(f *testing.F) {
	for _, s := range []string{"/v1", "/v1/x", "/v1/../x", "/v1/%2e%2e/x", "/v1%2fx", "/v1/..;/x", "/v1\\x",
		"/v1/%252e%252e/x", "//v1", "/v1;x/y", "/V1", "/v1/%c0%af", "/v1?../", "/%76%31"} {
		f.Add(s)
	}
	l := egress.NewList(egress.Allowlist,
		[]egress.Entry{{Host: "a.example.com", Ports: []int{80}, Paths: []string{"/v1"}}}, nil, nil)
	d := l.Decide(egress.Dest{Name: "a.example.com", Port: 80}, now())
	if !d.Allowed() {
		f.Fatal(d.Refusal())
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !d.Request("GET", path, "", now()).Allowed() {
			return
		}
		bare, _, _ := strings.Cut(path, "?")
		decoded, err := url.PathUnescape(bare)
		if err != nil || decoded != "/v1" && !strings.HasPrefix(decoded, "/v1/") {
			t.Fatalf("%q is %q (%v)", path, decoded, err)
		}
		for segment := range strings.SplitSeq(decoded, "/") {
			if s, _, _ := strings.Cut(segment, ";"); s == ".." || s == "." || strings.Contains(segment, "\\") {
				t.Fatalf("%q holds %q", path, segment)
			}
		}
		if twice, err := url.PathUnescape(decoded); err != nil || twice != decoded {
			t.Fatalf("%q is %q, then %q", path, decoded, twice)
		}
	})
}

// The name of a server is never let through that the list does not cover.
func FuzzHello(f *testing.F) {
	for _, s := range []string{"a.example.com", "b.example.com", "evil.net", "", "A.EXAMPLE.COM", "a.example.com.",
		"xn--a"} {
		f.Add(s, true, false)
	}
	l := allow(f, "a.example.com", "*.b.example.com", "93.184.215.14")
	f.Fuzz(func(t *testing.T, name string, has, ech bool) {
		for _, to := range []egress.Dest{{Name: "a.example.com", Port: 443},
			{Addr: netip.MustParseAddr("93.184.215.14"), Port: 443}} {
			d := l.Decide(to, now())
			if !d.Allowed() {
				t.Fatal(d.Refusal())
			}
			if !d.Hello(clienthello.Hello{Name: name, HasName: has, ECH: ech}, nil, now()).Allowed() {
				continue
			}
			lower := strings.TrimSuffix(strings.ToLower(name), ".")
			if ech || has && lower != "a.example.com" && !strings.HasSuffix(lower, ".b.example.com") || !has &&
				to.Name != "" {
				t.Fatalf("%v: %q, %v, %v passes", to, name, has, ech)
			}
		}
	})
}
