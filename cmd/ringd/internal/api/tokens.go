// This file owns the secrets by which callers over TCP are known: whose one
// is, until when, and how often somebody may present a wrong one.
//
// It refuses secrets that could be guessed, and keeps digests only. What a token
// may do is the business of package api, which asks here.

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

// What a caller is told apart by nobody but the audit log: over the wire the first
// three are one.
var (
	ErrTokenMissing = errors.New("no token")
	ErrUnknown      = errors.New("no such token")
	ErrExpired      = errors.New("the token has expired")
	// ErrTooMany: too many wrong tokens came from the address; this one was not
	// looked at.
	ErrTooMany = errors.New("too many wrong tokens from this address")
)

const (
	leastBytes    = 32  // of chance in a secret
	leastDistinct = 16  // different bytes among them; 32 random ones have 22 or more
	mostText      = 512 // of a secret as it is sent
	mostAddresses = 4096

	defaultBurst = 10
	defaultEvery = 5 * time.Second
)

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// IssuedToken is one secret. Its zero Expires never comes.
type IssuedToken struct {
	Name    string
	Secret  string // exactly as it is sent; see CheckSecret
	Expires time.Time
}

// TokensConfig is what a Gate holds. Zero Burst and Every take 10, and 5 s.
type TokensConfig struct {
	Tokens []IssuedToken
	Burst  int           // wrong tokens that one address may present at once
	Every  time.Duration // and how long it waits for each one more
}

// CheckTokenSecret refuses a secret that is not at least 32 bytes of chance, in
// hexadecimal or base64: what openssl rand -hex 32 and openssl rand -base64 32
// print. The error never holds the secret.
func CheckTokenSecret(secret string) error {
	if len(secret) > mostText {
		return fmt.Errorf("is longer than %d characters", mostText)
	}
	if strings.ContainsAny(secret, "\r\n") { // the decoder skips them, a header cannot hold them
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

// checkTokenName refuses what is no name of a token.
func checkTokenName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%q is not a token name: want lower-case letters, digits, dots and dashes, at most 63", s)
	}
	return nil
}

// tokenGate knows tokens, and who presents wrong ones. It is safe for concurrent use.
type tokenGate struct {
	entries []entry
	cfg     TokensConfig

	mu      sync.Mutex
	sources map[string]*tokensSource
	rest    *tokensSource // of all addresses that sources has no room for
}

type entry struct {
	digest  [sha256.Size]byte
	name    string
	expires time.Time
}

// source is one address that has presented wrong tokens.
type tokensSource struct {
	limit *rate.Limiter
	told  bool // its attempts are refused unseen, and somebody was told
}

// NewTokens returns a gate. It refuses names and secrets that stand there twice: one
// secret is one caller.
func NewTokens(cfg TokensConfig) (*tokenGate, error) {
	if cfg.Burst <= 0 {
		cfg.Burst = defaultBurst
	}
	if cfg.Every <= 0 {
		cfg.Every = defaultEvery
	}
	g := &tokenGate{sources: map[string]*tokensSource{}}
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
	cfg.Tokens = nil // the secrets themselves are not kept
	g.cfg = cfg
	g.rest = g.source()
	return g, nil
}

func (g *tokenGate) source() *tokensSource {
	return &tokensSource{limit: rate.NewLimiter(rate.Every(g.cfg.Every), g.cfg.Burst)}
}

// tokenHolder is whose a token is, and until when; a zero Expires never comes.
type tokenHolder struct {
	Name    string
	Expires time.Time
}

// TokenAttempt is one token that was presented.
type TokenAttempt struct {
	From   string // address; wrong tokens are counted by it
	Secret string // "": none was sent
	Proved bool   // the connection has shown a right one before: it is looked at in any case
	Now    time.Time
}

// Check says whose the secret is. Errors: ErrMissing, ErrUnknown, ErrExpired,
// ErrTooMany. record: the refusal is one to write down; those that follow an
// ErrTooMany from one address are not, so that nobody fills the log.
func (g *tokenGate) Check(a TokenAttempt) (_ tokenHolder, record bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from, known := g.sources[a.From]
	if !known && len(g.sources) >= mostAddresses {
		g.forget(a.Now)
		if len(g.sources) >= mostAddresses {
			from, known = g.rest, true
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

// find does the same work whatever it finds: all digests are compared, each in
// constant time.
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

// forget drops the addresses that have waited long enough.
func (g *tokenGate) forget(now time.Time) {
	for from, s := range g.sources {
		if s.limit.TokensAt(now) >= float64(g.cfg.Burst) {
			delete(g.sources, from)
		}
	}
}
