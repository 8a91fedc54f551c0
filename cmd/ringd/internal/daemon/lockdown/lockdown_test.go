package lockdown_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// memory is a log; block, when set, is a disk that hangs.
type memory struct {
	fail  error
	block chan struct{}
	kinds []audit.Kind
}

func (m *memory) Append(_ context.Context, r audit.Record, d audit.Durability) (audit.Head, error) {
	if m.block != nil {
		<-m.block
	}
	if m.fail != nil {
		return audit.Head{}, m.fail
	}
	if d != audit.Synced || r.Actor == "" || r.Detail["reason"] == "" || !r.Kind.Known() {
		return audit.Head{}, errors.New("not a record of a lockdown")
	}
	m.kinds = append(m.kinds, r.Kind)
	return audit.Head{}, nil
}

func clock() time.Time { return time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC) }

func open(t *testing.T, file string, log *memory) *lockdown.Lock {
	t.Helper()
	l, err := lockdown.Open(lockdown.Config{File: file, Recorder: log, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLockdown(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "lockdown.json"), &memory{}
	l := open(t, file, log)
	if l.State() != nil || l.Denied("x", "") != nil {
		t.Fatal("a new folder is closed")
	}
	var acts []string
	l.Attach(lockdown.Parts{
		Close: func() {
			if l.State() == nil {
				t.Error("what decides is not closed before guests are ended")
			}
			acts = append(acts, "close")
		},
		Open: func(_ context.Context, opened func() bool) error {
			acts = append(acts, "open")
			opened()
			return nil
		},
	})
	ctx := t.Context()
	for _, o := range []wire.LockdownOrder{{State: "begin"}, {State: "begin", Reason: " "}, {State: "on", Reason: "x"},
		{State: "begin", Reason: strings.Repeat("x", lockdown.MaxReason+1)}} {
		var invalid *lockdown.InvalidError
		if _, err := l.Set(ctx, "uid:1", o); !errors.As(err, &invalid) {
			t.Errorf("%v: %v", o.State, err)
		}
	}
	if _, err := l.Set(ctx, "", wire.LockdownOrder{State: "begin", Reason: "x"}); err == nil {
		t.Error("nobody closed it")
	}
	for range 2 { // twice is once
		now, err := l.Set(ctx, "uid:1", wire.LockdownOrder{State: "begin", Reason: "leak"})
		if err != nil || now.State != "locked" || now.By != "uid:1" || now.Unrecorded != "" {
			t.Fatalf("%+v, %v", now, err)
		}
	}
	if now, err := l.Set(ctx, "uid:2", wire.LockdownOrder{State: "begin", Reason: "other"}); err != nil ||
		now.By != "uid:1" || now.Reason != "leak" {
		t.Errorf("%+v, %v", now, err)
	}
	d := l.Denied("executor:js", "sha256:1")
	if d == nil || d.Decision.Verdict != profiles.Deny || d.Decision.Code != profiles.CodeLockdown ||
		!strings.Contains(d.Decision.Reason, "uid:1 since 2026-11-22T08:00:00Z: leak") {
		t.Errorf("%+v", d)
	}
	// another process finds it
	if s := open(t, file, &memory{}).State(); s == nil || s.By != "uid:1" || s.Reason != "leak" ||
		!s.Since.Equal(clock()) {
		t.Errorf("%+v", s)
	}
	for range 2 {
		if now, err := l.Set(ctx, "uid:1", wire.LockdownOrder{State: "lift", Reason: "over"}); err != nil ||
			now.State != "open" {
			t.Fatalf("%+v, %v", now, err)
		}
	}
	if open(t, file, &memory{}).State() != nil {
		t.Error("it was lifted")
	}
	if want := []audit.Kind{audit.LockdownBegun, audit.LockdownLifted}; !slices.Equal(log.kinds, want) {
		t.Errorf("on record: %v", log.kinds)
	}
	if want := []string{"close", "close", "close", "open"}; !slices.Equal(acts, want) {
		t.Errorf("did %v", acts)
	}
}

// What cannot be recorded is closed and not opened.
// Runs that are killed and whose memory the kernel still takes back keep nobody from
// an answer within the second, and it says how many there are.
func TestAnswersWhileMemoryIsFreed(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "lockdown.json"), &memory{})
	closed := false
	l.Attach(lockdown.Parts{
		Close: func() { closed = true },
		Idle: func(ctx context.Context) int {
			at, ok := ctx.Deadline()
			if left := time.Until(at); !ok || !closed || left > 800*time.Millisecond {
				t.Errorf("closed %v: it waits for %v", closed, left)
			}
			<-ctx.Done()
			return 4
		},
	})
	got, err := l.Set(t.Context(), "uid:1", wire.LockdownOrder{State: "begin", Reason: "x"})
	if err != nil || got.State != wire.LockdownLocked || got.Live != 4 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "lockdown.json"), &memory{}
	l := open(t, file, log)
	log.fail = errors.New("no space")
	l.Begin(t.Context(), "uid:1", "leak")
	if s := l.State(); s == nil || !strings.Contains(s.Unrecorded, "no space") {
		t.Fatalf("%+v", s)
	}
	if err := l.Lift(t.Context(), "uid:1", "over"); !errors.Is(err, lockdown.ErrNotLifted) || l.State() == nil {
		t.Fatalf("%v", err)
	}
	log.fail = nil
	l.Begin(t.Context(), "uid:1", "leak") // and now it is on disk
	if s := l.State(); s.Unrecorded != "" || len(log.kinds) != 1 {
		t.Errorf("%+v, %v", s, log.kinds)
	}
	// The file cannot be written: closed, told, and not lifted.
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := l.Lift(t.Context(), "uid:1", "over"); !errors.Is(err, lockdown.ErrNotLifted) || l.State() == nil {
		t.Fatalf("%v", err)
	}
	if s := l.State(); s.Unrecorded == "" || log.kinds[len(log.kinds)-1] != audit.LockdownBegun {
		t.Errorf("%+v: the log says it is lifted: %v", s, log.kinds)
	}
}

