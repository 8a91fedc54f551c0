package trust_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// host is a whole daemon with a real syncer on a sync folder. Its clock stands still.
type host struct {
	t       *testing.T
	root    string // holds the sync folder and the state
	sync    string
	clock   *daemontest.Clock
	stack   *daemontest.Stack
	without []trust.Code // checks that are taken away
	open    bool         // the syncer reads everything
	writing *os.File     // the push, while somebody writes it
	inOrder bool
	roots   *trust.Roots // nil: the host has none
	watch   func() (syncer.Watcher, error)
	// guardrails is asked of each push; nil: nothing is.
	guardrails func(context.Context, *trust.Push, *profiles.Set) error

	syncer *syncer.Syncer
	seen   *seen
}

// seen tells when the sink was called.
type seen struct {
	syncer.Sink
	mu sync.Mutex
	n  int
	c  chan struct{}
}

func (s *seen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	close(s.c)
	s.c = make(chan struct{})
}

func (s *seen) Apply(ctx context.Context, p syncer.Push) error {
	defer s.tick()
	return s.Sink.Apply(ctx, p)
}

func (s *seen) Current(ctx context.Context, digest string) {
	defer s.tick()
	s.Sink.Current(ctx, digest)
}

func (s *seen) Reject(ctx context.Context, err error) {
	defer s.tick()
	s.Sink.Reject(ctx, err)
}

func (s *seen) Lost(ctx context.Context, err error) {
	defer s.tick()
	s.Sink.Lost(ctx, err)
}

func newHost(t *testing.T) *host {
	root := t.TempDir()
	h := &host{t: t, root: root, sync: filepath.Join(root, "sync"), clock: daemontest.NewClock(), roots: roots(t)}
	if err := os.MkdirAll(h.sync, 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) ledger() string { return filepath.Join(h.root, "pushes.json") }

// up starts the daemon, and the syncer with it.
func (h *host) up() {
	h.t.Helper()
	if err := h.start(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) start() error {
	var gate *trust.Gate
	limits := syncer.Limits{}
	if h.roots != nil {
		ledger, err := trust.OpenLedger(h.ledger())
		if err != nil {
			return err
		}
		if gate, err = trust.NewGate(trust.Config{Roots: h.roots, Ledger: ledger, InOrder: h.inOrder,
			Guardrails: h.guardrails}); err != nil {
			return err
		}
		gate = gate.Without(h.without...)
		limits = syncer.Limits{Only: trust.FileName, FileBytes: trust.MaxEnvelope, TotalBytes: trust.MaxEnvelope}
	}
	if h.open {
		limits.Only = ""
	}
	var err error
	h.stack, err = daemontest.Open(h.t, daemontest.Config{Dir: filepath.Join(h.root, "state"), Clock: h.clock,
		Trust: gate})
	if err != nil {
		return err
	}
	h.seen = &seen{Sink: h.stack.Daemon.Sink(), c: make(chan struct{})}
	return nil
}

// look starts the syncer when it is not there, and waits until it has looked at what
// is in the folder now.
func (h *host) look() wire.Status {
	h.t.Helper()
	if h.syncer == nil {
		var err error
		h.syncer, err = syncer.Start(h.t.Context(), syncer.Config{Dir: h.sync, Sink: h.seen, Quiet: time.Millisecond,
			Patience: 5 * time.Millisecond, Watch: h.watch, Logger: slog.New(slog.DiscardHandler),
			Limits: h.limits()})
		if err != nil {
			h.t.Fatal(err)
		}
		s := h.syncer
		h.t.Cleanup(func() { s.Close() })
	}
	for range 2 { // the first one may have begun before the folder changed
		h.seen.mu.Lock()
		c := h.seen.c
		h.seen.mu.Unlock()
		h.syncer.Look()
		<-c
	}
	return h.stack.Daemon.Status(h.t.Context())
}

func (h *host) limits() syncer.Limits {
	if h.roots == nil || h.open {
		return syncer.Limits{FileBytes: trust.MaxEnvelope, TotalBytes: trust.MaxEnvelope}
	}
	return syncer.Limits{Only: trust.FileName, FileBytes: trust.MaxEnvelope, TotalBytes: trust.MaxEnvelope}
}

// down ends the daemon, and what is in the folder stays.
func (h *host) down() {
	h.t.Helper()
	if h.syncer != nil {
		h.syncer.Close()
		h.syncer = nil
	}
	h.stack.Close(h.t)
}

// snapshot is the file of accepted pushes as it is now; restore puts it back.
func (h *host) snapshot() []byte {
	h.t.Helper()
	b, err := os.ReadFile(h.ledger())
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

func (h *host) restore(b []byte) {
	h.t.Helper()
	if err := os.WriteFile(h.ledger(), b, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// put puts a file into the sync folder at once, as a push should be.
func (h *host) put(name string, text []byte) {
	h.t.Helper()
	tmp := filepath.Join(h.root, "tmp")
	if err := errors.Join(os.WriteFile(tmp, text, 0o600), os.Rename(tmp, filepath.Join(h.sync, name))); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) push(e *trust.Envelope) { h.t.Helper(); h.put(trust.FileName, encoded(h.t, e)) }

// run starts a program, and returns the code of its refusal.
func (h *host) run() error {
	_, err := h.stack.Daemon.StartRun(h.t.Context(), daemontest.Me(),
		wire.RunRequest{Executor: "js", Program: wire.Program{Source: "1+1"}, WaitMillis: wire.MaxWaitMillis})
	return err
}

// pushOf is what the syncer makes of a folder with that one file.
func pushOf(raw []byte) syncer.Push {
	return syncer.Push{Sources: []schema.Source{{Name: trust.FileName, Data: raw}}, Digest: profiles.Digest(raw)}
}
