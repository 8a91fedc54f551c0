package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/ringd/ringd/cmd/ringd/internal/notify"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var waiting = notify.Waiting{
	Run: "r1", Call: "c2", Bridge: "sendEmail", Agent: "mailer", Actor: "uid:1000", Digest: "sha256:ab",
	From: []string{"group:leads@acme.example"}, Count: 2,
	Expires: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
	Args:    json.RawMessage(`{"to":"a-secret-address@acme.example"}`),
}

// heard is one request that a receiver took.
type heard struct {
	header http.Header
	body   []byte
}

func receiver(t *testing.T, answer http.HandlerFunc) (string, <-chan heard) {
	t.Helper()
	got := make(chan heard, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- heard{r.Header.Clone(), b}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hooks/private-path", got
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func webhook(t *testing.T, cfg notify.WebhookConfig) *notify.Webhook {
	t.Helper()
	cfg.Secret, cfg.Now = secret, time.Now
	h, err := notify.NewWebhook(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A receiver verifies what it gets with the library that any receiver uses, and
// the body names the call but not its arguments.
func TestWebhook(t *testing.T) {
	url, got := receiver(t, ok)
	if err := webhook(t, notify.WebhookConfig{URL: url}).Tell(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	h := <-got
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(h.body, h.header); err != nil {
		t.Error(err)
	}
	if err := verifier.Verify(append(h.body, ' '), h.header); err == nil {
		t.Error("an edited body verifies")
	}
	var body struct {
		Type string
		Data map[string]any
	}
	if err := json.Unmarshal(h.body, &body); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"run": "r1", "call": "c2", "bridge": "sendEmail", "agent": "mailer", "actor": "uid:1000", "digest": "sha256:ab",
		"from": []any{"group:leads@acme.example"}, "count": 2.0, "expires": "2026-11-22T00:00:00Z",
	}
	if diff := cmp.Diff(want, body.Data); diff != "" || body.Type != "approval.waiting" {
		t.Errorf("%s: %s", body.Type, diff)
	}
	if id := h.header.Get("webhook-id"); id != "r1.c2" {
		t.Errorf("webhook-id %q", id)
	}
}

func TestWebhookSendsArgumentsWhenAsked(t *testing.T) {
	url, got := receiver(t, ok)
	if err := webhook(t, notify.WebhookConfig{URL: url, Args: true}).Tell(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	if h := <-got; !strings.Contains(string(h.body), `"args":{"to":"a-secret-address@acme.example"}`) {
		t.Errorf("%s", h.body)
	}
}

// A redirect is not followed: the other host hears nothing.
func TestWebhookFollowsNoRedirect(t *testing.T) {
	other, stolen := receiver(t, ok)
	url, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	err := webhook(t, notify.WebhookConfig{URL: url}).Tell(t.Context(), waiting)
	if err == nil || !strings.Contains(err.Error(), "status 307") {
		t.Errorf("got %v", err)
	}
	select {
	case h := <-stolen:
		t.Errorf("the other host got %s", h.body)
	default:
	}
}

// What goes wrong is an error that holds neither the URL's path nor the secret.
func TestWebhookFails(t *testing.T) {
	hang := make(chan struct{})
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "status 502"},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, "deadline exceeded"},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := receiver(t, tt.answer)
			err := webhook(t, notify.WebhookConfig{URL: url, Within: 100 * time.Millisecond}).Tell(t.Context(), waiting)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "private-path") || strings.Contains(err.Error(), "whsec") {
				t.Errorf("says too much: %v", err)
			}
		})
	}
	close(hang)
	t.Run("an answer without end", func(t *testing.T) {
		url, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		})
		if err := webhook(t, notify.WebhookConfig{URL: url}).Tell(t.Context(), waiting); err != nil {
			t.Error(err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		s := httptest.NewServer(nil)
		s.Close()
		if err := webhook(t, notify.WebhookConfig{URL: s.URL}).Tell(t.Context(), waiting); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a certificate of nobody", func(t *testing.T) {
		s := httptest.NewTLSServer(http.HandlerFunc(ok))
		defer s.Close()
		s.Config.ErrorLog = nil
		if err := webhook(t, notify.WebhookConfig{URL: s.URL}).Tell(t.Context(), waiting); err == nil ||
			!strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNewWebhookRefuses(t *testing.T) {
	for _, tt := range []struct{ name, url, secret, want string }{
		{"no secret", "https://hooks.example/", "", "its secret is not"},
		{"short secret", "https://hooks.example/", "whsec_c2hvcnQ=", "at least 24 bytes"},
		{"no base64", "https://hooks.example/", "whsec_!!!", "its secret is not"},
		{"no host", "https:///x", secret, "its URL is not"},
		{"a file", "file:///etc/passwd", secret, "its URL is not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := notify.NewWebhook(notify.WebhookConfig{URL: tt.url, Secret: tt.secret, Now: time.Now})
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				(tt.secret != "" && strings.Contains(err.Error(), tt.secret)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c, err := notify.NewCommand(
		notify.CommandConfig{Argv: []string{"/bin/sh", "-c",
			`cat >"$0"; echo "$RINGD_RUN $RINGD_CALL $RINGD_BRIDGE" >>"$0"; echo not json`, out}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tell(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.Contains(s, `"digest":"sha256:ab"`) || !strings.HasSuffix(s, "}r1 c2 sendEmail\n") ||
		strings.Contains(s, "a-secret-address") {
		t.Errorf("got %s", s)
	}
}

func TestCommandFails(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"status", "echo why >&2; exit 3", "exit status 3: stderr: why"},
		{"hangs", "cat; read x <>/dev/fd/1", "deadline exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := notify.NewCommand(notify.CommandConfig{
				Argv: []string{"/bin/sh", "-c", tt.script}, Within: 300 * time.Millisecond, Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Tell(t.Context(), waiting); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := notify.NewCommand(notify.CommandConfig{Argv: []string{"/no/such/program"},
		Now: time.Now}); err == nil {
		t.Error("a program that is not there is taken")
	}
}

// teller counts, and fails while broken.
type teller struct {
	told   int
	broken bool
}

func (f *teller) Tell(context.Context, notify.Waiting) error {
	f.told++
	if f.broken {
		return errors.New("broken")
	}
	return nil
}

// One place that fails is tried again; the others are not told twice.
func TestAll(t *testing.T) {
	good, bad := &teller{}, &teller{broken: true}
	all := notify.NewAll(good, bad)
	for range 3 {
		if err := all.Tell(t.Context(), waiting); err == nil {
			t.Fatal("no error")
		}
	}
	bad.broken = false
	if err := all.Tell(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	if good.told != 1 || bad.told != 4 {
		t.Errorf("told %d and %d times, want 1 and 4", good.told, bad.told)
	}
}
