package api // a test cannot be somebody else at a socket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A harness is no approver, whichever of its groups it comes in, and a group that
// it does not come in makes nobody more.
func TestRolesOfGroups(t *testing.T) {
	table, err := newTable(Roles{Harness: []string{"gid:30", "uid:3"}, Approver: []string{"gid:20", "uid:2"},
		Viewer: []string{"gid:40"}}, nil, nil, 99)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		p    peer
		want []Role
	}{
		"an approver":                         {peer{uid: 2, gid: 1}, []Role{Approver}},
		"of an approver's group":              {peer{uid: 1, gid: 20, groups: []uint32{20, 7}}, []Role{Approver}},
		"could come in a harness's group":     {peer{uid: 1, gid: 20, groups: []uint32{20, 30}}, nil},
		"itself, and in a harness's group":    {peer{uid: 2, gid: 40, groups: []uint32{30}}, []Role{Viewer}},
		"a harness of an approver's group":    {peer{uid: 3, gid: 20}, []Role{Harness}},
		"could come in an approver's group":   {peer{uid: 1, gid: 1, groups: []uint32{20, 40}}, nil},
		"a harness that could be an approver": {peer{uid: 1, gid: 30, groups: []uint32{20}}, []Role{Harness}},
		"nobody":                              {peer{uid: 2, gid: 20}, nil},
	} {
		test.p.known = name != "nobody"
		got := table.roles(test.p)
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" && len(got)+len(test.want) > 0 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The kernel names all groups of who connects.
func TestPeerGroups(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mine, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	p := peerOf(s)
	var got []int
	for _, g := range p.groups {
		got = append(got, int(g))
	}
	slices.Sort(mine)
	slices.Sort(got)
	if diff := cmp.Diff(mine, got); diff != "" || !p.known || int(p.uid) != os.Getuid() {
		t.Errorf("%+v: %s", p, diff)
	}
}

// A peer hands the daemon no descriptor, whose close would be its to make slow; what it
// says is taken.
func TestDescriptorsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(raw)
	if _, err := unix.GetsockoptInt(raw, unix.SOL_SOCKET, unix.SO_PASSRIGHTS); errors.Is(err, unix.ENOPROTOOPT) {
		t.Skip("before Linux 6.16 every Unix socket takes descriptors")
	}
	if err := unix.Connect(raw, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	send := func(rights []byte) error { return unix.Sendmsg(raw, []byte("x"), rights, nil, unix.MSG_NOSIGNAL) }
	if err := send(unix.UnixRights(raw)); !errors.Is(err, unix.EPERM) {
		t.Errorf("before it is accepted: %v", err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := send(unix.UnixRights(raw)); !errors.Is(err, unix.EPERM) {
		t.Errorf("once it is accepted: %v", err)
	}
	p := make([]byte, 2)
	if err := send(nil); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(p); n != 1 || err != nil {
		t.Errorf("without a descriptor: %d, %v", n, err)
	}
}
