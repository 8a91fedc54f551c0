package violations // parse, book and tally are not exported

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Lines of a Linux 6.18 kernel.
const (
	lineFile    = `audit(1795289768.353:2): domain=15e640180 blockers=fs.read_file path="/etc/hostname" dev="vda" ino=611`
	lineHex     = `audit(1795289768.353:3): domain=15e640180 blockers=fs.read_dir path=2F6574632F6120622263 dev="vda" ino=1196041`
	lineExec    = `audit(1795289768.353:5): domain=15e640180 blockers=fs.execute,fs.read_file path="/usr/bin/true" dev="vda" ino=247849`
	lineSignal  = `audit(1795289768.353:4): domain=15e640180 blockers=scope.signal opid=13321 ocomm="ap"`
	lineMaker   = `audit(1795289768.353:2): domain=15e640180 status=allocated mode=enforcing pid=13327 uid=0 exe="/usr/bin/python3" comm="python3"`
	lineEnd     = `audit(1795289768.417:6): domain=15e640180 status=deallocated denials=4`
	lineSyscall = `audit(1795289768.353:4): arch=c000003e syscall=62 success=no exit=-1 pid=13327`
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind uint16
		line string
		want record
		ok   bool
	}{
		{"a file", typeAccess, lineFile, record{domain: "15e640180", blockers: "fs.read_file", path: "/etc/hostname"}, true},
		{"a name in hex", typeAccess, lineHex, record{domain: "15e640180", blockers: "fs.read_dir", path: `/etc/a b"c`}, true},
		{"a program", typeAccess, lineExec, record{domain: "15e640180", blockers: "fs.execute,fs.read_file", path: "/usr/bin/true"}, true},
		{"a signal", typeAccess, lineSignal, record{domain: "15e640180", blockers: "scope.signal"}, true},
		{"who made it", typeDomain, lineMaker, record{domain: "15e640180", pid: 13327}, true},
		{"its end", typeDomain, lineEnd, record{domain: "15e640180", ended: true}, true},
		{"with a zero at the end", typeDomain, lineEnd + "\x00", record{domain: "15e640180", ended: true}, true},
		{"another record", 1300, lineSyscall, record{}, false},
		{"another record with a domain", 1300, lineFile, record{}, false},
		{"no domain", typeAccess, `audit(1.0:1): blockers=fs.read_file path="/a"`, record{}, false},
		{"no blockers", typeAccess, `audit(1.0:1): domain=1 path="/a"`, record{}, false},
		{"no number", typeDomain, `audit(1.0:1): domain=1 status=allocated pid=x`, record{}, false},
		{"process 0", typeDomain, `audit(1.0:1): domain=1 status=allocated pid=0`, record{}, false},
		{"another status", typeDomain, `audit(1.0:1): domain=1 status=lost pid=1`, record{}, false},
		{"a second domain does not count", typeAccess, `audit(1.0:1): domain=1 blockers=fs.read_file path="/x" domain=2`,
			record{domain: "1", blockers: "fs.read_file", path: "/x"}, true},
		{"not of the kernel", typeAccess, `domain=1 blockers=fs.read_file`, record{}, false},
		{"nothing", typeAccess, ``, record{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parse(tt.kind, tt.line)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v %v", got, ok)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{lineFile, lineHex, lineSignal, lineMaker, lineEnd, lineSyscall,
		`audit(1): domain=1 path="`} {
		f.Add(uint16(typeAccess), s)
		f.Add(uint16(typeDomain), s)
	}
	f.Fuzz(func(t *testing.T, kind uint16, line string) {
		r, ok := parse(kind, line)
		if ok && (r.domain == "" || r.blockers == "" && r.pid <= 0 && !r.ended) {
			t.Errorf("%q gives %+v", line, r)
		}
		if s := clip(r.path); len(s) > maxDetail || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\x00\x1b") {
			t.Errorf("clip gives %q", s)
		}
	})
}

