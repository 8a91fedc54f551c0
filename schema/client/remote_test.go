package client_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/schema/client"
)

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  client.Config
		want string
	}{
		{"nothing", client.Config{}, "neither Socket nor URL"},
		{"both", client.Config{Socket: "s", URL: "https://h", Token: "x"}, "cannot be combined with Socket"},
		{"token on a socket", client.Config{Socket: "s", Token: "x"}, "cannot be combined with Socket"},
		{"plaintext", client.Config{URL: "http://127.0.0.1:7443", Token: "x"}, "want https://"},
		{"no scheme", client.Config{URL: "127.0.0.1:7443", Token: "x"}, "want https://"},
		{"no host", client.Config{URL: "https://:7443", Token: "x"}, "want https://"},
		{"password", client.Config{URL: "https://u:p@h", Token: "x"}, "nothing more"},
		{"path", client.Config{URL: "https://h/v1", Token: "x"}, "nothing more"},
		{"token in the query", client.Config{URL: "https://h?token=x", Token: "x"}, "nothing more"},
		{"no token", client.Config{URL: "https://h"}, "Token is missing"},
		{"good", client.Config{URL: "https://h:7443/", Token: "x"}, ""},
	} {
		_, err := client.New(tc.cfg)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// The token goes to the daemon that is named, and nowhere else.
func TestTokenStays(t *testing.T) {
	var got, elsewhere atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	far := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer secret" {
			got.Add(1)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	far.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	far.StartTLS()
	defer far.Close()
	trust := far.Client().Transport.(*http.Transport).TLSClientConfig
	c, err := client.New(client.Config{URL: far.URL, Token: "secret", TLS: trust})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "status 307") {
		t.Errorf("a redirect gives %v", err)
	}
	if got.Load() != 1 || elsewhere.Load() != 0 {
		t.Errorf("the token came %d times, the other server was asked %d times", got.Load(), elsewhere.Load())
	}

	stranger, err := client.New(client.Config{URL: far.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Status(t.Context()); err == nil {
		t.Error("an authority that nobody trusts counts")
	}

	// A server that knows TLS 1.2 only gets nothing, whatever the caller's TLS says.
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	old.StartTLS()
	defer old.Close()
	lax := trust.Clone()
	lax.MinVersion = tls.VersionTLS12
	low, err := client.New(client.Config{URL: old.URL, Token: "secret", TLS: lax})
	if err != nil {
		t.Fatal(err)
	}
	defer low.Close()
	if _, err := low.Status(t.Context()); err == nil || elsewhere.Load() != 0 {
		t.Errorf("TLS 1.2: %v, asked %d times", err, elsewhere.Load())
	}
}
