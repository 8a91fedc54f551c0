// The tokens of callers over TCP: their owners, their expiry, and the limit of wrong tokens from one address.
// Secrets that could be guessed are refused, and only digests are kept.

package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Only the audit log tells these errors apart. The caller gets the same answer for the first three.
var (
	ErrTokenMissing = errors.New("no token")
	ErrUnknown      = errors.New("no such token")
	ErrExpired      = errors.New("the token has expired")
	// ErrTooMany: the address sent too many wrong tokens. This one was not checked.
	ErrTooMany = errors.New("too many wrong tokens from this address")
)

const (
	leastBytes    = 32  // random bytes of a secret
	leastDistinct = 16  // different bytes in a secret; 32 random ones have 22 or more
	mostText      = 512 // length of a secret as it is sent
	mostAddresses = 4096

	defaultBurst = 10
	defaultEvery = 5 * time.Second
)

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// IssuedToken is one token. A zero Expires means never.
type IssuedToken struct {
	Name    string
	Secret  string // exactly as sent; see CheckTokenSecret
	Expires time.Time
}

// TokensConfig configures a gate. Zero Burst and Every mean 10, and 5 s.
type TokensConfig struct {
	Tokens []IssuedToken
	Burst  int           // wrong tokens that one address may send at once
	Every  time.Duration // wait of an address for each further one
}

// CheckTokenSecret returns an error unless the secret is at least 32 random bytes in hexadecimal or base64,
// as openssl rand -hex 32 and openssl rand -base64 32 print them. The error never contains the secret.
func CheckTokenSecret(secret string) error {
	if len(secret) > mostText {
		return fmt.Errorf("is longer than %d characters", mostText)
	}
	if strings.ContainsAny(secret, "\r\n") { // the decoder skips them, but a header cannot contain them
		return errors.New("holds a line end")
	}
	raw, err := hex.DecodeString(secret)
	if err != nil {
		text := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(secret, "="))
		if raw, err = base64.RawStdEncoding.DecodeString(text); err != nil {
			return errors.New("is neither hexadecimal nor base64; make one with: openssl rand -hex 32")
		}
	}
	if len(raw) < leastBytes {
		return fmt.Errorf("has %d bytes and must have %d; make one with: openssl rand -hex 32", len(raw), leastBytes)
	}
	seen := map[byte]bool{}
	for _, b := range raw {
		seen[b] = true
	}
	if len(seen) < leastDistinct {
		return errors.New("is not random; make one with: openssl rand -hex 32")
	}
	return nil
}

// checkTokenName returns an error for an invalid name of a token.
func checkTokenName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%q is not a token name: want lower-case letters, digits, dots and dashes, at most 63", s)
	}
	return nil
}

// tokenGate checks tokens, and limits addresses that send wrong ones. It is safe for concurrent use.
type tokenGate struct {
	entries []entry
	cfg     TokensConfig

	mu       sync.Mutex
	sources  map[string]*tokenSource
	overflow *tokenSource // shared by all addresses for which sources has no space
}

type entry struct {
	digest  [sha256.Size]byte
	name    string
	expires time.Time
}

// tokenSource is one address that has sent wrong tokens.
type tokenSource struct {
	limit *rate.Limiter
	told  bool // its attempts are not checked, and this was reported
}

// NewTokens returns a gate. It refuses duplicate names and secrets: one secret is one caller.
func NewTokens(cfg TokensConfig) (*tokenGate, error) {
	if cfg.Burst <= 0 {
		cfg.Burst = defaultBurst
	}
	if cfg.Every <= 0 {
		cfg.Every = defaultEvery
	}
	g := &tokenGate{sources: map[string]*tokenSource{}}
	names, digests := map[string]bool{}, map[[sha256.Size]byte]string{}
	for _, t := range cfg.Tokens {
		if err := checkTokenName(t.Name); err != nil {
			return nil, err
		}
		if err := CheckTokenSecret(t.Secret); err != nil {
			return nil, fmt.Errorf("token %s: the secret %w", t.Name, err)
		}
		d := sha256.Sum256([]byte(t.Secret))
		if other, ok := digests[d]; ok {
			return nil, fmt.Errorf("tokens %s and %s have the same secret, so callers could not be told apart", other,
				t.Name)
		}
		if names[t.Name] {
			return nil, fmt.Errorf("token %s is listed twice", t.Name)
		}
		names[t.Name], digests[d] = true, t.Name
		g.entries = append(g.entries, entry{digest: d, name: t.Name, expires: t.Expires})
	}
	cfg.Tokens = nil // do not keep the secrets themselves
	g.cfg = cfg
	g.overflow = g.source()
	return g, nil
}

func (g *tokenGate) source() *tokenSource {
	return &tokenSource{limit: rate.NewLimiter(rate.Every(g.cfg.Every), g.cfg.Burst)}
}

// tokenHolder is the owner of a token and its expiry. A zero Expires means never.
type tokenHolder struct {
	Name    string
	Expires time.Time
}

// TokenAttempt is one received token.
type TokenAttempt struct {
	From   string // address; wrong tokens are counted by it
	Secret string // empty if none was sent
	Proved bool   // the connection has sent a valid token before, so this one is always checked
	Now    time.Time
}

// Check returns the owner of the secret. Errors: ErrMissing, ErrUnknown, ErrExpired, ErrTooMany. record
// reports whether the refusal should be recorded. After an ErrTooMany, further refusals of the address are
// not, so that no caller can fill the log.
func (g *tokenGate) Check(a TokenAttempt) (_ tokenHolder, record bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from, known := g.sources[a.From]
	if !known && len(g.sources) >= mostAddresses {
		g.forget(a.Now)
		if len(g.sources) >= mostAddresses {
			from, known = g.overflow, true
		}
	}
	if known && !a.Proved && from.limit.TokensAt(a.Now) < 1 {
		first := !from.told
		from.told = true
		return tokenHolder{}, first, ErrTooMany
	}
	holder, err := g.find(a.Secret, a.Now)
	if err == nil {
		return holder, false, nil
	}
	if !known {
		from = g.source()
		g.sources[a.From] = from
	}
	if from.limit.AllowN(a.Now, 1) {
		from.told = false
		return tokenHolder{}, true, err
	}
	first := !from.told
	from.told = true
	return tokenHolder{}, first, err
}

// find does the same work for any secret: it compares all digests, each in constant time.
func (g *tokenGate) find(secret string, now time.Time) (tokenHolder, error) {
	presented := sha256.Sum256([]byte(secret))
	at := -1
	for i := range g.entries {
		same := subtle.ConstantTimeCompare(presented[:], g.entries[i].digest[:])
		at = subtle.ConstantTimeSelect(same, i, at)
	}
	switch {
	case secret == "":
		return tokenHolder{}, ErrTokenMissing
	case at < 0:
		return tokenHolder{}, ErrUnknown
	}
	e := g.entries[at]
	if !e.expires.IsZero() && !now.Before(e.expires) {
		return tokenHolder{}, ErrExpired
	}
	return tokenHolder{Name: e.name, Expires: e.expires}, nil
}

// forget removes the addresses that have waited long enough.
func (g *tokenGate) forget(now time.Time) {
	for from, s := range g.sources {
		if s.limit.TokensAt(now) >= float64(g.cfg.Burst) {
			delete(g.sources, from)
		}
	}
}
