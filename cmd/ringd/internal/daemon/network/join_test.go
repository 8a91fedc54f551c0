package network_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
	target "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// memory is an audit log that breaks when it is told to.
type memory struct {
	mu      sync.Mutex
	fail    error
	records []audit.Record
	synced  []bool
}

func (m *memory) Append(_ context.Context, r audit.Record, d audit.Durability) (audit.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return audit.Head{}, m.fail
	}
	m.records, m.synced = append(m.records, r), append(m.synced, d == audit.Synced)
	return audit.Head{Seq: int64(len(m.records))}, nil
}
func (*memory) Head() audit.Head             { return audit.Head{} }
func (*memory) Err() error                   { return nil }
func (*memory) Reopen(context.Context) error { return nil }

func (m *memory) all() []audit.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]audit.Record(nil), m.records...)
}

// runs has one run, whose deciders may change.
type runs struct {
	mu       sync.Mutex
	deciders []*profiles.Decider
	refused  []profiles.Decision
}

func (r *runs) Deciders(run string) []*profiles.Decider {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run != "r1" {
		return nil
	}
	return r.deciders
}

func (r *runs) Refused(_ string, d profiles.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, d)
}

// set lists addresses for the agent a.
func set(revision, strictly string, at ...netip.AddrPort) *profiles.Set {
	a := profiles.Agent{Name: "a", Audit: strictly, Egress: profiles.Egress{Mode: profiles.EgressAllowlist}}
	for _, one := range at {
		a.Egress.Allow = append(a.Egress.Allow, profiles.EgressRule{
			Host: one.Addr().String(), Ports: []int{int(one.Port())}})
	}
	return &profiles.Set{Format: profiles.Format, Revision: revision, Agents: map[string]profiles.Agent{"a": a}}
}

// echo is a server that says back what it hears.
func echo(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func TestJoined(t *testing.T) {
	one, two := echo(t), echo(t)
	var wg sync.WaitGroup
	j, err := network.Join(t.Context(), network.JoinConfig{Go: func(f func()) { wg.Go(f) }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer wg.Wait()
	defer func() {
		if err := j.Ring.Close(); err != nil {
			t.Error(err)
		}
	}()
	live, log := &runs{}, &memory{}
	guest := j.Egress.Open(proxy.Holder{Agent: "a", Executor: "js", Run: func() string { return "r1" },
		Deciders: func() []*profiles.Decider { return live.Deciders("r1") }, Generation: j.Ring.Generation})
	defer guest.Close()
	dial := func(to netip.AddrPort) (*proxy.Conn, error) {
		return guest.Dial(t.Context(), proxy.ListenerConnect, target.Dest{Addr: to.Addr(), Port: to.Port()})
	}
	recorder := records.NewRecorder(log, nil)
	apply := func(number int64, s *profiles.Set) {
		t.Helper()
		recorder.Prepare(number)
		commit, err := j.Ring.Prepare(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		live.mu.Lock() // as the interpreter ring does before
		live.deciders = []*profiles.Decider{s.Decider("a", profiles.Environment{})}
		live.mu.Unlock()
		commit()
	}
	if j.Deciders("r1") != nil {
		t.Error("a run before there are any")
	}
	apply(0, set("sha256:1", "", one, two))
	if _, err := dial(one); err == nil {
		t.Error("dialed, and nobody could put it on record")
	}
	j.Attach(recorder, live)
	if len(j.Deciders("r1")) != 1 || j.Deciders("r2") != nil {
		t.Error("the deciders are not those of the runs")
	}
	apply(1, set("sha256:1", "", one, two))
	gone, err := dial(one)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := dial(two)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*proxy.Conn{gone, stays} {
		if err := says(c); err != nil {
			t.Fatal(err)
		}
	}
	if st, _ := j.Ring.Egress(); st.Connections != 2 {
		t.Errorf("%d connections open", st.Connections)
	}
	apply(2, set("sha256:2", "strict", two))
	if err := says(gone); err == nil {
		t.Error("a connection that the policy no longer allows goes on")
	}
	if err := says(stays); err != nil {
		t.Errorf("one that it allows: %v", err)
	}
	var denial *profiles.Denial
	if _, err := dial(one); !errors.As(err, &denial) || denial.Decision.Code != profiles.Code(target.NotGranted) &&
		denial.Decision.Code != profiles.Code(target.Port) {
		t.Errorf("got %v", err)
	}
	live.mu.Lock()
	if len(live.refused) != 1 {
		t.Errorf("the run was told %+v", live.refused)
	}
	live.mu.Unlock()
	all := log.all()
	if len(all) != 4 || all[2].State != "cut" || all[2].Generation != 2 || all[2].Detail["before"] != "1" ||
		all[2].Detail["connection"] != all[0].Detail["connection"] {
		t.Fatalf("records: %+v", all)
	}
	if log.synced[0] || log.synced[1] || !log.synced[2] || !log.synced[3] {
		t.Errorf("synced: %v; the second policy is strict", log.synced)
	}
	log.mu.Lock()
	log.fail = errors.New("no space")
	log.mu.Unlock()
	if _, err := dial(two); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("without a record: %v", err)
	}
	apply(3, set("sha256:3", "")) // cut, though that cannot be recorded
	if err := says(stays); err == nil {
		t.Error("it goes on, since its end cannot be recorded")
	}
}

// says sends a word and reads it back.
func says(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("word")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 4))
	return err
}
