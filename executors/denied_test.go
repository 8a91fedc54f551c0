package executors_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

func denial(t *testing.T, reason string, count int64) (profiles.Decision, executors.Denied) {
	t.Helper()
	d := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeImportDenied, Reason: reason, Count: count}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, executors.Denied{Decision: b}
}

// TestDeniedBeforeTheEnd: what a guest has said that it refused is in the outcome, however
// its program ends, and once.
func TestDeniedBeforeTheEnd(t *testing.T) {
	first, saysFirst := denial(t, "one", 0)
	_, saysSecond := denial(t, "two", 0)
	often, _ := denial(t, "one", 7)
	for _, tt := range []struct {
		name string
		end  func(s *executors.Stream, g *fakeGuest)
		want map[string]int64 // how often, by reason
	}{
		{"exits", func(_ *executors.Stream, g *fakeGuest) { _ = g.peer.Close() }, map[string]int64{"one": 0, "two": 0}},
		{"breaks the protocol", func(s *executors.Stream, _ *fakeGuest) { _ = s.Send(ask(9)) }, map[string]int64{"one": 0, "two": 0}},
		{"lists one with its count", func(s *executors.Stream, _ *fakeGuest) {
			_ = s.Send(executors.Result{
				End:   executors.End{State: executors.StateDone, Denials: []profiles.Decision{often}},
				Value: []byte("1")})
		}, map[string]int64{"one": 7, "two": 0}},
		{"lists none", func(s *executors.Stream, _ *fakeGuest) { _ = s.Send(done("1")) }, map[string]int64{"one": 0, "two": 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				if _, err := s.Read(); err != nil {
					return
				}
				_, _ = s.Send(saysFirst), s.Send(saysSecond)
				tt.end(s, g)
				drain(s)
			})
			out, _, _ := l.Run(t.Context(), executors.Work{Budget: budget, Denials: 2}, &fakeHost{})
			got := map[string]int64{}
			for _, d := range out.Denials {
				if _, twice := got[d.Reason]; twice || d.Verdict != profiles.Deny || d.Code != first.Code {
					t.Errorf("denials %+v", out.Denials)
				}
				got[d.Reason] = d.Count
			}
			if len(got) != len(tt.want) || got["one"] != tt.want["one"] || got["two"] != tt.want["two"] {
				t.Errorf("denials %+v, want %v", out.Denials, tt.want)
			}
		})
	}
}

// TestDeniedOutOfOrder: a guest that may say no refusal, or says more than it may, or no
// refusal at all, is ended.
func TestDeniedOutOfOrder(t *testing.T) {
	_, one := denial(t, "one", 0)
	large, saysLarge := denial(t, strings.Repeat("x", 20<<10), 0)
	if len(large.Reason) == 0 {
		t.Fatal("no reason")
	}
	for _, tt := range []struct {
		name string
		most int
		says []executors.Denied
		want string
	}{
		{"none is taken", 0, []executors.Denied{one}, "more than 0 refusals"},
		{"too many", 1, []executors.Denied{one, one}, "more than 1 refusals"},
		{"no decision", 9, []executors.Denied{{Decision: []byte(`{"x":1}`)}}, "no decision"},
		{"allowed", 9, []executors.Denied{{Decision: []byte(`{"verdict":"allow","code":"allowed"}`)}}, "a denial whose decision does not deny"},
		{"large", 9, []executors.Denied{saysLarge}, "a refusal of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				if _, err := s.Read(); err != nil {
					return
				}
				for _, m := range tt.says {
					_ = s.Send(m)
				}
				drain(s)
			})
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Denials: tt.most}, &fakeHost{})
			if !errors.Is(err, executors.ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if out.State != executors.StateFailed || again || !g.isKilled() {
				t.Errorf("state %s, again %v, killed %v", out.State, again, g.isKilled())
			}
		})
	}
}