// Closing does not wait for a disk that hangs.
func TestHungDisk(t *testing.T) {
	log := &memory{block: make(chan struct{})}
	l := open(t, filepath.Join(t.TempDir(), "lockdown.json"), log)
	closed := make(chan struct{})
	l.Attach(lockdown.Parts{Close: func() { close(closed) }})
	done := make(chan struct{})
	go func() { l.Begin(t.Context(), "uid:1", "leak"); close(done) }()
	<-closed
	if s := l.State(); s == nil || s.Unrecorded == "" {
		t.Errorf("%+v", s)
	}
	select {
	case <-done:
		t.Error("it is reported before it is on disk")
	default:
	}
	close(log.block)
	<-done
	if s := l.State(); s.Unrecorded != "" {
		t.Errorf("%+v", s)
	}
}

// One who closes while another lifts wins.
func TestBegunWhileLifted(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "lockdown.json"), &memory{}
	l := open(t, file, log)
	again := make(chan struct{})
	l.Attach(lockdown.Parts{
		Open: func(_ context.Context, opened func() bool) error {
			before := l.State()
			go func() { l.Begin(t.Context(), "uid:2", "again"); close(again) }()
			for l.State() == before { // until it is closed once more
				time.Sleep(time.Millisecond)
			}
			if opened() {
				t.Error("opened")
			}
			return nil
		},
	})
	l.Begin(t.Context(), "uid:1", "leak")
	if err := l.Lift(t.Context(), "uid:1", "over"); !errors.Is(err, lockdown.ErrNotLifted) {
		t.Errorf("%v", err)
	}
	<-again
	if l.State() == nil || open(t, file, &memory{}).State() == nil {
		t.Error("open")
	}
}

