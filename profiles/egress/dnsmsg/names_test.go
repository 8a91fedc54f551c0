package dnsmsg_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

const (
	typeA     = dnsmessage.TypeA
	typeAAAA  = dnsmessage.TypeAAAA
	typeHTTPS = dnsmessage.Type(65)
	typeSVCB  = dnsmessage.Type(64)
	opt       = "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"
)

// query writes a question by hand, so that it may be in any form.
func query(name string, kind dnsmessage.Type, behind string) []byte {
	out := []byte{0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, "|") {
		if label != "" {
			out = append(append(out, byte(len(label))), label...)
		}
	}
	out = append(out, 0, byte(kind>>8), byte(kind), 0, 1)
	if strings.HasPrefix(behind, "\x00\x00\x29") {
		out[11] = 1
	}
	return append(out, behind...)
}

// with changes a byte.
func with(b []byte, at int, c byte) []byte {
	b[at] = c
	return b
}

var listed = map[string][2]string{
	"api.example.com": {"198.18.0.7", "fd00::7"}, "four.example.com": {"198.18.0.8", ""}, "_a-b.example.com": {"198.18.0.9", ""},
	"nothing.example.com": {"", ""}, "1.0.0.127.in-addr.arpa": {"198.18.0.10", "fd00::10"},
}

// lookup answers from listed, and remembers what it was asked.
func lookup(asked *[]string) dnsmsg.Lookup {
	return func(name string) (v4, v6 netip.Addr, ok bool) {
		*asked = append(*asked, name)
		l, ok := listed[name]
		if l[0] != "" {
			v4 = netip.MustParseAddr(l[0])
		}
		if l[1] != "" {
			v6 = netip.MustParseAddr(l[1])
		}
		return v4, v6, ok
	}
}

var long = strings.Repeat("a", 63)

