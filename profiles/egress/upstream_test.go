package egress_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/egress"
)

func TestReadUpstream(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example.com":            "api.example.com:443",
		"https://api.example.com/":           "api.example.com:443",
		"https://api.example.com:8443/v1":    "api.example.com:8443 /v1",
		"https://api.example.com/v1/":        "api.example.com:443 /v1",
		"https://api.example.com/v1/models":  "api.example.com:443 /v1/models",
		"https://10.1.2.3":                   "10.1.2.3:443",
		"https://93.184.215.14":              "93.184.215.14:443",
		"https://[2001:db8::1]:8443/v1":      "[2001:db8::1]:8443 /v1",
		"https://[::ffff:10.1.2.3]":          "10.1.2.3:443",
		"http://127.0.0.1:8080/v1":           "127.0.0.1:8080 /v1",
		"http://127.0.0.1":                   "127.0.0.1:80",
		"http://[::1]:11434":                 "[::1]:11434",
		"http://192.168.7.8:3000":            "192.168.7.8:3000",
		"http://[fd00::1]:80/a":              "[fd00::1]:80 /a",
		"https://xn--bcher-kva.example":      "xn--bcher-kva.example:443",
		"https://_private.example.com":       "_private.example.com:443",
		"https://ringd.internal.example.com": "ringd.internal.example.com:443",
	} {
		got, err := egress.ReadUpstream(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s := strings.TrimSpace(got.Dest.String() + " " + got.Prefix); s != want ||
			got.TLS != strings.HasPrefix(text, "https:") {
			t.Errorf("%s: got %s, want %s", text, s, want)
		}
		if again, err := egress.ReadUpstream(got.String()); err != nil || again != got {
			t.Errorf("%s: read again as %s: %+v, %v", text, got, again, err)
		}
	}
}

func TestReadUpstreamRefuses(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, text := range []string{
		"", "api.example.com", "//api.example.com", "HTTPS://api.example.com", "https:/api.example.com", "https:api.example.com", "ftp://api.example.com",
		"unix:///run/a.sock", "https://", "https:///v1", "https://:443", "https:// api.example.com", "https://api.example.com ", "https://api.example.com\n",
		"https://" + secret + "@api.example.com", "https://u:" + secret + "@api.example.com", "https://u:" + secret + "@127.0.0.1",
		"https://api.example.com?key=" + secret, "https://api.example.com/v1?key=" + secret, "https://api.example.com#" + secret, "https://api.example.com/#" + secret,
		"https://api.example.com/v1?", "https://api.example.com/v1#",
		"http://api.example.com", "http://localhost:8080", "http://93.184.215.14", "http://[2001:4860::8888]", "http://169.254.169.254", "http://0.0.0.0",
		"http://[::ffff:93.184.215.14]", "http://100.64.0.1",
		"https://API.example.com", "https://api.example.com.", "https://.api.example.com", "https://api..example.com", "https://bücher.example",
		"https://*.example.com", "https://api.example.com\\v1", "https://api%2eexample.com", "https://127.1", "https://0x7f000001", "https://2130706433",
		"https://010.0.0.1", "https://[10.0.0.1]", "https://[::1", "https://::1", "https://[fe80::1%25eth0]", "https://[fe80::1%eth0]",
		"https://api.example.com:", "https://api.example.com:0", "https://api.example.com:0443", "https://api.example.com:+443", "https://api.example.com:65536",
		"https://api.example.com:https", "https://api.example.com:443:443", "https://[::1]443",
		"https://gateway.ringd.internal", "https://ringd.internal",
		"https://api.example.com//v1", "https://api.example.com/v1/../admin", "https://api.example.com/./v1", "https://api.example.com/%2e%2e",
		"https://api.example.com/v1/*", "https://api.example.com/v1\\admin", "https://api.example.com/\x00", "https://api.example.com/\xff", "https://api.example.com//",
		"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 127) + "com",
	} {
		got, err := egress.ReadUpstream(text)
		if err == nil {
			t.Errorf("%q was read as %+v", text, got)
			continue
		}
		if got != (egress.UpstreamURL{}) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzReadUpstream(f *testing.F) {
	f.Add("https://api.example.com:8443/v1")
	f.Add("http://[::1]:80/a/b/")
	f.Add("https://u:p@x/?q#f")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := egress.ReadUpstream(text)
		if err != nil {
			return
		}
		if u.Dest.Port == 0 || u.Dest.Host() == "" || strings.ContainsAny(u.Dest.Host(), "@?#\\ /") {
			t.Fatalf("%q: %+v", text, u)
		}
		if again, err := egress.ReadUpstream(u.String()); err != nil || again != u {
			t.Fatalf("%q: %s is read as %+v, %v", text, u, again, err)
		}
	})
}
