package egress_test

import (
	"testing"

	"github.com/ringd/ringd/profiles/egress"
)

// TestEgressURLRefused: credentials are found in each place that a URL has for them, and no
// scheme but http and https is read.
func TestEgressURLRefused(t *testing.T) {
	for _, text := range []string{
		"https://u:p@a.example.com/", "https://u@a.example.com/", "https://:p@a.example.com/", "https://@a.example.com/",
		"https:u:p@a.example.com/", "https:/u@a.example.com/", `https:\\u@a.example.com/`,
		"ftp://a.example.com/", "ws://a.example.com/", "wss://a.example.com/", "file://a.example.com/", "gopher://a.example.com/",
	} {
		if u, r := egress.ParseURL(text); r == nil || r.Code != egress.Target {
			t.Errorf("%s: %+v, %v", text, u, r)
		}
	}
	if _, r := egress.ParseURL("https:a.example.com/"); r != nil {
		t.Errorf("a URL without credentials: %v", r)
	}
}
