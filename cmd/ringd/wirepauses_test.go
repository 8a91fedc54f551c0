package main

// In the package: what joins the parts is not exported.

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/notify"
)

// Every form of a key is the same key, and what cannot be one is refused without
// being shown.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	secret := []byte("\x01a key of thirty-two random bytes")[:32]
	text := base64.StdEncoding.EncodeToString(secret)
	file := filepath.Join(dir, "key")
	for name, b := range map[string][]byte{file: secret, filepath.Join(dir, "cred"): []byte(text + "\n")} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("RINGD_TEST_KEY", text)
	t.Setenv("RINGD_TEST_SHORT", "c2hvcnQgc2VjcmV0")
	p := &program{Program: &cli.Program{Env: config.Environment{Credentials: dir}}}
	var ids []string
	for _, s := range []config.Secret{{File: file}, {Credential: "cred"}, {Env: "RINGD_TEST_KEY"}} {
		keys, err := p.stacks().keys(config.Snapshots{Key: &s})
		if err != nil || len(keys) != 1 {
			t.Fatalf("%+v: %d keys, %v", s, len(keys), err)
		}
		ids = append(ids, keys[0].ID())
	}
	if ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("three keys: %v", ids)
	}
	_, err := p.stacks().keys(config.Snapshots{Previous: []config.Secret{{Env: "RINGD_TEST_SHORT"}}})
	if err == nil || !strings.Contains(err.Error(), "snapshots.previous[0]") ||
		strings.Contains(err.Error(), "c2hvcnQ") {
		t.Errorf("a short key: %v", err)
	}
}

// A notification of the config file reaches its receiver, and one without its
// secret is refused at the start.
func TestTeller(t *testing.T) {
	told := make(chan string, 1)
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { told <- r.Header.Get("webhook-id") }),
	)
	defer s.Close()
	t.Setenv("RINGD_TEST_HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	p := &program{Program: &cli.Program{}}
	hook := func(name string) []config.Notification {
		return []config.Notification{{Webhook: &config.Webhook{URL: s.URL, Secret: &config.Secret{Env: name}}}}
	}
	teller, err := p.stacks().teller(hook("RINGD_TEST_HOOK"))
	if err != nil {
		t.Fatal(err)
	}
	if err := teller.Tell(t.Context(), notify.Waiting{Run: "r1", Call: "c1"}); err != nil {
		t.Fatal(err)
	}
	if id := <-told; id != "r1.c1" {
		t.Errorf("told of %q", id)
	}
	if _, err := p.stacks().teller(hook("RINGD_TEST_NO_HOOK")); err == nil ||
		!strings.Contains(err.Error(), "notify[0]") {
		t.Errorf("without a secret: %v", err)
	}
	if none, err := p.stacks().teller(nil); none != nil || err != nil {
		t.Errorf("nobody to tell: %v, %v", none, err)
	}
}