func TestBook(t *testing.T) {
	var b book
	feed := func(kind uint16, line string) (int, []string) {
		r, ok := parse(kind, line)
		if !ok {
			t.Fatalf("%s is not understood", line)
		}
		pid, refused := b.take(r)
		var paths []string
		for _, r := range refused {
			paths = append(paths, r.path)
		}
		return pid, paths
	}
	// The first refusal comes before its maker is known.
	for _, step := range []struct {
		kind  uint16
		line  string
		pid   int
		paths []string
	}{
		{typeAccess, lineFile, 0, nil},
		{typeDomain, lineMaker, 13327, []string{"/etc/hostname"}},
		{typeAccess, lineExec, 13327, []string{"/usr/bin/true"}},
		{typeDomain, lineEnd, 13327, nil},
		{typeAccess, lineFile, 0, nil}, // the number may come again, for another
	} {
		pid, paths := feed(step.kind, step.line)
		if pid != step.pid || !cmp.Equal(paths, step.paths) {
			t.Errorf("%s: %d %v, want %d %v", step.line, pid, paths, step.pid, step.paths)
		}
	}
}

// Programs that are no guests of ours use Landlock too.
func TestBookIsBounded(t *testing.T) {
	var b book
	for i := range 10 * maxWaiting {
		for range 2 * maxEarly {
			b.take(record{domain: strings.Repeat("a", i+1), blockers: "fs.read_file"})
		}
	}
	if len(b.waiting) != maxWaiting || len(b.order) != maxWaiting {
		t.Errorf("%d domains, %d in order", len(b.waiting), len(b.order))
	}
	for _, w := range b.waiting {
		if len(w) != maxEarly {
			t.Errorf("%d refusals of one domain", len(w))
		}
	}
}

func TestTally(t *testing.T) {
	var c tally
	var told []int
	for range 1000 {
		if v, tell := c.add(Violation{Call: "socket"}); tell {
			told = append(told, v.Count)
		}
	}
	if !cmp.Equal(told, []int{1, 10, 100, 1000}) {
		t.Errorf("told at %v", told)
	}
	n := 0
	for i := range 1000 {
		if _, tell := c.add(Violation{Call: "open", Detail: strings.Repeat("x", i)}); tell {
			n++
		}
	}
	if n != maxKinds-1 || len(c.seen) != maxKinds {
		t.Errorf("told %d kinds, kept %d", n, len(c.seen))
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"/etc/passwd", "/etc/passwd"},
		{"/a\nlevel=info \x1b[2J", "/a?level=info ?[2J"},
		{"/\xff\x80", "/?"},
		{strings.Repeat("é", 200), strings.Repeat("é", 78) + "…"},
	} {
		if got := clip(tt.in); got != tt.want || len(got) > maxDetail {
			t.Errorf("clip(%q) = %q", tt.in, got)
		}
	}
}

// The log is behind: what it has of a guest that ended is still that guest's, until
// its domain or its place is gone.
func TestGuestsThatEnded(t *testing.T) {
	var g guests
	stop := g.add(7, []int{7, 8}, Told{})
	stop()
	stop()
	if g.of(7) == nil || g.of(8) == nil || len(g.over) != 1 {
		t.Error("a guest that ended is forgotten at once")
	}
	g.gone(6)
	g.gone(8)
	if g.of(7) != nil || g.of(8) != nil || len(g.over) != 0 {
		t.Error("a guest whose domain is gone is remembered")
	}
	g.add(9, []int{9}, Told{})
	g.gone(9)
	if g.of(9) == nil {
		t.Error("a guest that lives is forgotten")
	}
	for pid := range 3 * maxOver {
		g.add(100+pid, []int{100 + pid}, Told{})()
	}
	if len(g.over) != maxOver || len(g.told) != maxOver+1 {
		t.Errorf("%d and %d guests are remembered", len(g.over), len(g.told))
	}
	// A process that got the number of a guest that ended is another guest.
	g.add(100+3*maxOver-1, []int{100 + 3*maxOver - 1}, Told{})
	for range maxOver {
		g.add(1, []int{1}, Told{})()
	}
	if g.of(100+3*maxOver-1) == nil {
		t.Error("a guest that lives went with another that had its number")
	}
}
