package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// threeSegments makes a log of three segments with a known content and returns
// its last head.
func threeSegments(t testing.TB, dir string) audit.Head {
	t.Helper()
	return segmentsOf(t, dir, "r1")
}

func segmentsOf(t testing.TB, dir, run string) audit.Head {
	t.Helper()
	cfg := config(dir)
	cfg.SegmentBytes = 4 << 10
	l := mustOpen(t, cfg)
	var last audit.Head
	for i := range 18 {
		r := callRecord(i)
		r.Run = run
		last = mustAppend(t, l, r, audit.Synced)
	}
	mustClose(t, l)
	if r := mustVerify(t, dir, audit.Check{}); r.Segments != 3 {
		t.Fatalf("%d segments, want 3", r.Segments)
	}
	return last
}

func edit(t testing.TB, dir string, segment int64, f func(lines [][]byte) [][]byte) {
	t.Helper()
	lines := bytes.SplitAfter([]byte(read(t, dir, segment)), []byte("\n"))
	lines = lines[:len(lines)-1]
	write(t, filepath.Join(dir, audit.SegmentName(segment)), bytes.Join(f(lines), nil))
}

func flip(line []byte, at int) { line[at] ^= 1 }

// TestTampering is the list of what someone can do to a log on disk. chain says
// whether the chain alone shows it; the head kept elsewhere shows all of it.
func TestTampering(t *testing.T) {
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		chain  bool
		tamper func(t *testing.T, dir string)
	}{
		{"flip a bit", true, func(t *testing.T, dir string) {
			edit(t, dir, 1, func(l [][]byte) [][]byte { flip(l[3], 90); return l })
		}},
		{"edit a verdict", true, func(t *testing.T, dir string) {
			edit(t, dir, 2, func(l [][]byte) [][]byte {
				l[3] = bytes.Replace(l[3], []byte(`"allow"`), []byte(`"deny"`), 1)
				return l
			})
		}},
		{"delete a line", true, func(t *testing.T, dir string) {
			edit(t, dir, 2, func(l [][]byte) [][]byte { return append(l[:3:3], l[4:]...) })
		}},
		{"delete a record with its commit line", true, func(t *testing.T, dir string) {
			edit(t, dir, 2, func(l [][]byte) [][]byte { return append(l[:3:3], l[5:]...) })
		}},
		{"swap two records", true, func(t *testing.T, dir string) {
			edit(t, dir, 1, func(l [][]byte) [][]byte { l[1], l[3] = l[3], l[1]; return l })
		}},
		{"delete the first segment", true, func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, audit.SegmentName(1)))
		}},
		{"delete a middle segment", true, func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, audit.SegmentName(2)))
		}},
		{"delete the first segment and rename the rest", true, func(t *testing.T, dir string) {
			for n := int64(1); n < 3; n++ {
				if err := os.Rename(filepath.Join(dir, audit.SegmentName(n+1)),
					filepath.Join(dir, audit.SegmentName(n))); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"swap names", true, func(t *testing.T, dir string) {
			one, two := read(t, dir, 1), read(t, dir, 2)
			write(t, filepath.Join(dir, audit.SegmentName(1)), []byte(two))
			write(t, filepath.Join(dir, audit.SegmentName(2)), []byte(one))
		}},
		{"flip in the last batch", true, func(t *testing.T, dir string) {
			edit(t, dir, 3, func(l [][]byte) [][]byte { flip(l[len(l)-3], 90); return l })
		}},
		{"flip in a header", true, func(t *testing.T, dir string) {
			edit(t, dir, 3, func(l [][]byte) [][]byte { flip(l[0], 25); return l })
		}},
		{"strip a signature", true, func(t *testing.T, dir string) {
			edit(t, dir, 1, func(l [][]byte) [][]byte {
				head, _, _ := bytes.Cut(l[2], []byte(`,"sig"`))
				l[2] = append(bytes.Clone(head), "}\n"...)
				return l
			})
		}},
		{"cut an earlier segment at a commit line", true, func(t *testing.T, dir string) {
			edit(t, dir, 1, func(l [][]byte) [][]byte { return l[:5] })
		}},
		{"an earlier segment of another log with the same key", true, func(t *testing.T, dir string) {
			other := logDir(t)
			segmentsOf(t, other, "r9")
			write(t, filepath.Join(dir, audit.SegmentName(1)), []byte(read(t, other, 1)))
		}},
		{"append a line", true, func(t *testing.T, dir string) {
			edit(t, dir, 3, func(l [][]byte) [][]byte { return append(l, l[len(l)-2]) })
		}},
		{"zero bytes further back than the last sync", true, func(t *testing.T, dir string) {
			edit(t, dir, 3, func(l [][]byte) [][]byte { clear(l[1][10:20]); return l })
		}},
		{"delete the last segment", false, func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, audit.SegmentName(3)))
		}},
		{"cut at a commit line", false, func(t *testing.T, dir string) {
			edit(t, dir, 3, func(l [][]byte) [][]byte { return l[:3] })
		}},
		{"empty the folder", false, func(t *testing.T, dir string) {
			for n := range int64(3) {
				remove(t, filepath.Join(dir, audit.SegmentName(n+1)))
			}
		}},
		{"empty the last segment", false, func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, audit.SegmentName(3)), nil)
		}},
		{"another log with the same length", false, func(t *testing.T, dir string) {
			for n := range int64(3) {
				remove(t, filepath.Join(dir, audit.SegmentName(n+1)))
			}
			cfg := config(dir)
			l := mustOpen(t, cfg)
			for range 18 {
				mustAppend(t, l, audit.Record{Kind: audit.RunAsked}, audit.Synced)
			}
			mustClose(t, l)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := logDir(t)
			last := threeSegments(t, dir)
			tt.tamper(t, dir)

			r, err := audit.Verify(t.Context(), dir, audit.Check{Key: publicKey()})
			if got := errors.Is(err, audit.ErrTampered); got != tt.chain {
				t.Errorf("by the chain alone: %v, want tampered %v", err, tt.chain)
			}
			if tt.chain && (r.Tampered == nil || r.Tampered.Why == "" || r.Tampered.Segment == "") {
				t.Errorf("report does not name the place: %+v", r.Tampered)
			}
			r, err = audit.Verify(t.Context(), dir, audit.Check{Key: publicKey(), Least: last})
			if !errors.Is(err, audit.ErrTampered) || r.Tampered == nil {
				t.Errorf("with the head kept elsewhere: %v, want ErrTampered", err)
			}
			cfg := config(dir)
			cfg.Least = last
			if l, err := audit.Open(t.Context(), cfg); !errors.Is(err, audit.ErrTampered) {
				if err == nil {
					l.Close()
				}
				t.Errorf("Open: %v, want ErrTampered", err)
			}
		})
	}
}

