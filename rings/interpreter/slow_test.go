package interpreter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
)

// slowly is a Pacer that lets nothing through but what the test does.
type slowly struct {
	waits chan string   // "agent bytes", as each call comes
	go1   chan struct{} // lets one through

	mu   sync.Mutex
	owed []string
}

func newSlowly() *slowly { return &slowly{waits: make(chan string, 100), go1: make(chan struct{})} }

func (s *slowly) Wait(ctx context.Context, agent string, n int) error {
	s.waits <- fmt.Sprint(agent, " ", n)
	select {
	case <-s.go1:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowly) Owe(agent string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = append(s.owed, fmt.Sprint(agent, " ", n))
}

func newSlow(t *testing.T) (*world, *slowly) {
	t.Helper()
	s := newSlowly()
	return newWorld(t, func(c *interpreter.Config) { c.Pacer = s }), s
}

func full(b *profiles.Bridge) { b.Audit = "full" }

// The bytes that a call writes to disk wait for their turn before any of them is there:
// arguments in the store, and in the log if it has them. The bytes of a result are owed. A
// call that writes nothing does not wait.
func TestSlowed(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   profiles.Bridge
		want string // what it waits for; empty if it does not
		owes string
	}{
		{"external", bridge("out", external), "default 502", "[default 502]"},
		{"external, in full", bridge("out", external, full), "default 1004", "[default 502]"},
		{"in full", bridge("out", full), "default 502", "[]"},
		{"of the host alone", bridge("out"), "", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, s := newSlow(t)
			w.apply(set("a", tt.of))
			p, got := calls(ask("out", `["`+strings.Repeat("x", 500)+`"]`))
			taken := make(chan struct{})
			run := w.start(func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
				return p(ctx, r, taking{h, sync.OnceFunc(func() { close(taken) })})
			})
			if tt.want != "" {
				if wait := <-s.waits; wait != tt.want {
					t.Errorf("waits for %s, want %s", wait, tt.want)
				}
				if n, kinds := w.echo.count(), w.audit.kinds("r1"); n != 0 || len(w.log.entries()) != 0 ||
					len(kinds) != 1 {
					t.Errorf("before its turn: %d acts, journal %q, records %q", n, w.log.entries(), kinds)
				}
				select {
				case <-taken:
					t.Error("the guest may say more")
				default:
				}
				s.go1 <- struct{}{}
			}
			<-taken
			if v := w.end(run); v.State != executors.StateDone || len(*got) != 1 || (*got)[0].Error != nil ||
				w.echo.count() != 1 {
				t.Errorf("state %s, answers %+v, %d acts", v.State, *got, w.echo.count())
			}
			if fmt.Sprint(s.owed) != tt.owes || len(s.waits) != 0 {
				t.Errorf("owes %s, want %s; %d waits more", s.owed, tt.owes, len(s.waits))
			}
		})
	}
}

// taking is a host with a callback for a question that is taken.
type taking struct {
	executors.Host
	taken func()
}

func (h taking) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	q.Taken = h.taken
	return h.Host.Ask(ctx, q)
}

// A call that waits for its turn ends with its run, and with its grant: then it does not
// wait any longer, and nothing of it is on disk.
func TestSlowedEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func(*world, *interpreter.Run)
		state executors.State
		error string // that the program gets; empty if it is over
	}{
		{"cancel", func(w *world, r *interpreter.Run) { r.Cancel(w.t.Context(), "uid:0", "enough") }, executors.StateCancelled, ""},
		{"limit", func(w *world, _ *interpreter.Run) { w.ring.Exceed("r1", "too much") }, executors.StateLimit, ""},
		{"revoke", func(w *world, r *interpreter.Run) { must(w.t, r.Revoke(w.t.Context(), []string{"bridge:out"})) }, executors.StateDone, "CapabilityRevoked"},
		{"push", func(w *world, _ *interpreter.Run) { w.apply(set("b", bridge("other"))) }, executors.StateDone, "CapabilityRevoked"},
		{"lockdown", func(w *world, _ *interpreter.Run) { w.apply(nil) }, executors.StateDone, "CapabilityRevoked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, s := newSlow(t)
			w.apply(set("a", bridge("out", external)))
			var got executors.Answer
			run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
				var err error
				got, err = h.Ask(ctx, question("c1", "out", `["secret"]`))
				return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}, err
			})
			<-s.waits
			tt.end(w, run)
			if v := w.end(run); v.State != tt.state {
				t.Errorf("state %s %+v, want %s", v.State, v.Error, tt.state)
			}
			if tt.error != "" && (got.Error == nil || got.Error.Name != tt.error) {
				t.Errorf("answer %+v, want %s", got, tt.error)
			}
			if len(w.log.entries()) != 0 || w.echo.count() != 0 ||
				slices.Contains(w.audit.kinds("r1"), "call_opened:open+synced") {
				t.Errorf("journal %q, %d acts, records %q", w.log.entries(), w.echo.count(), w.audit.kinds("r1"))
			}
		})
	}
}

// A call that waits keeps its place if a push still grants it.
func TestSlowedOverAPush(t *testing.T) {
	w, s := newSlow(t)
	w.apply(set("a", bridge("out", external)))
	p, got := calls(ask("out", `[1]`))
	run := w.start(p)
	<-s.waits
	w.apply(set("b", bridge("out", external), bridge("other")))
	s.go1 <- struct{}{}
	if v := w.end(run); v.State != executors.StateDone || len(*got) != 1 || (*got)[0].Error != nil ||
		w.echo.count() != 1 {
		t.Errorf("state %s, answers %+v, %d acts", v.State, *got, w.echo.count())
	}
}
