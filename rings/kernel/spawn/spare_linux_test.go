package spawn // what waits is not exported

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initimage"
)

// spawner starts inits of this user, or says why there are none.
func spawner(t *testing.T) (*Spawner, Place) {
	t.Helper()
	if initimage.Init() == nil {
		t.Skip("there is no init for this system")
	}
	var all sync.WaitGroup
	s, err := New(Config{Go: func(f func()) { all.Go(f) }, Image: initimage.Init()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
	place := Place{UID: os.Getuid(), GID: os.Getgid(), Stays: true}
	if place.UID == 0 {
		place.UID, place.GID = 1879048192, 1879048192
	}
	err = s.Spare(place)
	if err != nil && os.Getenv("RINGD_REQUIRE_KERNEL") != "1" {
		t.Skipf("no namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, place
}

func pidOf(t *testing.T, s *Spawner, p Place) int {
	t.Helper()
	process, control, err := s.Init(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := (&started{process, control, p}).drop(); err != nil {
			t.Error(err)
		}
	})
	return process.Pid
}

func TestSpare(t *testing.T) {
	s, place := spawner(t)
	waits := s.spare.process.Pid
	if err := s.Spare(place); err != nil || s.spare.process.Pid != waits {
		t.Fatalf("a second one was started beside the first: %v", err)
	}
	other := place
	other.Stays = false
	if pidOf(t, s, other) == waits {
		t.Error("it was given for an init of the other kind")
	}
	if pidOf(t, s, place) != waits {
		t.Error("the one that waits was not given")
	}
	if s.spare != nil || pidOf(t, s, place) == waits {
		t.Error("it was given twice")
	}
}

func TestSpareOfAGroup(t *testing.T) {
	s, place := spawner(t)
	waits := s.spare.process.Pid
	place.Group = os.Stdin // of any kind: it is compared, and then refused by the kernel
	process, control, err := s.Init(place)
	if err == nil {
		defer func() { _ = (&started{process, control, place}).drop() }()
	}
	if s.spare == nil || s.spare.process.Pid != waits {
		t.Error("an init outside of its control group was given")
	}
	if err := s.Spare(place); err != nil {
		t.Error(err)
	}
}

// A dead one is not handed out, and not left a zombie.
func TestSpareThatDied(t *testing.T) {
	s, place := spawner(t)
	waits := s.spare.process.Pid
	fd, err := unix.PidfdOpen(waits, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Kill(waits, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000); n != 1 {
		t.Fatalf("it does not die: %v", err)
	}
	if pidOf(t, s, place) == waits {
		t.Error("a dead one was given")
	}
	if err := unix.Kill(waits, 0); err == nil {
		t.Error("it is a zombie")
	}
}

func TestSpareEndsWithItsSpawner(t *testing.T) {
	s, place := spawner(t)
	waits := s.spare.process.Pid
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(waits, 0); err == nil {
		t.Error("it lives on")
	}
	if err := s.Spare(place); err != nil || s.spare != nil {
		t.Errorf("started after Close: %v", err)
	}
}
