package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// DefaultWithin is the default time limit of one attempt.
const DefaultWithin = 10 * time.Second

// maxReply is how much of a response is read before its connection is closed.
const maxReply = 16 << 10

// minSecret is the minimum length of a secret in Standard Webhooks, in bytes.
const minSecret = 24

// WebhookConfig configures one receiver.
type WebhookConfig struct {
	URL    string // required
	Secret string // required: "whsec_" and base64
	Args   bool   // also send the arguments
	Within time.Duration
	Now    func() time.Time // required
	// TLS is for tests. Nil trusts the host's authorities.
	TLS *tls.Config
}

// Webhook posts to one receiver in the format of standardwebhooks.com, with the headers webhook-id,
// webhook-timestamp and webhook-signature. It is safe for concurrent use and keeps no connection.
type Webhook struct {
	cfg    WebhookConfig
	host   string
	signer *standardwebhooks.Webhook
	http   *http.Client
}

// NewWebhook checks cfg. Its errors contain neither the secret nor the path of the URL, which may be a
// secret.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("webhook: its URL is not https://HOST/…")
	}
	if cfg.Now == nil {
		return nil, errors.New("webhook: Now is missing")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(cfg.Secret, "whsec_"))
	if err != nil || len(key) < minSecret {
		return nil, fmt.Errorf("webhook %s: its secret is not whsec_ and base64 of at least %d bytes", u.Host,
			minSecret)
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", u.Host, err)
	}
	if cfg.Within <= 0 {
		cfg.Within = DefaultWithin
	}
	roots := cfg.TLS
	if roots == nil {
		roots = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &Webhook{cfg: cfg, host: u.Host, signer: signer, http: &http.Client{
		// No proxy of the environment and no redirect: the signed body must reach only the host that the
		// operator named.
		Transport: &http.Transport{TLSClientConfig: roots, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxReply},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Tell posts w once. A status other than 2xx is an error.
func (h *Webhook) Tell(ctx context.Context, w Waiting) error {
	ctx, stop := context.WithTimeout(ctx, h.cfg.Within)
	defer stop()
	if err := h.post(ctx, w); err != nil {
		return fmt.Errorf("webhook %s: %w", h.host, err)
	}
	return nil
}

func (h *Webhook) post(ctx context.Context, w Waiting) error {
	at := h.cfg.Now()
	payload, err := encode(w, at, h.cfg.Args)
	if err != nil {
		return err
	}
	signature, err := h.signer.Sign(w.ID(), at, payload)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.cfg.URL, bytes.NewReader(payload))
	if err != nil {
		return errors.New("make the request")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ringd")
	req.Header.Set(standardwebhooks.HeaderWebhookID, w.ID())
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	resp, err := h.http.Do(req)
	if err != nil {
		var u *url.Error // its text contains the URL
		if errors.As(err, &u) {
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	// The status is the result. The rest is read only to be polite to the peer.
	_, _ = io.CopyN(io.Discard, resp.Body, maxReply)
	return nil
}
