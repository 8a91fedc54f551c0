package interpreter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

func grants(t *testing.T, text string) *profiles.Grants {
	t.Helper()
	g, err := profiles.DecodeGrants([]byte(text))
	must(t, err)
	return &g
}

// failed returns the name of the error that a call got, empty for a value.
func (s *stage) failed(run, call string) string {
	if got := s.got(run, call); got.Error != nil {
		return got.Error.Name
	}
	return ""
}

// A subagent has no more than the grants of the run that it was started for, also if that
// run was paused, and whatever grants it gets itself.
func TestGrantsAreHandedDown(t *testing.T) {
	const (
		denied  = "CapabilityDenied"
		few     = `{"bridges":{"team":{},"act":{"arguments":{"properties":{"n":{"maximum":5}}}}}}`
		all     = `{"bridges":{"team":{},"act":{},"free":{}}}`
		counted = `{"bridges":{"team":{},"free":{},"act":{"calls":9}}}`
	)
	tests := []struct {
		name          string
		parent, child string
		small, large  string // act with 1 and with 9
		free          string
	}{
		{"not narrowed", "", "", "", "", ""},
		{"narrowed", few, "", "", "ArgumentError", denied},
		{"its own are wider", few, `{"bridges":{"act":{}}}`, "", "ArgumentError", denied},
		{"its own are narrower", all, `{"bridges":{"act":{"calls":1}}}`, "", "BudgetExceeded", denied},
		{"calls are of one run", counted, "", denied, denied, ""},
	}
	for _, test := range tests {
		for _, waits := range []bool{false, true} {
			s := family(t, 3, 3, 9)
			s.apply(set("a", bridge("act"), bridge("free"), bridge("team", spawner(3, 3, 9))))
			request := func(text string) (req interpreter.StartRequest) {
				if text != "" {
					req.Grants = grants(t, text)
				}
				return req
			}
			// The subagent starts one more, which both runs above narrow.
			begin := func(parent, call, text string, sc script) *interpreter.Run {
				req := request(text)
				req.Parent = &pause.Parent{Run: parent, Call: call}
				run, err := s.run(req, sc)
				must(t, err)
				return run
			}
			root, err := s.run(request(test.parent), waves([]executors.Question{question("c1", "team", `[[1]]`)}))
			must(t, err)
			if s.end(root); waits {
				_, err := s.ring.Hold(t.Context(), encoded(t, s.keeper.pause(t, "r1")))
				must(t, err)
			} else {
				_, err := s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
				must(t, err)
			}
			calls := []executors.Question{question("c1", "act", `[{"n":1}]`), question("c2", "act", `[{"n":9}]`),
				question("c3", "free", `[]`)}
			s.end(begin("r1", "c1", test.child, script{Waves: [][]executors.Question{
				calls[:1], calls[1:2], calls[2:]}}))
			for call, want := range map[string]string{"c1": test.small, "c2": test.large, "c3": test.free} {
				if got := s.failed("r2", call); got != want {
					t.Errorf("%s, encoded %v: %s: %q, want %q", test.name, waits, call, got, want)
				}
			}
		}
	}
}

// encoded returns a pause as another process reads it.
func encoded(t *testing.T, p pause.Record) pause.Record {
	t.Helper()
	b, err := p.Encode()
	must(t, err)
	out, err := pause.Decode(b)
	must(t, err)
	return out
}

