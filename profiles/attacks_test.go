package profiles_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// attack is one request that has to be refused, and the twin of it without what
// makes it one, which has to be allowed: it is refused for that alone.
type attack struct {
	class string
	why   string
	code  egress.Code
	allow []string
	evil  egress.Action
	twin  egress.Action
	list  []string // of the twin, where it differs
	dial  string   // of the twin
}

func connect(target string) egress.Action {
	return egress.Action{Kind: "connect", Target: target}
}

func get(target string, headers ...[2]string) egress.Action {
	return egress.Action{Kind: "http", Target: target, Method: "GET", Headers: headers}
}

func fetch(target string, redirects ...string) egress.Action {
	return egress.Action{Kind: "fetch", Target: target, Redirects: redirects}
}

func socks(target, atyp string) egress.Action {
	return egress.Action{Kind: "socks5", Target: target, Atyp: atyp}
}

func resolved(a egress.Action, answers ...string) egress.Action {
	a.ResolvesTo = answers
	return a
}

func named(a egress.Action, sni string) egress.Action {
	a.SNI = &sni
	return a
}

func ptr(s string) *string { return &s }

const api = "api.example.com"

// attacks makes the table, class by class with all siblings.
func attacks() (out []attack) {
	for _, part := range [][]attack{
		hostAttacks(), numberAttacks(), portAttacks(), authorityAttacks(), wildcardAttacks(), addressAttacks(),
		rebindAttacks(),
		helloAttacks(), headAttacks(), socksAttacks(), fetchAttacks(), dnsAttacks(), listAttacks(),
	} {
		out = append(out, part...)
	}
	return out
}

// hostAttacks puts what stands in no name into one, at its start, in it and at
// its end, through every listener that takes a name as it is.
func hostAttacks() (out []attack) {
	for _, bad := range []struct{ why, text string }{
		{"percent-encoded letter", "%61"}, {"percent-encoded NUL", "%00"}, {"percent-encoded dot", "%2e"}, {"percent-encoded slash", "%2f"},
		{"NUL", "\x00"}, {"tab", "\t"}, {"space", " "}, {"delete", "\x7f"}, {"line feed", "\n"}, {"CRLF", "\r\n"},
		{"full-width letter", "ａ"}, {"ideographic full stop", "。"}, {"full-width full stop", "．"}, {"soft hyphen", "\u00ad"}, {"zero width space", "\u200b"},
		{"zero width joiner", "\u200d"}, {"Cyrillic a", "а"}, {"combining dot", "\u0307"}, {"right-to-left override", "\u202e"}, {"Kelvin sign", "\u212a"},
		{"asterisk", "*"}, {"at sign", "@"}, {"backslash", "\\"}, {"comma", ","}, {"semicolon", ";"}, {"exclamation mark", "!"}, {"dollar", "$"},
		{"plus", "+"}, {"tilde", "~"}, {"quote", "'"}, {"parenthesis", "("}, {"pipe", "|"}, {"angle bracket", "<"}, {"equals", "="},
	} {
		name := "a" + bad.text + "b.example.com"
		out = append(out,
			attack{"charset", bad.why + " in a name", egress.Target, []string{"*.example.com"}, connect(name + ":443"),
				connect("ab.example.com:443"), nil, ""},
			attack{"charset", bad.why + " in a SOCKS domain", egress.Target, []string{"*.example.com"},
				socks(name+":443", "domain"), socks("ab.example.com:443", "domain"), nil, ""})
	}
	for _, text := range []string{"%00", "\x00", "%0d%0a", "?", "#", "/", "@"} {
		out = append(out, attack{"charset", fmt.Sprintf("%q ends what some readers take for the name", text),
			egress.Target,
			[]string{"*.example.com"}, connect("evil.net" + text + ".example.com:443"),
			connect("evil-net.example.com:443"), nil, ""})
	}
	for _, bad := range []struct{ why, name string }{
		{"empty label", "a..example.com"}, {"leading dot", ".a.example.com"}, {"two trailing dots", "a.example.com.."}, {"only a dot", "."},
		{"label of 64", strings.Repeat("a", 64) + ".example.com"}, {"last label empty twice", "a.example.com..."},
		{"name of 255", strings.Repeat("a.", 122) + "example.com"},
		{"bare xn--", "xn--.example.com"}, {"xn--a decodes to nothing", "xn--a.example.com"}, {"A-label of ASCII", "xn--abc-.example.com"},
		{"A-label of an upper case letter", "xn--Bcher-goa.example.com"}, {"A-label that is not in its usual form", "xn--a-ecp.ru.example.com"},
		{"A-label of a soft hyphen", "xn--ab-5da.example.com"}, {"A-label with a letter that is no digit", "xn--\x30\x30_.example.com"},
	} {
		out = append(out, attack{"name", bad.why, egress.Target, []string{"*.example.com"}, connect(bad.name + ":443"),
			connect("a.example.com:443"), nil, ""})
	}
	return append(out,
		attack{"name", "253 characters with the dot at the end are allowed, 254 without are not", egress.Target,
			[]string{"*.example.com"},
			connect(strings.Repeat("a.", 120) + "aa.example.com:443"),
			connect(strings.Repeat("a.", 120) + "a.example.com.:443"), nil, ""},
		attack{"name", "a homoglyph in an A-label is another name", egress.NotGranted, []string{"example.com"},
			connect("xn--exmple-4nf.com:443"), connect("example.com:443"), nil, ""},
		attack{"name", "upper case is the same name, another name is not", egress.NotGranted, []string{api},
			connect("API.EXAMPLE.NET:443"), connect("API.EXAMPLE.COM:443"), nil, ""})
}

