package guestinit

// In the package: a canary is shown to fail by leaving out a step of init, which
// nobody outside can.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// SpoiledName starts the test binary as an init that leaves out a step, or undoes
// one.
const SpoiledName = "spoiled-init"

func TestMain(m *testing.M) {
	if os.Args[0] == SpoiledName {
		os.Exit(spoiled(os.Args[1]))
	}
	os.Exit(m.Run())
}

// spoiled builds a guest without a step, tries every canary, and reports those
// that fail as proved.
func spoiled(what string) int {
	runtime.LockOSThread()
	var o initproto.Order
	if err := hold(); err != nil {
		return failed
	}
	if _, err := initproto.Receive(initproto.Control, &o); err != nil {
		return failed
	}
	g, err := newGuest(o, o.Reap)
	if err != nil {
		return refuse(o, err)
	}
	left := func(s step) bool { return s.name == what }
	early := ""
	for _, s := range slices.DeleteFunc(building(), left) {
		if err := s.do(g); err != nil {
			if s.name != "no more namespaces" {
				return refuse(o, err)
			}
			early = s.name
		}
	}
	if undo := undoing()[what]; undo != nil {
		if err := undo(g); err != nil {
			return refuse(o, err)
		}
	}
	if err := g.run(slices.DeleteFunc(restricting(), left)); err != nil {
		return refuse(o, err)
	}
	if what == MovedByOthers {
		return refuse(o, g.prove())
	}
	var r initproto.Report
	if early != "" {
		r.Proved = append(r.Proved, early)
	}
	for _, c := range canaries() {
		if err := c.try(g); err != nil && !errors.Is(err, errNotAsked) {
			r.Proved = append(r.Proved, c.name)
		}
	}
	if initproto.Send(initproto.Control, r) != nil {
		return failed
	}
	return 0
}

// undoing is what a host that lies might have left undone, where that is no step
// of its own.
func undoing() map[string]func(*guest) error {
	clear := func(flags uint64) func(*guest) error {
		return func(*guest) error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: flags})
		}
	}
	return map[string]func(*guest) error{
		"a root that can be changed":  clear(readOnly),
		"a root that programs run in": clear(noExec),
		"somebody else listens": func(*guest) error {
			_, err := Listen(false, 8080)
			return err
		},
		"somebody else takes packets": func(*guest) error {
			_, err := packets(false, 123)
			return err
		},
		MovedByOthers: func(*guest) error {
			err := initproto.Send(initproto.Control, initproto.Told{Started: true})
			if err == nil {
				_, err = initproto.Receive(initproto.Control, &initproto.Ask{})
			}
			return err
		},
		"another mount": func(*guest) error {
			return unix.Mount("x", tempPath, "tmpfs", 0, "")
		},
		"another file": func(g *guest) error {
			i := slices.IndexFunc(g.Mounts, func(m initproto.Mount) bool { return m.Exec })
			return unix.Mount("/dev/null", g.Mounts[i].Path, "", unix.MS_BIND, "")
		},
		"a root of the host's": func(g *guest) error {
			var st unix.Stat_t
			err := unix.Stat("/", &st)
			g.old = st.Dev
			return err
		},
	}
}

// MovedByOthers lets the test work on the host between the building and the proof,
// and reports what the proof says as init does.
const MovedByOthers = "moved by others"

func TestNothing(t *testing.T) {
	const good = "Name:\tx\nGroups:\t \nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n" +
		"CapEff:\t0000000000000000\n" +
		"CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	g := &guest{root: true}
	if err := g.nothing(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"a capability", "CapEff:\t0000000000000000", "CapEff:\t0000000000200000"},
		{"one that could be used", "CapPrm:\t0000000000000000", "CapPrm:\t0000000000000001"},
		{"a line is missing", "CapPrm:\t0000000000000000\n", ""},
		{"new privileges", "NoNewPrivs:\t1", "NoNewPrivs:\t0"},
		{"no filter", "Seccomp:\t2", "Seccomp:\t0"},
		{"a group", "Groups:\t ", "Groups:\t4 27 "},
		{"nothing at all", good, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := g.nothing(strings.Replace(good, tt.old, tt.new, 1)); err == nil {
				t.Error("taken for no power")
			}
		})
	}
}

// This process is not the first of its namespace, nor is it named.
func TestFirst(t *testing.T) {
	g := &guest{Order: initproto.Order{Token: "00"}}
	if g.isFirst() == nil || g.isNamed() == nil {
		t.Error("a test is taken for the first process of a guest")
	}
	g.Reap = true
	if g.isFirst() == nil {
		t.Error("a test is taken for the starter of a guest")
	}
}

// White space that the kernel does not write as octal is of a path, and a line
// that is none is told: a loop over it would not end.
func TestTable(t *testing.T) {
	const name = "/a\u00a0b\v\rc\u2028d"
	g := &guest{points: map[string]point{name: {Flags: readOnly}}, folders: map[string]bool{}}
	good := "31 30 0:27 " + name + " " + name + " ro,relatime - ext4 /dev/x rw\n"
	if err := g.hasTable(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "\n", good + good, strings.Replace(good, "ro,", "rw,", 1),
		"31 30 0:27 / relative ro\n" + good} {
		if g.hasTable(bad) == nil {
			t.Errorf("taken: %q", bad)
		}
	}
}