func TestVerifyNamesFirstRecord(t *testing.T) {
	dir := logDir(t)
	threeSegments(t, dir)
	// Line 0 is the header, then record and commit in turn: line 7 is record 4.
	edit(t, dir, 1, func(l [][]byte) [][]byte { flip(l[7], 90); flip(l[9], 90); return l })
	r, err := audit.Verify(t.Context(), dir, audit.Check{})
	if !errors.Is(err, audit.ErrTampered) {
		t.Fatal(err)
	}
	if r.Tampered.Seq != 4 || r.Tampered.Segment != audit.SegmentName(1) {
		t.Errorf("break %+v", r.Tampered)
	}
	if !strings.Contains(err.Error(), audit.SegmentName(1)) {
		t.Errorf("error %q does not name the segment", err)
	}
}

func TestUnknownFormatRefused(t *testing.T) {
	dir := logDir(t)
	mustClose(t, mustOpen(t, config(dir)))
	edit(t, dir, 1, func(l [][]byte) [][]byte {
		l[0] = bytes.Replace(l[0], []byte(`{"v":1,`), []byte(`{"v":2,`), 1)
		return l
	})
	if _, err := audit.Open(t.Context(), config(dir)); !errors.Is(err, audit.ErrFormat) ||
		!strings.Contains(err.Error(), "use the ringd that wrote it") {
		t.Errorf("error %v, want ErrFormat with what to do", err)
	}
}

