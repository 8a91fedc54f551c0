package api_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestCheckSecret(t *testing.T) {
	good := apitest.Secret()
	random := base64.StdEncoding.EncodeToString([]byte("\xff\xfe\xfd0123456789abcdefghijklmnopqrs"))
	for _, tc := range []struct {
		name, secret, want string
	}{
		{"hex", good, ""},
		{"base64", random, ""},
		{"base64url", strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(random), "="), ""},
		{"nothing", "", "has 0 bytes"},
		{"short", good[:62], "has 31 bytes"},
		{"digits that base64 makes longer", good[:44], "has 22 bytes"},
		{"a word", "correct horse battery staple and some more words", "neither hexadecimal nor base64"},
		{"a line end", good + "\n", "holds a line end"},
		{"one byte over and over", strings.Repeat("ab", 32), "is not random"},
		{"huge", strings.Repeat(good, 20), "longer than 512"},
	} {
		err := api.CheckTokenSecret(tc.secret)
		if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && len(tc.secret) > 8 && strings.Contains(err.Error(), tc.secret) {
			t.Errorf("%s: the error tells the secret", tc.name)
		}
	}
}

func TestTokensNewRefuses(t *testing.T) {
	a, b := apitest.Secret(), apitest.Secret()
	for name, tc := range map[string]struct {
		list []api.IssuedToken
		want string
	}{
		"two names":   {[]api.IssuedToken{{Name: "a", Secret: a}, {Name: "a", Secret: b}}, "is listed twice"},
		"two secrets": {[]api.IssuedToken{{Name: "a", Secret: a}, {Name: "b", Secret: a}}, "have the same secret"},
		"a weak one":  {[]api.IssuedToken{{Name: "a", Secret: a}, {Name: "b", Secret: "00"}}, "token b: the secret"},
		"no name":     {[]api.IssuedToken{{Secret: a}}, "is not a token name"},
		"a line":      {[]api.IssuedToken{{Name: "a\nuid:0", Secret: a}}, "is not a token name"},
	} {
		if _, err := api.NewTokens(api.TokensConfig{Tokens: tc.list}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	a, b, old := apitest.Secret(), apitest.Secret(), apitest.Secret()
	g, err := api.NewTokens(api.TokensConfig{Burst: 100, Tokens: []api.IssuedToken{
		{Name: "a", Secret: a}, {Name: "b", Secret: b, Expires: now.Add(time.Second)}, {Name: "old", Secret: old, Expires: now}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, secret, want string
		err                error
	}{
		{"first", a, "a", nil},
		{"second", b, "b", nil},
		{"none", "", "", api.ErrTokenMissing},
		{"other", apitest.Secret(), "", api.ErrUnknown},
		{"a part", a[:len(a)-1], "", api.ErrUnknown},
		{"more", a + "0", "", api.ErrUnknown},
		{"other case", strings.ToUpper(a), "", api.ErrUnknown},
		{"at its end", old, "", api.ErrExpired},
	} {
		got, record, err := g.Check(api.TokenAttempt{From: "1.2.3.4", Secret: tc.secret, Now: now})
		if got.Name != tc.want || !errors.Is(err, tc.err) || record != (tc.err != nil) {
			t.Errorf("%s: %+v, %v, %v", tc.name, got, record, err)
		}
	}
	if _, _, err := g.Check(api.TokenAttempt{Secret: b, Now: now.Add(time.Second)}); !errors.Is(err, api.ErrExpired) {
		t.Errorf("a token after its end: %v", err)
	}
	none, err := api.NewTokens(api.TokensConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"", a} {
		if _, _, err := none.Check(api.TokenAttempt{Secret: secret, Now: now}); err == nil {
			t.Errorf("a gate without tokens lets %q in", secret)
		}
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	a := apitest.Secret()
	g, err := api.NewTokens(api.TokensConfig{Tokens: []api.IssuedToken{{Name: "a", Secret: a}}, Burst: 3,
		Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	try := func(from, secret string, proved bool, at time.Time) (bool, error) {
		_, record, err := g.Check(api.TokenAttempt{From: from, Secret: secret, Proved: proved, Now: at})
		return record, err
	}
	looked, recorded := 0, 0
	for range 1000 {
		record, err := try("a", "x", false, now)
		if errors.Is(err, api.ErrUnknown) {
			looked++
		}
		if record {
			recorded++
		}
	}
	if looked != 3 || recorded != 4 {
		t.Errorf("of 1000 guesses %d were looked at and %d recorded; want 3 and 4", looked, recorded)
	}
	if _, err := try("a", a, false, now); !errors.Is(err, api.ErrTooMany) {
		t.Errorf("a right one amid guesses: %v", err)
	}
	if _, err := try("a", a, true, now); err != nil {
		t.Errorf("a connection that has proved itself: %v", err)
	}
	if _, err := try("b", a, false, now); err != nil {
		t.Errorf("another address: %v", err)
	}
	if _, err := try("a", "x", false, now.Add(time.Second)); !errors.Is(err, api.ErrUnknown) {
		t.Errorf("after a second: %v", err)
	}
	if _, err := try("a", "x", false, now.Add(time.Second)); !errors.Is(err, api.ErrTooMany) {
		t.Errorf("twice after a second: %v", err)
	}
	if _, err := try("a", a, false, now.Add(time.Minute)); err != nil {
		t.Errorf("after a minute: %v", err)
	}
}

// Whoever has many addresses fills no memory, and shares one budget beyond a
// number.
func TestAddressesAreBounded(t *testing.T) {
	a := apitest.Secret()
	g, err := api.NewTokens(api.TokensConfig{Tokens: []api.IssuedToken{{Name: "a", Secret: a}}, Burst: 2,
		Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for i := range 10_000 {
		if _, _, err := g.Check(api.TokenAttempt{From: fmt.Sprint(i), Secret: "x", Now: now}); errors.Is(
			err, api.ErrUnknown) {
			looked++
		}
	}
	if looked != 4096+2 {
		t.Errorf("%d guesses were looked at", looked)
	}
	if _, _, err := g.Check(api.TokenAttempt{From: "new", Secret: a, Now: now.Add(time.Hour)}); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

func FuzzCheckSecret(f *testing.F) {
	f.Add("")
	f.Add(strings.Repeat("ab", 32))
	f.Add("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	f.Fuzz(func(t *testing.T, s string) {
		if api.CheckTokenSecret(s) != nil {
			return
		}
		if len(s) < 43 || strings.ContainsAny(s, " \t\r\n\x00") {
			t.Errorf("%q is taken", s)
		}
		g, err := api.NewTokens(api.TokensConfig{Tokens: []api.IssuedToken{{Name: "a", Secret: s}}})
		if err != nil {
			t.Fatal(err)
		}
		if h, _, err := g.Check(api.TokenAttempt{Secret: s, Now: now}); err != nil || h.Name != "a" {
			t.Errorf("%q is taken and does not count: %v", s, err)
		}
	})
}