// numberAttacks writes addresses in the forms that inet_aton reads.
func numberAttacks() (out []attack) {
	for _, form := range []struct{ why, text string }{
		{"decimal", "1572395786"}, {"hexadecimal", "0x5db8d70a"}, {"upper case hexadecimal", "0X5DB8D70A"}, {"octal", "013556153412"}, {"hexadecimal octets", "0x5d.0xb8.0xd7.0x0a"},
		{"last octet hexadecimal", "93.184.215.0xa"}, {"octal octets", "0135.0270.0327.012"}, {"leading zero", "93.184.215.010"}, {"leading zeros", "093.184.215.10"},
		{"two parts", "93.12113674"}, {"three parts", "93.184.55050"}, {"five parts", "93.184.215.10.0"}, {"trailing dot", "93.184.215.10."}, {"empty octet", "93..215.10"},
		{"octet above 255", "93.184.215.266"}, {"plus", "+93.184.215.10"}, {"full-width digits", "９３.184.215.10"}, {"bare 0x", "0x"}, {"a name that ends in a number", "api.example.10"},
		{"a name that ends in hexadecimal", "api.example.0x10"}, {"brackets around IPv4", "[93.184.215.10]"}, {"brackets around mapped short form", "[::ffff:93.184.215]"},
	} {
		out = append(out,
			attack{"number", form.why, egress.Target, []string{"93.184.215.10"}, connect(form.text + ":443"),
				connect("93.184.215.10:443"), nil, "93.184.215.10"},
			attack{"number", form.why + " as a SOCKS domain", egress.Target, []string{"93.184.215.10"},
				socks(form.text+":443", "domain"), socks("93.184.215.10:443", "ipv4"), nil, "93.184.215.10"})
	}
	for _, form := range []string{"[2606:4700::1%25eth0]", "[2606:4700::1%eth0]", "2606:4700::1", "[2606:4700::1",
		"2606:4700::1]", "[2606:4700:::1]", "[2606:4700::00001]", "[[2606:4700::1]]", "[2606:4700::1].example.com", "[]", "[a.example.com]", "[2606:4700::1 ]"} {
		out = append(out, attack{"ipv6", "not IPv6 in its usual form: " + form, egress.Target,
			[]string{"[2606:4700::1]", "*.example.com"},
			connect(form + ":443"), connect("[2606:4700:0::1]:443"), nil, "2606:4700::1"})
	}
	for _, target := range []string{"[2606:4700::1]x443", "[2606:4700::1]443", "[2606:4700::1]::443",
		"[2606:4700::1].:443"} {
		out = append(out, attack{"ipv6", "no colon right behind the bracket: " + target, egress.Target,
			[]string{"[2606:4700::1]"}, connect(target), connect("[2606:4700::1]:443"), nil, ""})
	}
	return out
}

// portAttacks writes ports that other readers take for 443.
func portAttacks() (out []attack) {
	for _, port := range []string{"", "+443", " 443", "443 ", "0443", "00443", "0x1bb", "443.0", "4_43", "65979",
		"131515", "4294967739", "18446744073709552059", "-65093", "４４３", "https", "443/", "443#", "443?", "443:443", "443,80", "0", "65536", "99999", "1e3", "%34%34%33"} {
		out = append(out,
			attack{"port", fmt.Sprintf("port %q in CONNECT", port), egress.Target, []string{api + ":*"},
				connect(api + ":" + port), connect(api + ":443"), nil, ""},
			attack{"port", fmt.Sprintf("port %q after an address", port), egress.Target, []string{"[2606:4700::1]:*"},
				connect("[2606:4700::1]:" + port), connect("[2606:4700::1]:443"), nil, ""})
	}
	return append(out,
		attack{"port", "no port in CONNECT", egress.Target, []string{api}, connect(api), connect(api + ":443"), nil,
			""},
		attack{"port", "no port after IPv6", egress.Target, []string{"[2606:4700::1]"}, connect("[2606:4700::1]"),
			connect("[2606:4700::1]:443"), nil, ""},
		attack{"port", "another port than 443", egress.Port, []string{api}, connect(api + ":8443"),
			connect(api + ":443"), nil, ""},
		attack{"port", "80 of a host without a port", egress.Port, []string{api}, get("http://" + api + "/"),
			get("http://" + api + "/"), []string{api + ":80"}, ""},
		attack{"port", "443 of a host with a port", egress.Port, []string{api + ":22"}, connect(api + ":443"),
			connect(api + ":22"), nil, ""},
		attack{"port", "a wildcard has ports too", egress.Port, []string{"*.example.com:8443"},
			connect("a.example.com:443"), connect("a.example.com:8443"), nil, ""},
		attack{"port", "a range has ports too", egress.Port, []string{"93.184.0.0/16:22"}, connect("93.184.1.1:443"),
			connect("93.184.1.1:22"), nil, ""},
		attack{"port", "plain HTTP on 443", egress.NotTLS, []string{api + ":*"}, get("http://" + api + ":443/"),
			get("http://" + api + ":8080/"), nil, ""},
		attack{"port", "fetch of http: on 443", egress.NotTLS, []string{api}, fetch("http://" + api + ":443/"),
			fetch("https://" + api + "/"), nil, ""})
}

