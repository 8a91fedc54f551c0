package clienthello_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// wire takes what is written, and gives what it has to read.
type wire struct {
	net.Conn
	in  bytes.Reader
	out bytes.Buffer
}

func (w *wire) Write(b []byte) (int, error) { return w.out.Write(b) }
func (w *wire) Read(b []byte) (int, error)  { return w.in.Read(b) }
func (w *wire) Close() error                { return nil }

// clientHello is what crypto/tls sends first.
func clientHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	w := &wire{}
	if err := tls.Client(w, config).HandshakeContext(t.Context()); err == nil {
		t.Fatal("a handshake without a server")
	}
	return w.out.Bytes()
}

// server is what a server of crypto/tls sees of a ClientHello.
func server(t testing.TB, raw []byte) (info *tls.ClientHelloInfo) {
	t.Helper()
	w := &wire{}
	w.in.Reset(raw)
	enough := errors.New("enough")
	_ = tls.Server(w, &tls.Config{GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config, error) {
		info = i
		return nil, enough
	}}).HandshakeContext(t.Context())
	return info
}

func number(n, size int) string {
	out := make([]byte, size)
	for i := range size {
		out[size-1-i] = byte(n >> (8 * i))
	}
	return string(out)
}

func vector(size int, s string) string { return number(len(s), size) + s }

func extension(kind int, s string) string { return number(kind, 2) + vector(2, s) }

func sni(names ...string) string {
	list := ""
	for _, name := range names {
		list += "\x00" + vector(2, name)
	}
	return extension(0, vector(2, list))
}

// opening is a ClientHello up to its extensions.
var opening = "\x03\x03" + strings.Repeat("r", 32) + vector(1, "") + vector(2, "\x13\x01\x13\x02") + vector(1, "\x00")

func message(extensions string) string {
	return "\x01" + vector(3, opening+vector(2, extensions))
}

func record(s string) string { return "\x16\x03\x01" + vector(2, s) }

// pieces cuts a message into records.
func pieces(s string, size int) string {
	var out strings.Builder
	for len(s) > size {
		out.WriteString(record(s[:size]))
		s = s[size:]
	}
	return out.String() + record(s)
}

var (
	plain  = message(sni("a.example"))
	named  = clienthello.Hello{Name: "a.example", HasName: true}
	hidden = clienthello.Hello{Name: "a.example", HasName: true, ECH: true}
)