func TestVerifyWithAnotherKey(t *testing.T) {
	dir := logDir(t)
	threeSegments(t, dir)
	other := bytes.Repeat([]byte{7}, 32)
	if _, err := audit.Verify(t.Context(), dir, audit.Check{Key: other}); !errors.Is(err, audit.ErrKey) {
		t.Errorf("error %v, want ErrKey", err)
	}
}

// TestForgedChainWithoutKey rewrites a record and every hash after it, as
// someone can who has the folder but not the key.
func TestForgedChainWithoutKey(t *testing.T) {
	dir := logDir(t)
	last := threeSegments(t, dir)
	forged := logDir(t)
	cfg := config(forged)
	cfg.Key = append([]byte(nil), testKey()...)
	cfg.Key[0] ^= 1 // the public half, and so the header, stays the same
	cfg.SegmentBytes = 4 << 10
	l := mustOpen(t, cfg)
	for i := range 18 {
		r := callRecord(i)
		r.Actor = "uid:0"
		mustAppend(t, l, r, audit.Synced)
	}
	mustClose(t, l)
	r, err := audit.Verify(t.Context(), forged, audit.Check{Key: publicKey()})
	if !errors.Is(err, audit.ErrTampered) || !strings.Contains(r.Tampered.Why, "signature") {
		t.Errorf("error %v, want a signature that does not hold", err)
	}
	mustVerify(t, dir, audit.Check{Key: publicKey(), Least: last})
}

// TestForgedChainWithoutSignatures builds a log with the right hashes and none
// of the signatures: one segment, and three of which the first two are long
// enough to have to be sealed.
func TestForgedChainWithoutSignatures(t *testing.T) {
	for _, keepFirst := range []bool{false, true} {
		dir := logDir(t)
		var prev, last [32]byte // of the last record, of the last line
		seq := 0
		for segment := 1; segment <= 3; segment++ {
			var b bytes.Buffer
			add := func(line string) {
				last = sha256.Sum256([]byte(line))
				b.WriteString(line + "\n")
			}
			add(fmt.Sprintf(`{"v":1,"n":%d,"s":%d,"p":"%x","k":"%x"}`, segment, seq+1, last, publicKey()))
			for range 3 {
				seq++
				line := fmt.Sprintf(`{"s":%d,"p":"%x","r":{"time":"2026-01-02T03:04:05Z","kind":"run_asked"}}`, seq,
					last[:16])
				add(line)
				prev = last
				unsigned := fmt.Sprintf(`{"c":%d,"h":"%x","b":%d`, seq, prev, len(line)+1)
				if seq == 1 && keepFirst {
					sig := ed25519.Sign(testKey(), []byte("ringd audit commit v1\n"+unsigned))
					unsigned += `,"sig":"` + base64.StdEncoding.EncodeToString(sig) + `"`
				}
				add(unsigned + "}")
			}
			write(t, filepath.Join(dir, audit.SegmentName(int64(segment))), b.Bytes())
		}
		r, err := audit.Verify(t.Context(), dir, audit.Check{Key: publicKey()})
		want := "first commit line"
		if keepFirst {
			want = "does not end with a signed commit line"
		}
		if !errors.Is(err, audit.ErrTampered) || !strings.Contains(r.Tampered.Why, want) {
			t.Errorf("first signature kept %v: %v, want %q", keepFirst, err, want)
		}
	}
}
