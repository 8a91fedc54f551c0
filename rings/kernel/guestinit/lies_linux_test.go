package guestinit_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/guestinit"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Each canary can fail: where its layer does not stand, it says so.
func TestCanariesFail(t *testing.T) {
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	for _, tt := range []struct {
		spoil string
		flags uintptr // namespaces that are missing
		want  string

		asRoot, devices, own, key bool
	}{
		{spoil: "hostname", want: "host name"},
		{spoil: "user", want: "user", asRoot: true},
		{spoil: "capabilities", want: "status"},
		{spoil: "bounding set", want: "status"},
		{spoil: "an IPC namespace", flags: syscall.CLONE_NEWIPC, want: "namespaces are the guest's own"},
		{spoil: "a network namespace", flags: syscall.CLONE_NEWNET, want: "network", devices: true},
		{spoil: "another mount", want: "mount table"},
		{spoil: "another file", want: "what stands at each mount"},
		{spoil: "a root of the host's", want: "the host's root is gone"},
		{spoil: "a root that can be changed", want: "the root cannot be changed"},
		{spoil: "a root that programs run in", want: "nothing starts from a folder"},
		{spoil: "counts of namespaces", want: "no more namespaces"},
		{spoil: "landlock", want: "landlock"},
		{spoil: "capabilities", want: "a file closed to all"},
		{spoil: "memory", want: "memory"},
		{spoil: "limits", want: "limits"},
		{spoil: "descriptors", want: "descriptors"},
		{spoil: "parent death", want: "death with the ring", asRoot: true},
		{spoil: "filter", want: "filter"},
		{spoil: "network", want: "network", own: true},
		{spoil: "capabilities", want: "routes and devices", own: true},
		{spoil: "listeners", want: "listeners", own: true},
		{spoil: "somebody else listens", want: "listeners", own: true},
		{spoil: "somebody else takes packets", want: "listeners", own: true},
		{spoil: "filter", want: "no program after the first", key: true},
		{spoil: "filter", want: "memory"}, // shared memory, of which the kernel's own rule knows nothing
	} {
		t.Run(tt.spoil+": "+tt.want, func(t *testing.T) {
			if tt.asRoot && os.Getuid() != 0 {
				t.Skip("an ordinary user's init has no other user to become")
			}
			if all, err := net.Interfaces(); tt.devices && (err != nil || len(all) < 2) {
				t.Skip("this host has no device but loopback")
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			l := launchIn(t, namespaces&^tt.flags, leak, self, guestinit.SpoiledName, tt.spoil)
			k := profiles.Kernel{TempBytes: 1 << 20}
			if tt.own {
				k.Network = profiles.NetworkOwn
			}
			o := orderOf(t, k, "/usr/bin/true")
			if tt.own && tt.spoil != "network" {
				o.Listen = &initproto.Listen{Proxy: 3128, Ports: []uint16{80, 443}}
			}
			if tt.key {
				o.Key = initproto.Key{1, 2, 3}
			}
			l.send(o)
			if tt.own && tt.spoil != "network" && tt.spoil != "listeners" {
				if l.stands().Listeners == nil {
					t.Fatal("there are no listeners")
				}
			}
			r := l.stands()
			if !slices.Contains(r.Proved, tt.want) {
				t.Errorf("without %s the canaries %q fail, and not %q", tt.spoil, r.Proved, tt.want)
			}
			if len(r.Proved) > 4 {
				t.Errorf("without %s all of %q fail: they tell nothing apart", tt.spoil, r.Proved)
			}
		})
	}
}

// Where everything stands, no canary fails.
func TestCanariesHold(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := launch(t, self, guestinit.SpoiledName, "nothing")
	l.send(orderOf(t, profiles.Kernel{TempBytes: 1 << 20}, "/usr/bin/true"))
	if r := l.stands(); len(r.Proved) != 0 {
		t.Errorf("the canaries %q fail", r.Proved)
	}
}

// Whoever may write in a granted folder can rename what is on the way to a place in
// it while a guest is built there. The guest is refused, and the host is not called
// a liar, which would end all guests of it: a guest could do that.
func TestMovedByOthers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, refill := range map[string]bool{"gone": false, "another in its place": true} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			secret := filepath.Join(dir, "secret")
			write(t, filepath.Join(secret, "key"), "hidden\n")
			l := launch(t, self, guestinit.SpoiledName, guestinit.MovedByOthers)
			l.send(orderOf(t, profiles.Kernel{Read: rules(dir), Deny: rules(secret + "/key")}, "/usr/bin/true"))
			if !l.told().Started {
				t.Fatal("it is not built")
			}
			rename(t, secret, filepath.Join(dir, "moved"))
			if refill {
				write(t, filepath.Join(secret, "key"), "open\n")
			}
			l.send(initproto.Ask{})
			if r := l.report(); r.Failed != initproto.LayerMounts || r.Kind != initproto.KindFault {
				t.Errorf("report %+v, want a fault of the mounts", r)
			}
		})
	}
}