// Grants that name what the run above does not hand down are refused. A deadline is handed
// down.
func TestGrantsBelowGrants(t *testing.T) {
	c := &clock{at: time.Unix(1e9, 0)}
	s := newStage(t, func(cfg *interpreter.Config) {
		cfg.Providers["team"], cfg.Now = contract.Harness{}, c.now
	})
	s.apply(set("a", bridge("act"), bridge("free"), bridge("ask"), bridge("team", spawner(3, 3, 9))))
	root, err := s.run(interpreter.StartRequest{Grants: grants(
		t, `{"bridges":{"team":{},"act":{},"ask":{}},"deadline":"2001-09-09T02:00:00Z"}`)},
		waves([]executors.Question{question("c1", "team", `[[1,2]]`)}))
	must(t, err)
	s.end(root)
	parent := s.keeper.pause(t, "r1")
	held, err := s.ring.Hold(t.Context(), parent)
	must(t, err)
	above := &pause.Parent{Run: "r1", Call: "c1"}
	if _, err := s.run(interpreter.StartRequest{Parent: above, Grants: grants(t, `{"bridges":{"free":{}}}`)},
		script{}); !errors.Is(err, profiles.ErrGrants) {
		t.Errorf("a bridge that the run above does not have: %v", err)
	}
	child, err := s.run(interpreter.StartRequest{Parent: above,
		Grants: grants(t, `{"deadline":"2031-01-01T00:00:00Z"}`)},
		waves([]executors.Question{question("c1", "ask", `[]`)}, []executors.Question{question("c2", "act", `[]`)}))
	must(t, err)
	s.end(child)
	p := s.keeper.pause(t, child.ID())
	if want := time.Date(2001, 9, 9, 2, 0, 0, 0, time.UTC); !p.Expires.Equal(want) {
		t.Errorf("the pause of a subagent outlives the deadline above: %v", p.Expires)
	}
	s.end(held)
	parent.Calls[0].Children = 1
	_, err = s.ring.Hold(t.Context(), parent)
	must(t, err)
	c.set(time.Date(2001, 9, 9, 2, 0, 1, 0, time.UTC))
	if s.resume(p, value("c1", `1`)); s.echo.count() != 0 {
		t.Errorf("%d acts after the deadline above", s.echo.count())
	}
}

// A grant that is taken from a run is taken from its subagents: from those that live, are
// paused or start later, and while the run itself is paused.
func TestRevokeReachesSubagents(t *testing.T) {
	const revoked = "CapabilityRevoked"
	take := []string{"bridge:act"}
	for _, name := range []string{"live", "later", "waits", "nobody"} {
		t.Run(name, func(t *testing.T) {
			s := family(t, 3, 3, 9)
			s.apply(set("a", bridge("act"), bridge("slow"), bridge("ask"), bridge("team", spawner(3, 3, 9))))
			busy, begun := make(chan struct{}), make(chan struct{}, 1)
			s.slow = func(ctx context.Context) {
				begun <- struct{}{}
				select {
				case <-busy:
				case <-ctx.Done():
				}
			}
			p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1,2]]`)}))
			held, err := s.ring.Hold(t.Context(), p)
			must(t, err)
			act := []executors.Question{question("c2", "act", `[]`)}
			revoke := func() {
				if err := held.Revoke(t.Context(), take); !errors.Is(err, contract.ErrPaused) {
					t.Errorf("a held run: %v", err)
				}
			}
			want := revoked
			switch name {
			case "nobody":
				want = ""
				fallthrough
			case "live":
				child, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "slow", `[]`)}, act))
				must(t, err)
				<-begun
				if want != "" {
					revoke()
				}
				close(busy)
				s.end(child)
			case "later":
				revoke()
				child, err := s.child("r1", "c1", waves(act))
				must(t, err)
				s.end(child)
			case "waits":
				child, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "ask", `[]`)}, act))
				must(t, err)
				s.end(child)
				s.end(held)
				p.Revoked, p.Calls[0].Children = take, 1 // as the daemon's store adds it
				_, err = s.ring.Hold(t.Context(), p)
				must(t, err)
				s.resume(s.keeper.pause(t, child.ID()), value("c1", `1`))
			}
			if got := s.failed("r2", "c2"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// If a live run cannot lose one grant of a list, it loses the others.
func TestRevokeTakesWhatItCan(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("act"), bridge("slow")))
	busy, begun := make(chan struct{}), make(chan struct{})
	s.slow = func(context.Context) { close(begun); <-busy }
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "slow", `[]`)},
		[]executors.Question{question("c2", "act", `[]`)}))
	must(t, err)
	<-begun
	if err := run.Revoke(t.Context(), []string{"import:x", "bridge:act"}); !errors.Is(err, binding.ErrGrant) {
		t.Errorf("a module taken from a live guest: %v", err)
	}
	close(busy)
	if s.end(run); s.failed("r1", "c2") != "CapabilityRevoked" || s.echo.count() != 0 {
		t.Errorf("%+v, %d acts", s.got("r1", "c2"), s.echo.count())
	}
}
