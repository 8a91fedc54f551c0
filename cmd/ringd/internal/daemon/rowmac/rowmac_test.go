package rowmac_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/rowmac"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

func ring(t testing.TB) *seal.Keyring {
	t.Helper()
	k, err := seal.Parse([]byte(strings.Repeat("0f", 31) + "aa"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := seal.New(seal.Config{Keys: []seal.Key{k}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestVerdict(t *testing.T) {
	r := ring(t)
	terms := rowmac.Terms{Run: "r", Call: "c1", Actor: "uid:7", Digest: "d", From: []string{"ops"}, Count: 2,
		Expires: noon.Add(time.Hour)}
	// word is one that counts, but for what change does to it before and after it is marked.
	word := func(by string, before, after func(*store.Approval)) store.Approval {
		w := store.Approval{Run: "r", Call: "c1", By: by, As: "ops", Verdict: store.Allow, Digest: "d", At: noon}
		if before != nil {
			before(&w)
		}
		w.Mark = rowmac.Approval(r, w)
		if after != nil {
			after(&w)
		}
		return w
	}
	one, two := word("uid:1", nil, nil), word("uid:2", nil, nil)
	for _, tc := range []struct {
		name  string
		words []store.Approval
		want  store.Verdict
		wrong bool
	}{
		{"none", nil, "", false},
		{"one of two", []store.Approval{one}, "", false},
		{"two", []store.Approval{one, two}, store.Allow, false},
		{"one twice", []store.Approval{one, one}, "", false},
		{"of another call", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.Call = "c2" }, nil)}, "", false},
		{"moved from another call", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.Call = "c2" }, func(w *store.Approval) { w.Call = "c1" })}, "", true},
		{"moved from another run", []store.Approval{word("uid:2", func(w *store.Approval) { w.Run = "q" }, func(w *store.Approval) { w.Run = "r" })}, "", true},
		{"of another run", []store.Approval{word("uid:2", func(w *store.Approval) { w.Run = "q" }, nil)}, "", true},
		{"one denies", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.Verdict = store.Deny }, nil)}, store.Deny, false},
		{"a denial turned", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.Verdict = store.Deny }, func(w *store.Approval) { w.Verdict = store.Allow })}, "", true},
		{"another name", []store.Approval{one, word("uid:1", nil, func(w *store.Approval) { w.By = "uid:2" })}, "", true},
		{"another capacity", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.As = "dev" }, nil)}, "", true},
		{"other arguments", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.Digest = "e" }, nil)}, "", true},
		{"the run's own actor", []store.Approval{one, word("uid:7", nil, nil)}, "", true},
		{"late", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.At = noon.Add(time.Hour) }, nil)}, "", true},
		{"made earlier", []store.Approval{one, word("uid:2", func(w *store.Approval) { w.At = noon.Add(time.Hour) }, func(w *store.Approval) { w.At = noon })}, "", true},
		{"another reason", []store.Approval{word("uid:2", nil, func(w *store.Approval) { w.Reason = "x" })}, "", true},
		{"no verdict", []store.Approval{word("uid:2", func(w *store.Approval) { w.Verdict = "" }, nil)}, "", true},
		{"no mark", []store.Approval{word("uid:2", nil, func(w *store.Approval) { w.Mark = nil })}, "", true},
	} {
		got, err := rowmac.Verdict(r, terms, tc.words)
		var integrity *seal.IntegrityError
		if got.Verdict != tc.want || (err != nil) != tc.wrong || tc.wrong && !errors.As(err, &integrity) {
			t.Errorf("%s: %q, %v", tc.name, got.Verdict, err)
		}
	}
}

func FuzzOpenResult(f *testing.F) {
	r := ring(f)
	row, err := rowmac.Result(r, "r", "c1", []byte(`{"End":"done","Value":"<&\u2028>"}`))
	if err != nil {
		f.Fatal(err)
	}
	if body, err := rowmac.OpenResult(r, "r", "c1", row); err != nil || !bytes.Contains(body, []byte("done")) {
		f.Fatalf("%s, %v", body, err)
	}
	if _, err := rowmac.OpenResult(r, "r", "c2", row); err == nil {
		f.Fatal("the result of another call passes")
	}
	if _, err := rowmac.OpenAnswer(r, "r", "c1", "d", "uid:1", row); err == nil {
		f.Fatal("a result passes for an answer")
	}
	f.Add(row)
	f.Add([]byte(`{"body":1,"mark":""}`))
	f.Add([]byte(`{"body":1}{}`))
	want, _ := rowmac.OpenResult(r, "r", "c1", row)
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := rowmac.OpenResult(r, "r", "c1", b)
		if err == nil && !bytes.Equal(body, want) {
			t.Errorf("%q passes as %q", b, body)
		}
		var integrity *seal.IntegrityError
		var key *seal.KeyError
		if err != nil && !errors.As(err, &integrity) && !errors.As(err, &key) {
			t.Errorf("%v", err)
		}
	})
}
