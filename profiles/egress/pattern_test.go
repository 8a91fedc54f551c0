package egress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress"
)

func read(t *testing.T, texts ...string) []egress.Pattern {
	t.Helper()
	out := make([]egress.Pattern, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = egress.ReadPattern(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	return out
}

func TestRead(t *testing.T) {
	read(t, "a.test", "*.a.test", "localhost", "_dmarc.a.test", "xn--bcher-kva.example", "10.1.2.3", "10.0.0.0/8",
		"::1", "2001:db8::/32")
	for _, text := range []string{"", "*", "*.", "*.test", "**.a.test", "a.*.test", "A.test", "a..test", ".a.test",
		"a.test.", "a.test:443", "[::1]",
		"10.1.0.0/8", "::ffff:10.1.2.3", "::ffff:10.0.0.0/104", "fe80::1%eth0", "a b.test", "a/b", "ü.test", "a\x00.test"} {
		if p, err := egress.ReadPattern(text); err == nil {
			t.Errorf("%q was read: %+v", text, p)
		}
	}
}

// TestOf: an entry that was read gives the pattern of its host.
func TestOf(t *testing.T) {
	for _, text := range []string{"a.test", "*.a.test", "**.A.test", "localhost", "bücher.example", "10.1.2.3",
		"10.0.0.0/8", "[::1]", "2001:db8::/32", "x9.test:80", "a.test:*", "h2"} {
		e, err := egress.ReadEntry(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, err := egress.PatternOf(e)
		if want := read(t, e.Host)[0]; err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if p, err := egress.PatternOf(egress.Entry{}); err == nil {
		t.Errorf("nothing is %+v", p)
	}
}

// TestCovers holds the order of patterns: of any two, one covers the other or
// they have no host in common, whichever is asked first.
func TestCovers(t *testing.T) {
	all := read(t, "a.test", "b.a.test", "*.a.test", "*.b.a.test", "xa.test", "*.xa.test", "10.0.0.0/8", "10.1.0.0/16",
		"10.1.2.3", "10.1.2.3/32",
		"11.0.0.0/8", "::/1", "2001:db8::/32", "2001:db8::1")
	want := map[string]bool{
		"*.a.test > b.a.test": true, "*.a.test > *.b.a.test": true, "10.0.0.0/8 > 10.1.0.0/16": true, "10.0.0.0/8 > 10.1.2.3": true,
		"10.0.0.0/8 > 10.1.2.3/32": true, "10.1.0.0/16 > 10.1.2.3": true, "10.1.0.0/16 > 10.1.2.3/32": true, "10.1.2.3 > 10.1.2.3/32": true,
		"10.1.2.3/32 > 10.1.2.3": true, "::/1 > 2001:db8::/32": true, "::/1 > 2001:db8::1": true, "2001:db8::/32 > 2001:db8::1": true,
	}
	got := map[string]bool{}
	for i, p := range all {
		for j, q := range all {
			if i != j && p.Covers(q) {
				got[p.String()+" > "+q.String()] = true
			}
		}
		if !p.Covers(p) {
			t.Errorf("%s does not cover itself", p)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	x := egress.NewPatternIndex(all)
	for _, q := range all {
		var covering []int
		for i, p := range all {
			if p.Covers(q) {
				covering = append(covering, i)
			}
		}
		if diff := cmp.Diff(covering, x.Covering(q)); diff != "" {
			t.Errorf("%s: the index (-want +got)\n%s", q, diff)
		}
	}
	if got := (egress.PatternIndex{}).Covering(all[0]); got != nil {
		t.Errorf("the zero index covers: %v", got)
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		entry string
		only  []string
		want  []string
	}{
		{"*.a.test", []string{"c.a.test", "b.a.test", "a.test", "x.test"}, []string{"b.a.test", "c.a.test"}},
		{"*.a.test", []string{"b.a.test", "*.a.test"}, []string{"*.a.test"}},
		{"b.a.test", []string{"*.a.test", "b.a.test"}, []string{"b.a.test"}},
		{"10.0.0.0/8", []string{"10.1.2.3", "10.1.2.3/32", "10.1.0.0/16", "10.2.0.1"}, []string{"10.1.0.0/16", "10.2.0.1"}},
		{"10.0.0.0/8", []string{"10.1.2.3", "10.1.2.3/32"}, []string{"10.1.2.3"}},
		{"127.0.0.0/8", []string{"127.0.0.1"}, nil},
		{"8.0.0.0/5", []string{"10.0.0.0/8", "9.0.0.0/8"}, []string{"9.0.0.0/8"}}, // the part would open what is private
		{"10.0.0.0/8", []string{"10.1.0.0/16"}, []string{"10.1.0.0/16"}},
		{"fc00::/6", []string{"fd00::/8"}, nil},
		{"fd00::/8", []string{"fd12::/16"}, []string{"fd12::/16"}},
		{"127.0.0.1", []string{"127.0.0.0/8"}, []string{"127.0.0.1"}},
		{"127.0.0.0/8", []string{"127.0.0.0/8", "127.0.0.1"}, []string{"127.0.0.0/8"}},
		{"::/1", []string{"::1"}, nil},
		{"a.test", nil, nil},
	} {
		got := read(t, tt.entry)[0].Within(read(t, tt.only...))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s within %q: (-want +got)\n%s", tt.entry, tt.only, diff)
		}
	}
}