// Tunnels without an end are no network; anything else is.
func TestOnlyLoopback(t *testing.T) {
	const heading, lo = "Inter-| x\n face |y\n", "    lo:       0       0\n"
	for table, want := range map[string]bool{
		heading + lo: true, heading + " sit0:  0 0\n" + lo + "tunl0: 0 0\n": true,
		heading: false, heading + lo + "  eth0: 1 1\n": false, heading + lo + " sit1: 0 0\n": false,
		heading + "sit0: 0\n": false,
	} {
		if err := onlyLoopback(table); (err == nil) != want {
			t.Errorf("%q: %v", table, err)
		}
	}
}

// A host that is short of something neither lacks a layer nor lies about it:
// whoever uses up what there is would have it held for one that does.
func TestShort(t *testing.T) {
	c := canary{name: "x", layer: initproto.LayerLandlock}
	for e, want := range map[unix.Errno][2]string{
		unix.ENOMEM: {initproto.KindFault, initproto.KindFault},
		unix.ENFILE: {initproto.KindFault, initproto.KindFault},
		unix.EPERM:  {initproto.KindMissing, initproto.KindLies},
		unix.ENOSPC: {initproto.KindMissing, initproto.KindLies},
		unix.ENOENT: {initproto.KindMissing, initproto.KindLies},
	} {
		var missed, shown, looked *fault
		if !errors.As(missing(initproto.LayerSeccomp, "seccomp", e), &missed) || missed.kind != want[0] {
			t.Errorf("a step with %v: %+v, want %s", e, missed, want[0])
		}
		if !errors.As(c.shows(expect("opening", e, unix.EACCES)), &shown) || shown.kind != want[1] ||
			shown.layer != c.layer {
			t.Errorf("a canary that is refused with %v: %+v, want %s", e, shown, want[1])
		}
		if !errors.As(c.shows(fmt.Errorf("open /proc: %w", e)), &looked) || looked.kind != want[1] {
			t.Errorf("a canary that cannot look, with %v: %+v, want %s", e, looked, want[1])
		}
	}
	var works *fault
	if !errors.As(c.shows(expect("opening", nil, unix.EACCES)), &works) || works.kind != initproto.KindLies {
		t.Errorf("what works: %+v, want a lie", works)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, `/a\04`: `/a\04`, `/plain`: "/plain",
		`/\011\012`: "/\t\n"} {
		if got := procfs.Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

// Landlock rights are those that a version has: one more is EINVAL, and one less
// is a right that nothing takes away.
func TestHandled(t *testing.T) {
	for abi, want := range map[int]uint64{1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 8: 16, 9: 17, 10: 17} {
		if got := handled(abi, initproto.NetworkOff).HandledAccessFS; got != 1<<want-1 {
			t.Errorf("version %d: %#x, want %d rights", abi, got, want)
		}
	}
	if a := handled(10, initproto.NetworkOwn); a.HandledAccessNet != 0 {
		t.Errorf("a network of one's own has rights %#x taken away", a.HandledAccessNet)
	}
}

// listen changes an order to one with listeners.
func listen(l initproto.Listen) func(*initproto.Order) {
	return func(o *initproto.Order) { o.Network, o.Listen = initproto.NetworkOwn, &l }
}

// many are different ports.
func many(n int) []uint16 {
	ports := make([]uint16, n)
	for i := range ports {
		ports[i] = uint16(4000 + i)
	}
	return ports
}

// A guest takes as many ports as may be, those of programs that listen too.
func TestOrderListens(t *testing.T) {
	for _, l := range []initproto.Listen{{Proxy: 3128}, {Proxy: 3128, Ports: many(initproto.MaxPorts)}} {
		if why := wrongListen(initproto.Order{Network: initproto.NetworkOwn, Listen: &l}); why != "" {
			t.Errorf("%d ports are refused: %s", len(l.Ports), why)
		}
	}
}

func TestOrderRefused(t *testing.T) {
	good := func() initproto.Order {
		apart := map[string]uint64{}
		for _, kind := range initproto.Kinds() {
			apart[kind] = 1
		}
		return initproto.Order{
			Namespaces: apart,
			Version:    initproto.Version, Token: "0123456789abcdef", Network: initproto.NetworkOff, UID: 1, GID: 1,
			Filter: initproto.Program{{Code: 6}}, Mounts: []initproto.Mount{
				{Path: "/usr/bin/true", Exec: true, Map: true}},
		}
	}
	if _, err := newGuest(good(), false); err != nil {
		t.Fatal(err)
	}
	code := good()
	code.Key, code.Mounts[0].Dir, code.Mounts[0].Exec = initproto.Key{1, 2, 3}, true, false
	if _, err := newGuest(code, false); err != nil {
		t.Errorf("a folder of code where nothing starts: %v", err)
	}
	if _, err := newGuest(good(), true); err == nil {
		t.Error("an init that stays took the order of one that becomes the program")
	}
	for _, tt := range []struct {
		name  string
		spoil func(*initproto.Order)
	}{
		{"listeners in no network", func(o *initproto.Order) { o.Listen = &initproto.Listen{Proxy: 3128} }},
		{"no proxy", listen(initproto.Listen{})},
		{"a proxy on the port of names", listen(initproto.Listen{Proxy: 53})},
		{"a port that is none", listen(initproto.Listen{Proxy: 3128, Ports: []uint16{0}})},
		{"a port twice", listen(initproto.Listen{Proxy: 3128, Ports: []uint16{80, 443, 80}})},
		{"the port of names", listen(initproto.Listen{Proxy: 3128, Ports: []uint16{53}})},
		{"the port of the proxy", listen(initproto.Listen{Proxy: 3128, Ports: []uint16{3128}})},
		{"more ports than are handed over", listen(initproto.Listen{Proxy: 3128, Ports: many(initproto.MaxPorts + 1)})},
		{"version", func(o *initproto.Order) { o.Version++ }},
		{"no network", func(o *initproto.Order) { o.Network = "" }},
		{"no namespaces", func(o *initproto.Order) { o.Namespaces = nil }},
		{"a namespace that is not named", func(o *initproto.Order) { delete(o.Namespaces, "ipc") }},
		{"no filter", func(o *initproto.Order) { o.Filter = nil }},
		{"no token", func(o *initproto.Order) { o.Token = "" }},
		{"token that is no hex", func(o *initproto.Order) { o.Token = "guest/../../../.." }},
		{"no user", func(o *initproto.Order) { o.UID = -1 }},
		{"seal with a reaper", func(o *initproto.Order) { o.Seal, o.Reap = true, true }},
		{"root", func(o *initproto.Order) { o.Mounts[0].Path = "/" }},
		{"relative", func(o *initproto.Order) { o.Mounts[0].Path = "usr" }},
		{"not clean", func(o *initproto.Order) { o.Mounts[0].Path = "/usr/../etc" }},
		{"proc", func(o *initproto.Order) { o.Mounts[0].Path = "/proc/sys" }},
		{"dev", func(o *initproto.Order) { o.Mounts[0].Path = "/dev" }},
		{"canary", func(o *initproto.Order) { o.Mounts[0].Path = canaryPath }},
		{"folder that starts", func(o *initproto.Order) { o.Mounts[0].Dir = true }},
		{"started once and become", func(o *initproto.Order) { o.Mounts[0].Once = true }},
		{"two that are started once", func(o *initproto.Order) {
			o.Reap, o.Mounts[0].Once = true, true
			o.Mounts = append(o.Mounts, initproto.Mount{Path: "/usr/bin/false", Exec: true, Once: true})
		}},
		{"a folder of text that is started once", func(o *initproto.Order) { o.Reap, o.Mounts[0].Once, o.Mounts[0].Exec = true, true, false }},
		{"a workspace without room", func(o *initproto.Order) { o.Scratch = "/workspace" }},
		{"a relative workspace", func(o *initproto.Order) { o.Temp, o.Scratch = 1<<20, "workspace" }},
		{"a workspace over all", func(o *initproto.Order) { o.Temp, o.Scratch = 1<<20, "/" }},
		{"a workspace among the devices", func(o *initproto.Order) { o.Temp, o.Scratch = 1<<20, "/dev/x" }},
		{"a folder of code where something starts", func(o *initproto.Order) { o.Mounts[0].Dir, o.Mounts[0].Exec = true, false }},
		{"a folder that is listed and mounted", func(o *initproto.Order) {
			o.Mounts[0].List, o.Mounts[0].Dir, o.Mounts[0].Read, o.Mounts[0].Exec, o.Mounts[0].Map = true, true, true,
				false, false
		}},
		{"a folder that starts, with a key", func(o *initproto.Order) { o.Key, o.Mounts[0].Dir = initproto.Key{1, 2, 3}, true }},
		{"a folder of code that can be written", func(o *initproto.Order) {
			o.Key, o.Mounts[0].Dir, o.Mounts[0].Exec, o.Mounts[0].Write = initproto.Key{1, 2, 3}, true, false, true
		}},
		{"program that can be written", func(o *initproto.Order) { o.Mounts[0].Write = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := good()
			tt.spoil(&o)
			if _, err := newGuest(o, o.Reap); err == nil {
				t.Error("taken")
			}
		})
	}
}

// TestStartsOnce: the canary of a program that stands nowhere shows one that
// starts by its path.
func TestStartsOnce(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/usr/bin/env": false, "/usr/bin/not-there": true, plain: true} {
		g := &guest{program: 0, Order: initproto.Order{Mounts: []initproto.Mount{
			{Path: "/usr/bin", Dir: true}, {Path: path, Exec: true, Once: true}}}}
		if err := g.startsOnce(); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := (&guest{program: -1}).startsOnce(); !errors.Is(err, errNotAsked) {
		t.Errorf("one that has a path: %v", err)
	}
}