var hellos = []struct {
	name, in string
	want     clienthello.Hello
	err      error
}{
	{"a name", record(plain), named, nil},
	{"as it stands there", record(message(sni("A.Example"))), clienthello.Hello{Name: "A.Example", HasName: true}, nil},
	{"an address", record(message(sni("93.184.215.14"))), clienthello.Hello{Name: "93.184.215.14", HasName: true}, nil},
	{"no name", record(message(extension(43, "\x02\x03\x04"))), clienthello.Hello{}, nil},
	{"empty extensions", record(message("")), clienthello.Hello{}, nil},
	{"no extensions", record("\x01" + vector(3, opening)), clienthello.Hello{}, nil},
	{"ALPN", record(message(extension(16, vector(2, vector(1, "h2")+vector(1, "http/1.1"))) + sni("a.example"))), clienthello.Hello{Name: "a.example", HasName: true, ALPN: []string{"h2", "http/1.1"}}, nil},
	{"record versions", "\x16\x03\x03" + vector(2, plain), named, nil},
	{"SSL 3.0 record", "\x16\x03\x00" + vector(2, plain), named, nil},
	{"two records", pieces(plain, len(plain)-3), named, nil},
	{"the header in two records", pieces(plain, 3), named, nil},
	{"a byte a record", pieces(plain, 1), named, nil},
	{"records behind", record(plain) + "\x14\x03\x03\x00\x01\x01" + "\x17\x03\x03\x00\x01x", named, nil},
	{"bytes behind", record(plain) + "GET / HTTP/1.1", named, nil},
	{"large, as after quantum computers", record(message(sni("a.example") + extension(51, strings.Repeat("k", 1800)))), named, nil},
	{"the largest", pieces(message(extension(0x5a5a, strings.Repeat("k", 65000))+sni("a.example")), 16384), named, nil},
	{"many extensions", record(message(many(100) + sni("a.example"))), named, nil},

	{"ECH", record(message(sni("a.example") + extension(0xfe0d, "\x00x"))), hidden, nil},
	{"ECH first", record(message(extension(0xfe0d, "\x00x") + sni("a.example"))), hidden, nil},
	{"ECH that is empty", record(message(sni("a.example") + extension(0xfe0d, ""))), hidden, nil},
	{"ECH of draft 8", record(message(sni("a.example") + extension(0xfe08, "x"))), hidden, nil},
	{"ECH of draft 9", record(message(sni("a.example") + extension(0xfe09, "x"))), hidden, nil},
	{"ECH of draft 10", record(message(sni("a.example") + extension(0xfe0a, "x"))), hidden, nil},
	{"ECH, draft 7", record(message(sni("a.example") + extension(0xff02, "x"))), hidden, nil},
	{"ech_outer_extensions", record(message(sni("a.example") + extension(0xfd00, "x"))), hidden, nil},
	{"ESNI", record(message(sni("a.example") + extension(0xffce, "x"))), hidden, nil},
	{"ESNI alone", record(message(extension(0xffce, "x"))), clienthello.Hello{ECH: true}, nil},
	{"GREASE is no ECH", record(message(sni("a.example") + extension(0xfafa, "") + extension(0x0a0a, "x"))), named, nil},

	{"HTTP", "GET / HTTP/1.1\r\n\r\n", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"SSH", "SSH-2.0-OpenSSH\r\n", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"zeros", "\x00\x00\x00\x00\x00", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"SSL 2.0", "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"an alert", "\x15\x03\x01\x00\x02\x01\x00", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"application data", "\x17\x03\x03\x00\x05hello", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"a change of cipher first", "\x14\x03\x03\x00\x01\x01" + record(plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"version 2", "\x16\x02\x00" + vector(2, plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"version 3.5", "\x16\x03\x05" + vector(2, plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"DTLS", "\x16\xfe\xfd\x00\x00\x00\x00\x00\x00\x00\x00" + vector(2, plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"an empty record", "\x16\x03\x01\x00\x00" + record(plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"an empty record inside", record(plain[:9]) + "\x16\x03\x01\x00\x00" + record(plain[9:]), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"a record of more than 16 KiB", "\x16\x03\x01\x40\x01", clienthello.Hello{}, clienthello.ErrNotTLS},
	{"an alert between", record(plain[:9]) + "\x15\x03\x01\x00\x02\x01\x00" + record(plain[9:]), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"a ServerHello", record("\x02" + plain[1:]), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"a HelloRequest first", record("\x00\x00\x00\x00" + plain), clienthello.Hello{}, clienthello.ErrNotTLS},
	{"more than 64 KiB", record("\x01\x01\x00\x01" + opening), clienthello.Hello{}, clienthello.ErrLarge},
	{"too many records", pieces(message(extension(51, strings.Repeat("k", 300))), 1), clienthello.Hello{}, clienthello.ErrLarge},
	{"too many extensions", pieces(message(many(300)), 9000), clienthello.Hello{}, clienthello.ErrForm},
	{"a second message in its record", record(plain + "\x01\x00\x00\x01x"), clienthello.Hello{}, clienthello.ErrForm},
	{"a byte more than the message", record(plain + "x"), clienthello.Hello{}, clienthello.ErrForm},

	{"an empty message", record("\x01\x00\x00\x00"), clienthello.Hello{}, clienthello.ErrForm},
	{"only a version", record("\x01" + vector(3, "\x03\x03")), clienthello.Hello{}, clienthello.ErrForm},
	{"version 4 of the message", record("\x01" + vector(3, "\x04"+opening[1:])), clienthello.Hello{}, clienthello.ErrForm},
	{"a session of 33 bytes", record("\x01" + vector(3, opening[:34]+vector(1, strings.Repeat("s", 33))+vector(2, "\x13\x01")+vector(1, "\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"no ciphers", record("\x01" + vector(3, opening[:35]+vector(2, "")+vector(1, "\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"half a cipher", record("\x01" + vector(3, opening[:35]+vector(2, "\x13\x01\x13")+vector(1, "\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"no compression", record("\x01" + vector(3, opening[:35]+vector(2, "\x13\x01")+vector(1, ""))), clienthello.Hello{}, clienthello.ErrForm},
	{"extensions that end early", record("\x01" + vector(3, opening+vector(2, sni("a.example"))+"x")), clienthello.Hello{}, clienthello.ErrForm},
	{"extensions that end late", record("\x01" + vector(3, opening+"\x00\xff"+sni("a.example"))), clienthello.Hello{}, clienthello.ErrForm},
	{"an extension that ends late", record(message("\x00\x2b\x00\x09\x02\x03\x04")), clienthello.Hello{}, clienthello.ErrForm},
	{"half an extension", record(message("\x00\x2b\x00")), clienthello.Hello{}, clienthello.ErrForm},
	{"the name twice", record(message(sni("a.example") + sni("b.example"))), clienthello.Hello{}, clienthello.ErrForm},
	{"the same name twice", record(message(sni("a.example") + sni("a.example"))), clienthello.Hello{}, clienthello.ErrForm},
	{"ECH twice", record(message(extension(0xfe0d, "") + sni("a.example") + extension(0xfe0d, ""))), clienthello.Hello{}, clienthello.ErrForm},
	{"ALPN that is empty", record(message(extension(16, "\x00\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"ALPN with an empty name", record(message(extension(16, "\x00\x01\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"ALPN with bytes behind", record(message(extension(16, vector(2, vector(1, "h2"))+"x"))), clienthello.Hello{}, clienthello.ErrForm},

	{"two names in a list", record(message(sni("a.example", "b.example"))), clienthello.Hello{}, clienthello.ErrName},
	{"the same name two times in a list", record(message(sni("a.example", "a.example"))), clienthello.Hello{}, clienthello.ErrName},
	{"a name of another type", record(message(extension(0, vector(2, "\x01"+vector(2, "a.example"))))), clienthello.Hello{}, clienthello.ErrName},
	{"a name of another type behind", record(message(extension(0, vector(2, "\x00"+vector(2, "a.example")+"\x01"+vector(2, "b.example"))))), clienthello.Hello{}, clienthello.ErrName},
	{"an empty name", record(message(sni(""))), clienthello.Hello{}, clienthello.ErrName},
	{"a dot at the end", record(message(sni("a.example."))), clienthello.Hello{Name: "a.example.", HasName: true}, nil},
	{"two dots at the end", record(message(sni("a.example.."))), clienthello.Hello{}, clienthello.ErrName},
	{"a name of 253 bytes and a dot", record(message(sni(strings.Repeat("a", 253) + "."))), clienthello.Hello{Name: strings.Repeat("a", 253) + ".", HasName: true}, nil},
	{"a name of 254 bytes and a dot", record(message(sni(strings.Repeat("a", 254) + "."))), clienthello.Hello{}, clienthello.ErrName},
	{"a dot alone", record(message(sni("."))), clienthello.Hello{}, clienthello.ErrName},
	{"a name of 254 bytes", record(message(sni(strings.Repeat("a", 254)))), clienthello.Hello{}, clienthello.ErrName},
	{"NUL", record(message(sni("a.example\x00.evil.net"))), clienthello.Hello{}, clienthello.ErrName},
	{"UTF-8", record(message(sni("\xc3\xbc.example"))), clienthello.Hello{}, clienthello.ErrName},
	{"a space", record(message(sni("a.example "))), clienthello.Hello{}, clienthello.ErrName},
	{"a port", record(message(sni("a.example:443"))), clienthello.Hello{}, clienthello.ErrName},
	{"an IPv6 address", record(message(sni("2001:db8::1"))), clienthello.Hello{}, clienthello.ErrName},
	{"an asterisk", record(message(sni("*.example"))), clienthello.Hello{}, clienthello.ErrName},
	{"a slash", record(message(sni("a.example/"))), clienthello.Hello{}, clienthello.ErrName},
	{"a percent sign", record(message(sni("a%2eexample"))), clienthello.Hello{}, clienthello.ErrName},
	{"a list that is empty", record(message(extension(0, "\x00\x00"))), clienthello.Hello{}, clienthello.ErrForm},
	{"an extension that is empty, as of a server", record(message(extension(0, ""))), clienthello.Hello{}, clienthello.ErrForm},
	{"a list that ends early", record(message(extension(0, vector(2, "\x00"+vector(2, "a.example"))+"x"))), clienthello.Hello{}, clienthello.ErrForm},
	{"a list that ends late", record(message(extension(0, "\x00\xff\x00"+vector(2, "a.example")))), clienthello.Hello{}, clienthello.ErrForm},
	{"a name that ends late", record(message(extension(0, vector(2, "\x00\x00\xffa.example")))), clienthello.Hello{}, clienthello.ErrForm},
}

// many are extensions that nobody knows.
func many(n int) string {
	out := ""
	for i := range n {
		out += extension(0x4000+i, "x")
	}
	return out
}

// TestParse reads each whole and every start of it: what is accepted is so only
// with its last byte, what is refused is so for good.
func TestParse(t *testing.T) {
	for _, tt := range hellos {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.in)
			for n := 0; n < len(raw); n += 1 + len(raw)/500 {
				h, err := clienthello.Parse(raw[:n:n])
				if errors.Is(err, clienthello.ErrMore) {
					continue
				}
				check(t, h, tt.want, err, tt.err)
				break
			}
			h, err := clienthello.Parse(raw)
			check(t, h, tt.want, err, tt.err)
			sameServer(t, raw)
		})
	}
}

func check(t *testing.T, got, want clienthello.Hello, err, wanted error) {
	t.Helper()
	if err != wanted && !errors.Is(err, wanted) {
		t.Fatalf("got %v, want %v", err, wanted)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

// sameServer holds that a server which takes what is accepted here sees the same
// name.
func sameServer(t *testing.T, raw []byte) {
	t.Helper()
	h, err := clienthello.Parse(raw)
	info := server(t, raw)
	if err != nil || info == nil {
		return
	}
	if h.Name != info.ServerName || h.HasName != (info.ServerName != "") {
		t.Fatalf("read as %+v, the server sees %q", h, info.ServerName)
	}
	if diff := cmp.Diff(h.ALPN, info.SupportedProtos); diff != "" {
		t.Fatal(diff)
	}
}

// TestServersTakeMore counts what is refused here and a server takes all the same,
// so that the comparison is seen to see something.
func TestServersTakeMore(t *testing.T) {
	n := 0
	for _, tt := range hellos {
		if tt.err != nil && server(t, []byte(tt.in)) != nil {
			n++
		}
	}
	if n < 3 {
		t.Errorf("%d of them", n)
	}
}

// configs are those of clients of crypto/tls.
func configs() []*tls.Config {
	ech := &tls.Config{ServerName: "inner.example", MinVersion: tls.VersionTLS13,
		EncryptedClientHelloConfigList: echConfigList}
	return []*tls.Config{
		{ServerName: "Api.example.com"},
		{ServerName: "Api.example.com."},
		{ServerName: "api.example.com", NextProtos: []string{"h2", "http/1.1"}},
		{ServerName: "api.example.com", MaxVersion: tls.VersionTLS12},
		{ServerName: "api.example.com", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		{ServerName: "api.example.com", CurvePreferences: []tls.CurveID{tls.X25519MLKEM768, tls.X25519}},
		{ServerName: "api.example.com", ClientSessionCache: tls.NewLRUClientSessionCache(1)},
		{ServerName: "93.184.215.14"}, {ServerName: "2001:db8::1"}, {ServerName: "[2001:db8::1]"},
		{InsecureSkipVerify: true},
		ech,
	}
}

// echConfigList has one configuration with an X25519 key for public.example.
var echConfigList = []byte(
	vector(2, "\xfe\x0d"+vector(2, "\x01\x00\x20"+vector(2, strings.Repeat("\x09", 32))+vector(2, "\x00\x01\x00\x01")+
		"\x20"+vector(1, "public.example")+vector(2, ""))))

func TestParseClients(t *testing.T) {
	for _, config := range configs() {
		raw := clientHello(t, config)
		for n := range raw {
			if h, err := clienthello.Parse(raw[:n:n]); !errors.Is(err, clienthello.ErrMore) {
				t.Fatalf("%s: %d of %d bytes: %+v, %v", config.ServerName, n, len(raw), h, err)
			}
		}
		h, err := clienthello.Parse(raw)
		info := server(t, raw)
		if err != nil || info == nil || h.ECH != (config.EncryptedClientHelloConfigList != nil) {
			t.Fatalf("%s: %+v, %v, %v", config.ServerName, h, err, info)
		}
		sameServer(t, raw)
	}
}

// TestReads: a buffer that starts like a ClientHello has an answer at the latest
// with MaxSize bytes.
func TestReads(t *testing.T) {
	largest := "\x01\x01\x00\x00" + strings.Repeat("x", 64<<10)
	for _, in := range []string{pieces(largest, 16384), pieces(largest, 300), pieces(largest, 1),
		strings.Repeat(record(largest[:3]), 30000)} {
		in = in[:min(len(in), clienthello.MaxSize)]
		if _, err := clienthello.Parse([]byte(in)); errors.Is(err, clienthello.ErrMore) {
			t.Errorf("wants more than %d bytes", len(in))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range hellos {
		if len(tt.in) < 4096 {
			f.Add([]byte(tt.in))
		}
	}
	for _, config := range configs() {
		f.Add(clientHello(f, config))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := clienthello.Parse(raw)
		if err != nil && (h.HasName || h.Name != "" || h.ECH || h.ALPN != nil) {
			t.Fatalf("%v, and gives %+v", err, h)
		}
		if errors.Is(err, clienthello.ErrMore) && len(raw) >= clienthello.MaxSize {
			t.Fatal("wants more than there can be")
		}
		if err == nil {
			if again, aerr := clienthello.Parse(append(bytes.Clone(raw), "behind"...)); aerr != nil ||
				!cmp.Equal(h, again) {
				t.Fatalf("with bytes behind: %+v, %v", again, aerr)
			}
		}
		sameServer(t, raw)
	})
}

// FuzzName: a client that names any server has it read as it sent it.
func FuzzName(f *testing.F) {
	f.Add("api.example.com", uint16(tls.VersionTLS12), "h2")
	f.Fuzz(func(t *testing.T, name string, version uint16, proto string) {
		w := &wire{}
		err := tls.Client(w, &tls.Config{ServerName: name, InsecureSkipVerify: true, MaxVersion: version,
			NextProtos: []string{proto}}).HandshakeContext(t.Context())
		if !errors.Is(err, io.EOF) || w.out.Len() == 0 {
			return
		}
		sameServer(t, w.out.Bytes())
		h, err := clienthello.Parse(w.out.Bytes())
		info := server(t, w.out.Bytes())
		if err == nil && info != nil && h.Name != info.ServerName {
			t.Fatalf("%q is read as %q, the server sees %q", name, h.Name, info.ServerName)
		}
	})
}