// authorityAttacks name two hosts in one target.
func authorityAttacks() (out []attack) {
	for _, target := range []string{
		api + ":443@evil.net:443", "evil.net:443@" + api + ":443", "user@" + api + ":443", "user:pass@" + api + ":443",
		"@" + api + ":443", api + "@:443",
		"https://" + api + ":443", "//" + api + ":443", api + ":443/", "/" + api + ":443", api + ":443?x", api + ":443#x", api + "\\.evil.net:443", "evil.net\\@" + api + ":443",
		api + ":443:22", ":443", "", "*", "/", "/path", api + ",evil.net:443", api + ";evil.net:443",
		"unix:/var/run/docker.sock", api + ":443 evil.net:443",
	} {
		out = append(out, attack{"authority", fmt.Sprintf("CONNECT %q", target), egress.Target,
			[]string{api, "evil.net:80"}, connect(target), connect(api + ":443"), nil, ""})
	}
	for _, target := range []string{
		"http://user@" + api + "/", "http://user:pass@" + api + "/", "http://@" + api + "/", "http://evil.net@" + api + "/", "http://" + api + "@evil.net/", "http://" + api + ":80@evil.net/",
		"http://" + api + "\\@evil.net/", "http://" + api + "/#x", "http:///" + api + "/", "http:/" + api + "/", "http:" + api, "http://" + api + ":/", "http://" + api + ":080/", "http://" + api + ":+80/",
		"http://" + api + ":80:80/", "http://[" + api + "]/", "http://unix:/var/run/docker.sock:/x", "http://" + api + "%2f@evil.net/", "http://a%70i.example.com/", "http://2130706433/", "http://" + api + "\t/",
		"https://" + api + "/", "ftp://" + api + "/", "file:///etc/passwd", "ws://" + api + "/", "gopher://" + api + ":80/_x", "//" + api + "/", "http//" + api + "/", "javascript:alert(1)", "http://" + api + "/a b", "http://" + api + "/a\\b", "http://" + api + "/é",
	} {
		code := egress.Target
		if strings.HasPrefix(target, "//") { // it has no host for the Host header
			code = ""
		}
		out = append(out, attack{"absolute", fmt.Sprintf("GET %q", target), code, []string{api + ":80", "evil.net:22"},
			get(target), get("http://" + api + "/"), nil, ""})
	}
	for _, host := range []string{"evil.net", api + ".evil.net", "evil.net, " + api, api + ":8080", api + ":443",
		"user@" + api, "", " ", api + "/", api + "..", "[" + api + "]", "http://" + api, api + "\x00", "a%70i.example.com", "127.0.0.1", api + ":", api + ":080"} {
		evil := get("http://" + api + "/")
		evil.HostHeader = ptr(host)
		good := get("http://" + api + "/")
		good.HostHeader = ptr("API.example.com:80")
		out = append(out, attack{"host", fmt.Sprintf("Host %q in plain HTTP", host), egress.Request,
			[]string{api + ":80"}, evil, good, nil, ""})
		if host == api+":443" {
			continue
		}
		evil, good = connect(api+":443"), connect(api+":443")
		evil.HostHeader, good.HostHeader = ptr(host), ptr(api+":443")
		out = append(out, attack{"host", fmt.Sprintf("Host %q in CONNECT", host), egress.Request, []string{api}, evil,
			good, nil, ""})
	}
	return out
}

func wildcardAttacks() (out []attack) {
	for _, target := range []string{"example.com", "evilexample.com", "a.evilexample.com", "example.com.evil.net",
		"a.example.com.evil.net", "example.org", "com", "xexample.com", "a-example.com", "a.example.co", "a.example.comx"} {
		out = append(out, attack{"wildcard", target + " is not below *.example.com", egress.NotGranted,
			[]string{"*.example.com"}, connect(target + ":443"), connect("a.b.c.example.com:443"), nil, ""})
	}
	for _, target := range []string{"www." + api, "a" + api, api + ".evil.net", "example.com", "pi.example.com"} {
		out = append(out, attack{"wildcard", target + " is not " + api, egress.NotGranted, []string{api},
			connect(target + ":443"), connect(api + ".:443"), nil, ""})
	}
	for _, target := range []string{"93.184.215.14", "127.0.0.1", "[2606:4700::1]", "[::1]", "169.254.169.254"} {
		out = append(out, attack{"wildcard", "no wildcard covers the address " + target, egress.NotGranted,
			[]string{"*.example.com", "93.184.215.15"}, connect(target + ":443"), connect("93.184.215.15:443"), nil,
			""})
	}
	return out
}