var queries = []struct {
	name  string
	in    []byte
	code  dnsmessage.RCode
	addr  string // in the answer
	asked string // of lookup
	echo  string // the name in the question of the answer
	edns  bool
}{
	{"A", query("api|example|com", typeA, ""), 0, "198.18.0.7", "api.example.com", "api.example.com.", false},
	{"AAAA", query("api|example|com", typeAAAA, ""), 0, "fd00::7", "api.example.com", "api.example.com.", false},
	{"the case is echoed", query("aPi|ExAmPle|cOM", typeA, ""), 0, "198.18.0.7", "api.example.com", "aPi.ExAmPle.cOM.", false},
	{"AAAA of a name without one", query("four|example|com", typeAAAA, ""), 0, "", "four.example.com", "four.example.com.", false},
	{"no address at all", query("nothing|example|com", typeA, ""), 0, "", "nothing.example.com", "nothing.example.com.", false},
	{"underscore and hyphen", query("_a-b|example|com", typeA, ""), 0, "198.18.0.9", "_a-b.example.com", "_a-b.example.com.", false},
	{"HTTPS", query("api|example|com", typeHTTPS, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"SVCB", query("api|example|com", typeSVCB, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"TXT", query("api|example|com", dnsmessage.TypeTXT, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"ANY", query("api|example|com", dnsmessage.TypeALL, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"AXFR", query("api|example|com", dnsmessage.TypeAXFR, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"CNAME", query("api|example|com", dnsmessage.TypeCNAME, ""), 0, "", "api.example.com", "api.example.com.", false},
	{"not listed", query("c2VjcmV0LWtleQ|attacker|net", typeA, ""), 3, "", "c2vjcmv0lwtleq.attacker.net", "c2VjcmV0LWtleQ.attacker.net.", false},
	{"not listed TXT", query("c2VjcmV0|attacker|net", dnsmessage.TypeTXT, ""), 3, "", "c2vjcmv0.attacker.net", "c2VjcmV0.attacker.net.", false},
	{"below a listed name", query("x|api|example|com", typeA, ""), 3, "", "x.api.example.com", "x.api.example.com.", false},
	{"the root", query("", typeA, ""), 3, "", "", ".", false},
	{"reverse", query("1|0|0|127|in-addr|arpa", dnsmessage.TypePTR, ""), 3, "", "", "1.0.0.127.in-addr.arpa.", false},
	{"A in arpa", query("1|0|0|127|in-addr|ARPA", typeA, ""), 3, "", "", "1.0.0.127.in-addr.ARPA.", false},
	{"space in a label", query("a b|example|com", typeA, ""), 3, "", "", "a b.example.com.", false},
	{"NUL in a label", query("api\x00|example|com", typeA, ""), 3, "", "", "api\x00.example.com.", false},
	{"UTF-8 in a label", query("\xc3\xbc|example|com", typeA, ""), 3, "", "", "\xc3\xbc.example.com.", false},
	{"asterisk", query("*|example|com", typeA, ""), 3, "", "", "*.example.com.", false},
	{"slash", query("a/b|example|com", typeA, ""), 3, "", "", "a/b.example.com.", false},
	{"longest name", query(long+"|"+long+"|"+long+"|"+long[:61], typeA, ""), 3, "", strings.Join([]string{long, long, long, long[:61]}, "."), strings.Join([]string{long, long, long, long[:61]}, ".") + ".", false},
	{"name too long", query(long+"|"+long+"|"+long+"|"+long[:62], typeA, ""), 1, "", "", "", false},
	{"dot in a label", query("api.example|com", typeA, ""), 1, "", "", "", false},
	{"OPT", query("api|example|com", typeA, opt), 0, "198.18.0.7", "api.example.com", "api.example.com.", true},
	{"OPT with an option", query("api|example|com", typeA, opt[:9]+"\x00\x0c\x00\x0a\x00\x08cookiesx"), 0, "198.18.0.7", "api.example.com", "api.example.com.", true},
	{"OPT, not listed", query("evil|net", typeA, opt), 3, "", "evil.net", "evil.net.", true},
	{"OPT of version 1", query("api|example|com", typeA, opt[:6]+"\x01"+opt[7:]), 16, "", "", "api.example.com.", true},
	{"OPT that is cut", query("api|example|com", typeA, opt[:9]), 1, "", "", "api.example.com.", false},
	{"OPT with a length too many", query("api|example|com", typeA, opt[:10]+"\x01"), 1, "", "", "api.example.com.", false},
	{"OPT with half an option", query("api|example|com", typeA, opt[:9]+"\x00\x04\x00\x0a\x00\x08"), 1, "", "", "api.example.com.", false},
	{"OPT of a name", query("api|example|com", typeA, "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00x"), 1, "", "", "api.example.com.", false},
	{"another record", with(query("api|example|com", typeA, "\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x01"), 11, 1), 1, "", "", "api.example.com.", false},
	{"bytes behind the question", query("api|example|com", typeA, "secret"), 1, "", "", "api.example.com.", false},
	{"two questions", with(query("api|example|com", typeA, "\x01a\x00\x00\x01\x00\x01"), 5, 2), 1, "", "", "", false},
	{"no question", with(query("api|example|com", typeA, ""), 5, 0), 1, "", "", "", false},
	{"an answer in the query", with(query("api|example|com", typeA, ""), 7, 1), 1, "", "", "", false},
	{"an authority in the query", with(query("api|example|com", typeA, ""), 9, 1), 1, "", "", "", false},
	{"two additional", with(query("api|example|com", typeA, opt+opt), 11, 2), 1, "", "", "", false},
	{"class CHAOS", with(query("api|example|com", typeA, ""), 32, 3), 5, "", "", "api.example.com.", false},
	{"class ANY", with(query("api|example|com", typeA, ""), 32, 255), 5, "", "", "api.example.com.", false},
	{"NOTIFY", with(query("api|example|com", typeA, ""), 2, 4<<3), 4, "", "", "", false},
	{"UPDATE", with(query("api|example|com", typeA, ""), 2, 5<<3), 4, "", "", "", false},
	{"a header alone", query("", typeA, "")[:12], 1, "", "", "", false},
	{"cut in the name", query("api|example|com", typeA, "")[:20], 1, "", "", "", false},
	{"cut before the class", query("api|example|com", typeA, "")[:31], 1, "", "", "", false},
	{"a pointer to itself", with(with(query("api|example|com", typeA, ""), 12, 0xc0), 13, 12), 1, "", "", "", false},
	{"a pointer to the header", with(with(query("api|example|com", typeA, ""), 16, 0xc0), 17, 0), 1, "", "", "", false},
	{"two pointers in a ring", with(with(with(with(query("api|example|com", typeA, ""), 12, 0xc0), 13, 14), 14, 0xc0), 15, 12), 1, "", "", "", false},
	{"a reserved label", with(query("api|example|com", typeA, ""), 12, 0x43), 1, "", "", "", false},
	{"too long a query", query("api|example|com", typeA, opt[:9]+"\x10\x00"+"\x00\x0c\x0f\xfc"+strings.Repeat("x", 4092)), 1, "", "", "", false},
}

func TestAnswer(t *testing.T) {
	for _, tt := range queries {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			raw := dnsmsg.Answer(tt.in, lookup(&asked))
			var m dnsmessage.Message
			if err := m.Unpack(raw); err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			if m.ID != 0xabcd || !m.Response || len(raw) > dnsmsg.MaxAnswer || m.Truncated {
				t.Errorf("header %+v of %d bytes", m.Header, len(raw))
			}
			code := m.RCode
			edns := len(m.Additionals) == 1
			if edns {
				code = m.Additionals[0].Header.ExtendedRCode(code)
			}
			addr := ""
			for _, a := range m.Answers {
				addr += address(t, a, m.Questions[0])
			}
			echo := ""
			for _, q := range m.Questions {
				echo += q.Name.String()
			}
			type result struct {
				Code        dnsmessage.RCode
				Addr, Asked string
				Echo        string
				EDNS        bool
			}
			if diff := cmp.Diff(result{tt.code, tt.addr, tt.asked, tt.echo, tt.edns},
				result{code, addr, strings.Join(asked, " "), echo, edns}); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// address is that of an answer, which is to the question.
func address(t *testing.T, a dnsmessage.Resource, q dnsmessage.Question) string {
	t.Helper()
	if a.Header.Name != q.Name || a.Header.Type != q.Type || a.Header.Class != dnsmessage.ClassINET ||
		a.Header.TTL == 0 || a.Header.TTL > 10 {
		t.Errorf("the answer is %+v", a.Header)
	}
	switch body := a.Body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(body.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(body.AAAA).String()
	}
	return "another"
}

// TestNoAnswer: what is no query has no answer, so that two of these cannot
// answer each other for ever.
func TestNoAnswer(t *testing.T) {
	var asked []string
	for _, in := range [][]byte{nil, {}, query("api|example|com", typeA, "")[:11],
		with(query("api|example|com", typeA, ""), 2, 0x81)} {
		if out := dnsmsg.Answer(in, lookup(&asked)); out != nil || asked != nil {
			t.Errorf("%q was answered %q, %q", in, out, asked)
		}
	}
	if dnsmsg.Answer(dnsmsg.Answer(query("api|example|com", typeA, ""), lookup(&asked)), lookup(&asked)) != nil {
		t.Error("an answer was answered")
	}
}

// TestWrongLookup: what a list gives by mistake is not written as the other kind.
func TestWrongLookup(t *testing.T) {
	v4, v6 := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("fd00::1")
	for _, tt := range []struct {
		kind   dnsmessage.Type
		v4, v6 netip.Addr
		want   int
	}{
		{typeA, v6, v4, 0}, {typeAAAA, v6, v4, 0}, {typeAAAA, v4, netip.AddrFrom16(v4.As16()), 0}, {typeA, netip.AddrFrom16(v4.As16()), v6, 1},
		{typeAAAA, v4, v6.WithZone("eth0"), 1},
	} {
		var m dnsmessage.Message
		err := m.Unpack(dnsmsg.Answer(query("api|example|com", tt.kind, ""),
			func(string) (a, b netip.Addr, ok bool) { return tt.v4, tt.v6, true }))
		if err != nil || len(m.Answers) != tt.want {
			t.Errorf("%+v: %v, %v", tt, m.Answers, err)
		}
	}
}

func TestFrame(t *testing.T) {
	q := query("api|example|com", typeA, "")
	framed := dnsmsg.AppendFrame(nil, q)
	for n := range framed {
		if m, took, ok := dnsmsg.Frame(framed[:n]); m != nil || took != 0 || !ok {
			t.Errorf("%d bytes: %q, %d, %v", n, m, took, ok)
		}
	}
	if m, n, ok := dnsmsg.Frame(append(framed, framed...)); string(m) != string(q) || n != len(framed) || !ok {
		t.Errorf("got %q, %d, %v", m, n, ok)
	}
	for _, size := range []int{0, 1, 11, dnsmsg.MaxQuery + 1, 65535} {
		if _, _, ok := dnsmsg.Frame(binary.BigEndian.AppendUint16(nil, uint16(size))); ok {
			t.Errorf("a message of %d bytes is waited for", size)
		}
	}
}

// FuzzAnswer: an answer is bounded and can be read, echoes what was asked, has an
// address only where one was asked for of a listed name, and is none itself.
func FuzzAnswer(f *testing.F) {
	for _, tt := range queries {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var asked []string
		out := dnsmsg.Answer(in, lookup(&asked))
		if out == nil {
			if len(in) >= 12 && in[2]&0x80 == 0 {
				t.Fatal("a query is not answered")
			}
			return
		}
		var m, q dnsmessage.Message
		if err := m.Unpack(out); err != nil || len(out) > dnsmsg.MaxAnswer || len(asked) > 1 ||
			dnsmsg.Answer(out, lookup(&asked)) != nil {
			t.Fatalf("%q: %v, %q", out, err, asked)
		}
		if len(asked) == 1 && asked[0] != strings.ToLower(strings.TrimSuffix(m.Questions[0].Name.String(), ".")) {
			t.Fatalf("asked for %q", asked)
		}
		if err := q.Unpack(in); err != nil || len(m.Questions) == 0 {
			return
		}
		if diff := cmp.Diff(q.Questions, m.Questions); diff != "" {
			t.Fatal(diff)
		}
		for _, a := range m.Answers {
			if _, ok := listed[asked[0]]; !ok || a.Header.Type != q.Questions[0].Type {
				t.Fatalf("%v has %v", asked, a)
			}
		}
	})
}