// A file that says nothing that can be understood is a lockdown.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lockdown.json")
	open(t, file, &memory{})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty": {}, "torn": whole[:len(whole)/2], "half": append([]byte(`{"state":"lo`), whole[12:]...),
		"unknown": []byte(strings.Replace(string(whole), "open", "what", 1)), "more": append(slices.Clip(whole), '1'),
	} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, file, &memory{})
		if s := l.State(); s == nil || !strings.Contains(s.Reason, "cannot be read") {
			t.Errorf("%s: %+v", name, s)
		}
		if err := l.Lift(t.Context(), "uid:1", "looked at it"); err != nil || open(t, file, &memory{}).State() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := lockdown.Keep(file, "uid:1", "leak", clock()); err != nil {
		t.Fatal(err)
	}
	if s := open(t, file, &memory{}).State(); s == nil || s.Reason != "leak" {
		t.Errorf("%+v", s)
	}
	var nobody *lockdown.Lock
	if nobody.State() != nil || nobody.Denied("x", "") != nil {
		t.Error("no lock is closed")
	}
}

// What is no file is a lockdown as well, and nothing waits at it.
func TestNoFile(t *testing.T) {
	folder, pipe := filepath.Join(t.TempDir(), "lockdown.json"), filepath.Join(t.TempDir(), "lockdown.json")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.NamedPipe(t, pipe)
	for _, file := range []string{folder, pipe} {
		l := open(t, file, &memory{})
		if s := l.State(); s == nil || !strings.Contains(s.Reason, "cannot be read") {
			t.Errorf("%+v", s)
		}
		if err := l.Lift(t.Context(), "uid:1", "looked at it"); err == nil || l.State() == nil {
			t.Error("lifted, with nothing to write to")
		}
	}
}

func TestSigned(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "lockdown.json"), &memory{}
	l := open(t, file, log)
	order := func(state string, sequence int64) lockdown.Order {
		return lockdown.Order{Type: lockdown.OrderType, State: state, Sequence: sequence,
			Issued:  clock().Add(-time.Minute),
			Expires: clock().Add(time.Hour), Issuer: "soc", Reason: "leak"}
	}
	var invalid *lockdown.InvalidError
	for name, change := range map[string]func(*lockdown.Order){
		"type": func(o *lockdown.Order) { o.Type = "ringd.push/v1" }, "state": func(o *lockdown.Order) { o.State = "" },
		"sequence": func(o *lockdown.Order) { o.Sequence = 0 }, "expires": func(o *lockdown.Order) { o.Expires = o.Issued },
		"actor": func(o *lockdown.Order) { o.Issuer = "" }, "reason": func(o *lockdown.Order) { o.Reason = "" },
	} {
		o := order("begin", 9)
		change(&o)
		if err := l.Obey(t.Context(), o); !errors.As(err, &invalid) || invalid.Field != name || l.State() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	late, early := order("begin", 9), order("begin", 9)
	late.Expires = clock()
	early.Issued = clock().Add(time.Minute * 6)
	for _, o := range []lockdown.Order{late, early} {
		if err := l.Obey(t.Context(), o); !errors.Is(err, lockdown.ErrExpired) {
			t.Errorf("%v", err)
		}
	}
	if err := l.Obey(t.Context(), order("begin", 5)); err != nil || l.State() == nil || l.State().By != "signed:soc" {
		t.Fatalf("%v", err)
	}
	l = open(t, file, log) // a restart knows the sequence
	if err := l.Obey(t.Context(), order("lift", 4)); !errors.Is(err, lockdown.ErrReplayed) || l.State() == nil {
		t.Errorf("%v", err)
	}
	if err := l.Obey(t.Context(), order("lift", 6)); err != nil || l.State() != nil {
		t.Errorf("%v", err)
	}
	for range 2 { // the order that was obeyed lies in the folder still
		if err := l.Obey(t.Context(), order("lift", 6)); err != nil {
			t.Error(err)
		}
	}
	if err := l.Obey(t.Context(), order("begin", 5)); !errors.Is(err, lockdown.ErrReplayed) || l.State() != nil {
		t.Errorf("%v", err)
	}
	if err := l.Obey(t.Context(), order("lift", 7)); err != nil {
		t.Error(err)
	}
	if err := open(t, file, log).Obey(t.Context(), order("begin", 7)); !errors.Is(err, lockdown.ErrEquivocated) ||
		len(log.kinds) != 2 {
		t.Errorf("another order of the same sequence: %v", err)
	}
	if err := open(t, file, log).Obey(t.Context(), order("lift", 7)); err != nil || len(log.kinds) != 2 {
		t.Errorf("%v, %v", err, log.kinds)
	}
}

// A lift that was signed before the file could not be read may be one that was obeyed
// already, and the order that closed again forgotten: it opens nothing. One that is
// signed after that does, and so does a person.
func TestForgotten(t *testing.T) {
	lift := func(sequence int64, issued time.Time) lockdown.Order {
		return lockdown.Order{Type: lockdown.OrderType, State: "lift", Sequence: sequence, Issued: issued,
			Expires: clock().Add(time.Hour), Issuer: "soc", Reason: "over"}
	}
	before, after := lift(6, clock().Add(-time.Second)), lift(7, clock())
	torn := func() string {
		file := filepath.Join(t.TempDir(), "lockdown.json")
		if err := os.WriteFile(file, []byte(`{"state":"lo`), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	kept := torn()
	if err := lockdown.Keep(kept, "uid:1", "again", clock()); err != nil { // by a stopped daemon's owner
		t.Fatal(err)
	}
	begun := torn()
	open(t, begun, &memory{}).Begin(t.Context(), "uid:1", "again") // what was forgotten stays so when it is written
	for name, file := range map[string]string{"torn": torn(), "kept": kept, "begun": begun} {
		l := open(t, file, &memory{})
		if err := l.Obey(t.Context(), before); !errors.Is(err, lockdown.ErrForgotten) || l.State() == nil {
			t.Errorf("%s: an old lift gives %v", name, err)
		}
		if err := l.Obey(t.Context(), after); err != nil || l.State() != nil {
			t.Errorf("%s: a new lift gives %v", name, err)
		}
	}
	l := open(t, torn(), &memory{})
	if err := l.Lift(t.Context(), "uid:1", "looked at it"); err != nil || l.State() != nil {
		t.Fatal(err)
	}
	if err := l.Obey(t.Context(), before); err != nil { // nothing is closed that it could open
		t.Error(err)
	}
}

// A file that a disk has lost is no word that opens: where the log knows of a lockdown,
// or cannot tell, everything is closed.
func TestLostFile(t *testing.T) {
	for name, tt := range map[string]struct {
		begun  bool
		err    error
		closed bool
	}{"begun": {begun: true, closed: true}, "log cannot be read": {err: errors.New("input/output error"), closed: true},
		"never begun, or lifted": {}} {
		file := filepath.Join(t.TempDir(), "lockdown.json")
		cfg := lockdown.Config{File: file, Recorder: &memory{}, Now: clock,
			Begun: func() (bool, error) { return tt.begun, tt.err }}
		l, err := lockdown.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if s := l.State(); (s != nil) != tt.closed || s != nil && !strings.Contains(s.Reason, "it does not exist") {
			t.Errorf("%s: %+v", name, s)
		}
		if err := l.Lift(t.Context(), "uid:1", "looked at it"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l, err = lockdown.Open(cfg); err != nil || l.State() != nil { // the file is there again
			t.Errorf("%s: after a lift: %v", name, err)
		}
	}
}