// addressAttacks list what is never reached, and reach what is not listed for it.
func addressAttacks() (out []attack) {
	for _, text := range []string{"0.0.0.0", "0.0.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16",
		"192.0.0.192", "100.100.100.200", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[::]", "[fe80::1]", "[ff02::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[2002:7f00:1::1]", "[2001:0:1::1]", "[::7f00:1]", "[::ffff:0:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[2606:4700::5efe:7f00:1]"} {
		for _, port := range []string{":80", ":443"} {
			out = append(out, attack{"never", text + " is never reached, listed or not", egress.Address,
				[]string{text + port, "93.184.215.14" + port}, connect(text + port), connect("93.184.215.14" + port),
				nil, ""})
		}
	}
	for _, text := range []string{"127.0.0.1", "127.1.2.3", "[::1]", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"100.64.0.1", "198.18.0.1", "203.0.113.1", "192.0.2.1", "[fd12::1]", "[fec0::1]", "[2001:db8::1]", "[100::1]"} {
		out = append(out, attack{"private", text + " is listed with another port", egress.Port,
			[]string{text + ":8080"}, connect(text + ":443"), connect(text + ":443"), []string{text + ":443"}, ""})
	}
	out = append(out,
		attack{"private", "loopback is listed as a range", egress.Address, []string{"127.0.0.0/8:8080"},
			connect("127.0.0.1:8080"), connect("127.0.0.1:8080"), []string{"127.0.0.1:8080"}, "127.0.0.1"},
		attack{"private", "loopback is listed with every port", egress.Address, []string{"127.0.0.1:*"},
			connect("127.0.0.1:8080"), connect("127.0.0.1:8080"), []string{"127.0.0.1:8080"}, "127.0.0.1"},
		attack{"private", "mapped loopback", egress.NotGranted, []string{"[::1]:8080"},
			connect("[::ffff:127.0.0.1]:8080"), connect("[::ffff:127.0.0.1]:8080"), []string{"127.0.0.1:8080"},
			"127.0.0.1"},
		attack{"private", "a wide range opens nothing private", egress.Address, []string{"8.0.0.0/5"},
			connect("10.0.0.1:443"), connect("9.0.0.1:443"), nil, "9.0.0.1"})
	return out
}

// rebindAttacks resolve a listed name to what it must not be.
func rebindAttacks() (out []attack) {
	for _, answer := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "10.0.0.5", "172.20.0.1", "192.168.0.10", "100.64.1.1", "169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200",
		"fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "::ffff:0:a00:1",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "64:ff9b:1:a00:0:100::", "64:ff9b:1:0:a:0:100:0", "2002:a00:1::1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
		"2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "192.0.2.7", "198.51.100.7", "203.0.113.7", "198.18.0.7", "192.88.99.1", "224.0.0.251", "240.0.0.1", "255.255.255.255", "0.1.2.3", "2001:db8::1", "3fff::1", "ff02::fb", "100::1",
	} {
		out = append(out, attack{"rebinding", "the name has the address " + answer, egress.Address,
			[]string{"app.example.com"},
			resolved(connect("app.example.com:443"), answer),
			resolved(connect("app.example.com:443"), "93.184.215.14", answer), nil, "93.184.215.14"})
	}
	set := func(answers ...string) egress.Action {
		a := resolved(connect("app.example.com:443"), answers...)
		a.ResolveMode = "rrset"
		return a
	}
	none := resolved(connect("app.example.com:443"))
	none.ResolvesTo = []string{}
	asked := connect("app.example.com:443")
	asked.NoDNS = true
	literal := connect("93.184.215.14:443")
	literal.NoDNS = true
	return append(out,
		attack{"rebinding", "every answer of a set is private", egress.Address, []string{"app.example.com"},
			set("10.0.0.1", "127.0.0.1", "fd12::1"), set("10.0.0.1", "93.184.215.14", "fd12::1"), nil, "93.184.215.14"},
		attack{"rebinding", "the second lookup does not count", egress.Address, []string{"app.example.com"},
			resolved(connect("app.example.com:443"), "10.0.0.1", "93.184.215.14"), set("10.0.0.1", "93.184.215.14"),
			nil, "93.184.215.14"},
		attack{"rebinding", "the private answer is listed with another port", egress.Address,
			[]string{"app.example.com", "10.0.0.1:22"}, resolved(connect("app.example.com:443"), "10.0.0.1"),
			resolved(connect("app.example.com:443"), "10.0.0.1"), []string{"app.example.com", "10.0.0.1:443"},
			"10.0.0.1"},
		attack{"rebinding", "localhost is a name, and loopback is not listed", egress.Address,
			[]string{"localhost:8080"}, resolved(connect("localhost:8080"), "127.0.0.1"),
			resolved(connect("localhost:8080"), "127.0.0.1"), []string{"localhost:8080", "127.0.0.1:8080"},
			"127.0.0.1"},
		attack{"rebinding", "the name has no address", egress.NoAddress, []string{"app.example.com"}, none,
			resolved(connect("app.example.com:443"), "93.184.215.14"), nil, "93.184.215.14"},
		attack{"rebinding", "an answer that is no address", egress.NoAddress, []string{"app.example.com"},
			resolved(connect("app.example.com:443"), "127.1"),
			resolved(connect("app.example.com:443"), "93.184.215.14"), nil, "93.184.215.14"},
		attack{"rebinding", "an unlisted name is not looked up", egress.NotGranted,
			[]string{"app.example.com", "93.184.215.14"}, egress.Action{
				Kind: "connect", Target: "c2VjcmV0.attacker.net:443", NoDNS: true}, literal, nil, "93.184.215.14"},
		attack{"rebinding", "a listed name cannot be reached without a lookup", egress.NoAddress,
			[]string{"app.example.com", "93.184.215.14"}, asked, literal, nil, "93.184.215.14"})
}

func helloAttacks() (out []attack) {
	for _, sni := range []string{"evil.net", api + ".evil.net", "www." + api, "", "93.184.215.14", "127.0.0.1",
		api + "..", "*.example.com", "xn--a." + api, "a_b.evil.net", " " + api, "gateway.ringd.internal",
		"%61pi.example.com", api + "\x00"} {
		out = append(out, attack{"sni", fmt.Sprintf("the ClientHello names %q", sni), egress.SNI,
			[]string{api, "93.184.215.14:443"}, named(connect(api+":443"), sni),
			named(connect(api+":443"), "API.example.com."), nil, ""})
	}
	for _, listener := range []egress.Action{connect(api + ":443"), socks(api+":443", "domain")} {
		hidden := named(listener, api)
		hidden.ECH = true
		out = append(out, attack{"ech", "an encrypted ClientHello through " + listener.Kind, egress.ECH, []string{api},
			hidden, named(listener, api), nil, ""})
		for why, payload := range map[string]string{"HTTP": "GET / HTTP/1.1\r\nHost: evil.net\r\n\r\n",
			"SSH": "SSH-2.0-x\r\n", "nothing": "", "an SSLv2 hello": "\x80\x2e\x01\x00\x02", "a TLS alert": "\x15\x03\x01\x00\x02\x01\x00", "half a ClientHello": "\x16\x03\x01\x02\x00\x01\x00"} {
			plain, other := listener, listener
			plain.TLS, plain.Payload = "none", payload
			other.TLS, other.Payload, other.Target = "none", payload, api+":8443"
			out = append(out, attack{"tls", why + " on 443 through " + listener.Kind, egress.NotTLS,
				[]string{api, api + ":8443"}, plain, other, nil, ""})
		}
	}
	return append(out,
		attack{"sni", "the other host is listed on another port", egress.SNI, []string{api, "b.example.com:8443"},
			named(connect(api+":443"), "b.example.com"), named(connect(api+":443"), "b.example.com"),
			[]string{api, "b.example.com"}, ""},
		attack{"sni", "an address, and a name that is not listed", egress.SNI, []string{"93.184.215.14"},
			named(connect("93.184.215.14:443"), "evil.net"), named(connect("93.184.215.14:443"), ""), nil,
			"93.184.215.14"},
		attack{"sni", "the wildcard does not cover its apex", egress.SNI, []string{"*.example.com"},
			named(connect("a.example.com:443"), "example.com"), named(connect("a.example.com:443"), "b.example.com"),
			nil, ""})
}

// headAttacks are framings and lines of which two readers could make two things.
func headAttacks() (out []attack) {
	h := func(name, value string) [2]string { return [2]string{name, value} }
	post := func(headers ...[2]string) egress.Action {
		return egress.Action{Kind: "http", Target: "http://" + api + "/", Method: "POST", Headers: headers}
	}
	te, cl := h("Transfer-Encoding", "chunked"), h("Content-Length", "4")
	for _, a := range []struct {
		why  string
		evil egress.Action
	}{
		{"length and chunked", post(cl, te)}, {"chunked and length", post(te, cl)}, {"lengths that differ", post(cl, h("Content-Length", "5"))}, {"the length twice", post(cl, cl)},
		{"a list of lengths", post(h("Content-Length", "4, 4"))}, {"a signed length", post(h("Content-Length", "+4"))}, {"a negative length", post(h("Content-Length", "-1"))}, {"a hexadecimal length", post(h("Content-Length", "0x4"))},
		{"an empty length", post(h("Content-Length", ""))}, {"a length above 63 bits", post(h("Content-Length", "99999999999999999999"))}, {"a length in two words", post(h("Content-Length", "4 4"))},
		{"chunked twice", post(te, te)}, {"gzip, chunked", post(h("Transfer-Encoding", "gzip, chunked"))}, {"chunked, identity", post(h("Transfer-Encoding", "chunked, identity"))}, {"identity", post(h("Transfer-Encoding", "identity"))},
		{"xchunked", post(h("Transfer-Encoding", "xchunked"))}, {"chunked in quotes", post(h("Transfer-Encoding", `"chunked"`))}, {"a vertical tab before chunked", post(h("Transfer-Encoding", "\vchunked"))}, {"chunked;x", post(h("Transfer-Encoding", "chunked;x"))},
		{"a space before the colon", post(h("Transfer-Encoding ", "chunked"))}, {"a name with a space", post(h("Content Length", "4"))}, {"an empty name", post(h("", "x"))}, {"a line break in a value", post(h("X", "a\r\nTransfer-Encoding: chunked"))},
		{"a line feed in a value", post(h("X", "a\nb"))}, {"a carriage return in a value", post(h("X", "a\rb"))}, {"a NUL in a value", post(h("X", "a\x00b"))}, {"a line break in a name", post(h("X\r\nY", "b"))},
		{"two Hosts", post(h("Host", api), h("Host", api))}, {"two Hosts that differ", post(h("Host", api), h("Host", "evil.net"))}, {"the length with an underscore", post(h("Content_Length", "4"))},
	} {
		out = append(out, attack{"head", a.why, egress.Request, []string{api + ":80"}, a.evil, post(te), nil, ""})
	}
	for _, method := range []string{"TRACE", "TRACK"} {
		evil := get("http://" + api + "/")
		evil.Method = method
		out = append(out, attack{"head", "the method " + method, egress.Method, []string{api + ":80"}, evil,
			get("http://" + api + "/"), nil, ""})
	}
	raw := func(kind, text string) egress.Action {
		return egress.Action{Kind: kind, Target: "http://" + api + "/", Raw: text}
	}
	good := raw("http", "GET http://"+api+"/ HTTP/1.1\r\nHost: "+api+"\r\n\r\n")
	for why, text := range map[string]string{
		"HTTP/0.9": "GET http://" + api + "/\r\n\r\n", "HTTP/1.2": "GET http://" + api + "/ HTTP/1.2\r\nHost: " + api + "\r\n\r\n", "HTTP/2.0": "GET http://" + api + "/ HTTP/2.0\r\nHost: " + api + "\r\n\r\n", "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"lower case http/1.1": "GET http://" + api + "/ http/1.1\r\nHost: " + api + "\r\n\r\n", "bare line feeds": "GET http://" + api + "/ HTTP/1.1\nHost: " + api + "\n\n", "a folded line": "GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n evil\r\n\r\n",
		"no Host": "GET http://" + api + "/ HTTP/1.1\r\n\r\n", "a line without a colon": "GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\nx\r\n\r\n", "half a head": "GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n",
		"a head above 64 KiB": "GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\nX: " + strings.Repeat("a", 66000) + "\r\n\r\n", "origin-form": "GET / HTTP/1.1\r\nHost: " + api + "\r\n\r\n",
		"two spaces": "GET  http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n\r\n", "a tab": "GET\thttp://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n\r\n", "asterisk-form": "OPTIONS * HTTP/1.1\r\nHost: " + api + "\r\n\r\n",
	} {
		out = append(out, attack{"head", why, "", []string{api + ":80"}, raw("http", text), good, nil, ""})
	}
	tunnel := raw("connect", "CONNECT "+api+":443 HTTP/1.1\r\nHost: "+api+":443\r\n\r\n")
	for why, text := range map[string]string{
		"CONNECT with a length": "CONNECT " + api + ":443 HTTP/1.1\r\nHost: " + api + ":443\r\nContent-Length: 4\r\n\r\n", "CONNECT with chunks": "CONNECT " + api + ":443 HTTP/1.1\r\nHost: " + api + ":443\r\nTransfer-Encoding: chunked\r\n\r\n",
		"CONNECT for another Host": "CONNECT " + api + ":443 HTTP/1.1\r\nHost: evil.net:443\r\n\r\n", "HTTP behind a CONNECT to 443": "CONNECT " + api + ":443 HTTP/1.1\r\nHost: " + api + ":443\r\n\r\nGET / HTTP/1.1\r\n\r\n", "connect in lower case": "connect " + api + ":443 HTTP/1.1\r\nHost: " + api + ":443\r\n\r\n",
		"GET where a tunnel is asked for": "GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n\r\n",
	} {
		out = append(out, attack{"head", why, "", []string{api, api + ":80"}, raw("connect", text), tunnel, nil, ""})
	}
	return out
}

func socksAttacks() (out []attack) {
	for _, cmd := range []string{"udp", "bind", "resolve", "CONNECT", "connect "} {
		evil := socks(api+":443", "domain")
		evil.Cmd = cmd
		good := socks(api+":443", "domain")
		good.Cmd = "connect"
		out = append(out, attack{"socks", "the command " + cmd, egress.Request, []string{api}, evil, good, nil, ""})
	}
	for _, a := range []struct{ target, atyp string }{
		{"93.184.215.14:443", "domain"}, {"[2606:4700::1]:443", "domain"}, {"2606:4700::1:443", "domain"}, {api + ":443", "ipv4"}, {api + ":443", "ipv6"}, {"93.184.215.14:443", "ipv6"}, {"[2606:4700::1]:443", "ipv4"}, {api + ":443", "unix"}, {":443", "domain"},
	} {
		out = append(out, attack{"socks", a.target + " as " + a.atyp, egress.Target,
			[]string{api, "93.184.215.14", "[2606:4700::1]"}, socks(a.target, a.atyp),
			socks("[2606:4700::1]:443", "ipv6"), nil, "2606:4700::1"})
	}
	wire := func(bytes string) egress.Action {
		return egress.Action{Kind: "socks5", Target: api + ":443", RawHex: hex.EncodeToString([]byte(bytes))}
	}
	domain := func(name string) string { return string(rune(3)) + string([]byte{byte(len(name))}) + name + "\x01\xbb" }
	good := wire("\x05\x01\x00\x05\x01\x00" + domain(api))
	for why, bytes := range map[string]string{
		"SOCKS4": "\x04\x01\x01\xbb\x5d\xb8\xd7\x0e\x00", "SOCKS4a": "\x04\x01\x01\xbb\x00\x00\x00\x01\x00" + api + "\x00", "no method that will do": "\x05\x01\x02\x05\x01\x00" + domain(api), "no methods": "\x05\x00\x05\x01\x00" + domain(api),
		"BIND": "\x05\x01\x00\x05\x02\x00" + domain(api), "UDP ASSOCIATE": "\x05\x01\x00\x05\x03\x00" + domain(api), "a reserved byte": "\x05\x01\x00\x05\x01\x01" + domain(api), "an unknown type": "\x05\x01\x00\x05\x01\x00\x02" + api, "an empty domain": "\x05\x01\x00\x05\x01\x00\x03\x00\x01\xbb",
		"port 0": "\x05\x01\x00\x05\x01\x00\x03" + string([]byte{byte(len(api))}) + api + "\x00\x00", "a domain with a NUL": "\x05\x01\x00\x05\x01\x00" + domain("evil.net\x00."+api), "cut off": "\x05\x01\x00\x05\x01\x00\x03", "an address that is not listed": "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb",
		"a mapped address": "\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x01\xbb", "a domain that spells an address": "\x05\x01\x00\x05\x01\x00" + domain("127.0.0.1"),
	} {
		out = append(out, attack{"socks", why + " on the wire", "", []string{api}, wire(bytes), good, nil, ""})
	}
	return out
}

func fetchAttacks() (out []attack) {
	for _, target := range []string{
		"ftp://" + api + "/", "file:///etc/passwd", "data:text/plain,x", "javascript:alert(1)", "blob:https://" + api + "/x", "about:blank", "ws://" + api + "/", "unix:///var/run/x", "//" + api + "/", "/path", "", " ", "https://", "https:///", "https://user@" + api + "/", "https://user:pass@" + api + "/",
		"https://:@" + api + "/", "https://@" + api + "/", "https://evil.net%2f@" + api + "/", "https://" + api + ":99999/", "https://" + api + ":x/", "https://" + api + ":0/", "https://a_b%00.example.com/", "https://exa mple.com/", "https://[::1%25eth0]/", "https://xn--a.example.com/", "https://a..example.com/", "https://" + api + "../", "https://1.2.3.4.5/", "https://0x/", "https://" + api + "/%zz",
	} {
		out = append(out, attack{"fetch", fmt.Sprintf("fetch of %q", target), "", []string{api, "*.example.com"},
			fetch(target), fetch("https:\\\\API.example.com:443\\v1?q#x"), nil, ""})
	}
	for _, target := range []string{"https://" + api + "@evil.net/", "https://evil.net/" + api,
		"https://evil.net#" + api, "https://evil.net?" + api, "https://evil.net\\@" + api, "https://evil.net:443/", "https://" + api + ".evil.net/", "https://exаmple.com/", "https://evil.net／.example.com/", "https://2130706433/", "https://0x7f.1/", "https://017700000001/", "https://127.1/", "https://①②⑦.0.0.1/", "https://[::ffff:7f00:1]/", "https://evil\t.net/", "https://example。net/"} {
		out = append(out, attack{"fetch", fmt.Sprintf("the host of %q is another", target), "",
			[]string{api, "*.example.com"}, fetch(target), fetch("https://a%70i.exa\tmple.com/"), nil, ""})
	}
	for _, hop := range []string{"https://evil.net/", "//evil.net/", "\\\\evil.net", "http://" + api + "/",
		"https://" + api + ":8443/", "file:///etc/passwd", "data:text/plain,x", "https://user@" + api + "/", "https://127.0.0.1/", "http://169.254.169.254/latest/", "https://[::1]/", "https://", "gopher://" + api + "/"} {
		out = append(out,
			attack{"redirect", fmt.Sprintf("to %q", hop), egress.Redirect, []string{api, "b.example.com"},
				fetch("https://"+api+"/start", hop), fetch("https://"+api+"/start", "/next", "//b.example.com/x"), nil,
				""},
			attack{"redirect", fmt.Sprintf("to %q on the third hop", hop), egress.Redirect,
				[]string{api, "b.example.com"}, fetch("https://"+api+"/start", "/a", "https://b.example.com/", hop),
				fetch("https://"+api+"/start", "/a", "https://b.example.com/", "/c"), nil, ""})
	}
	many := slices.Repeat([]string{"/next"}, 21)
	rebound := resolved(fetch("https://"+api+"/", "/again"), "93.184.215.14", "127.0.0.1")
	header := func(name string) egress.Action {
		a := fetch("https://" + api + "/")
		a.Headers = [][2]string{{name, "evil.net"}}
		return a
	}
	for _, name := range []string{"Host", "Connection", "content-length", "Transfer-Encoding", "Transfer_Encoding",
		"content_Length", "Proxy_Connection", "Keep-ALIVE", "Proxy-Authorization", "Upgrade", "Expect", "TE", "Trailer", "Keep-Alive", "X Y", "X\r\nY", ""} {
		out = append(out, attack{"fetch", fmt.Sprintf("the header %q", name), egress.Request, []string{api},
			header(name), header("Accept"), nil, ""})
	}
	hosted := fetch("https://" + api + "/")
	hosted.HostHeader = ptr("evil.net")
	for _, method := range []string{"TRACE", "trace", "tRaCk", "connect"} {
		sent := fetch("https://" + api + "/")
		sent.Method = method
		out = append(out, attack{"fetch", method, egress.Method, []string{api}, sent, fetch("https://" + api + "/"),
			nil, ""})
	}
	return append(out,
		attack{"redirect", "more than 20 times", egress.Redirect, []string{api}, fetch("https://"+api+"/", many...),
			fetch("https://"+api+"/", many[:20]...), nil, ""},
		attack{"redirect", "the next lookup is on loopback", egress.Redirect, []string{api}, rebound,
			resolved(fetch("https://"+api+"/", "/again"), "93.184.215.14"), nil, "93.184.215.14"},
		attack{"fetch", "another Host", egress.Request, []string{api}, hosted, fetch("https://" + api + "/"), nil, ""})
}

func dnsAttacks() (out []attack) {
	for _, name := range []string{"c2VjcmV0LWtleQ.attacker.net", "attacker.net", "x." + api, "example.com", "127.0.0.1",
		"1.0.0.127.in-addr.arpa", "[::1]", "", ".", "a b.example.com", "*.example.com", "api..example.com", strings.Repeat("a", 64) + ".example.com", "metadata.google.internal", "_http._tcp.example.com", api + ":53", "xn--a.example.com", "x\x00." + api} {
		q := func(name string) egress.Action {
			return egress.Action{Kind: "dns", Target: name, NoDNS: true}
		}
		out = append(out, attack{"dns", fmt.Sprintf("the name %q is not answered", name), "",
			[]string{api, "8.8.8.8:53"}, q(name), q("aPi.ExAmple.Com."), nil, ""})
	}
	return out
}

// listAttacks are lists that cannot be read: none of it counts.
func listAttacks() (out []attack) {
	for _, bad := range []string{
		"", "*", "**", "*.", "*.com", "**.com", "*.com.", "a.*", "a.*.example.com", "*a.example.com", "a*.example.com", "*.*.example.com", "example.com.*", "*.example.com*", "**.*.example.com", ".example.com", "example..com", "example.com/path", "https://example.com", "http://example.com:80/", "user@example.com",
		"example.com:", "example.com:0", "example.com:65536", "example.com:+443", "example.com:0443", "example.com: 443", "example.com:443:443", "example.com:**", ":443", "example.com:http", " example.com", "example.com ", "exa mple.com", "example.com\n", "exam%70le.com", "127.1", "0x7f000001", "2130706433", "10.0.0.1/8", "10.0.0.0/33", "0.0.0.0/0", "::/0", "10.0.0.0/", "10.0.0.0/8/8",
		"[10.0.0.1]", "[example.com]", "[::1", "::1]", "fe80::1%eth0", "[fe80::1%25eth0]", "*.10.0.0.1", "10.0.0.*", "xn--a.example.com", "xn--.com", "*.xn--a", strings.Repeat("a", 64) + ".com", "[::ffff:0:0/96]", "example.com:443 ", "\x00", "example.com,evil.net", "!example.com", "~example.com", "/example/",
	} {
		out = append(out, attack{"list", fmt.Sprintf("the entry %q closes the whole list", bad), egress.Off,
			[]string{api, bad}, connect(api + ":443"), connect(api + ":443"), []string{api}, ""})
	}
	for _, text := range []string{"93.184.215.14", "localhost", "10.0.0.1"} {
		out = append(out, attack{"list", "an empty list reaches nothing, not " + text, egress.NotGranted, []string{},
			connect(text + ":443"), connect(text + ":443"), []string{text + ":443"}, ""})
	}
	return out
}

// attackFile is testdata/attacks/egress/cases.jsonl, made from the table.
func attackFile(t *testing.T) []byte {
	t.Helper()
	type row struct {
		ID       string        `json:"id"`
		Category string        `json:"category"`
		Allow    []string      `json:"allow"`
		Request  egress.Action `json:"request"`
		Expect   string        `json:"expect"`
		Why      string        `json:"why"`
		Code     string        `json:"code,omitempty"`
		MustDial string        `json:"must_dial,omitempty"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	table := attacks()
	slices.SortStableFunc(table,
		func(x, y attack) int { return strings.Compare(x.class+"\x00"+x.why, y.class+"\x00"+y.why) })
	seen := map[string]bool{}
	n := map[string]int{}
	put := func(r row, key string) {
		text, err := json.Marshal([]any{r.Allow, r.Request})
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			return
		}
		seen[string(text)] = true
		n[key]++
		r.ID = fmt.Sprintf("%s-%03d", key, n[key])
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range table {
		put(row{Category: a.class, Allow: a.allow, Request: a.evil, Expect: "deny", Why: a.why, Code: string(a.code)},
			a.class)
	}
	for _, a := range table {
		list := a.allow
		if a.list != nil {
			list = a.list
		}
		put(row{Category: a.class, Allow: list, Request: a.twin, Expect: "allow",
			Why: "the twin of an attack: " + a.class, MustDial: a.dial}, a.class+"-twin")
	}
	return b.Bytes()
}

// Every attack is refused, by the code of its class, and its twin is allowed.
func TestEgressAttacks(t *testing.T) {
	table := attacks()
	if len(table) < 250 {
		t.Fatalf("%d attacks", len(table))
	}
	for _, a := range table {
		t.Run(a.class, func(t *testing.T) {
			agent, _ := listing(a.allow, nil)
			got := decider(agent).Egress(a.evil)
			if got.Verdict != profiles.Deny || a.code != "" && got.Code != profiles.Code(a.code) {
				t.Errorf("%s: %+v: got %s, %s (%s)", a.why, a.evil, got.Verdict, got.Code, got.Reason)
			}
			if a.list == nil {
				a.list = a.allow
			}
			agent, ok := listing(a.list, nil)
			got = decider(agent).Egress(a.twin)
			if !ok || got.Verdict != profiles.Allow || a.dial != "" && got.Dial != a.dial {
				t.Errorf("the twin of %s: %+v: got %s, %s (%s), dials %q", a.why, a.twin, got.Verdict, got.Code,
					got.Reason, got.Dial)
			}
		})
	}
}

// The file that others drive over the wire has the same.
func TestEgressAttackFile(t *testing.T) {
	const path = "../testdata/attacks/egress/cases.jsonl"
	want := attackFile(t)
	if os.Getenv("RINGD_UPDATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s is not what the table makes; RINGD_UPDATE=1 writes it", path)
	}
	for _, c := range corpus(t, path) {
		a, _ := listing(c.Allow, nil)
		if got := decider(a).Egress(c.Request); got.Verdict.String() != c.Expect {
			t.Errorf("%s: got %s, %s (%s)", c.ID, got.Verdict, got.Code, got.Reason)
		}
	}
}
