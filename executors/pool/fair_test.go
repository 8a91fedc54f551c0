package pool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/profiles"
)

// holders reads "agent/actor agent/actor", the oldest first.
func holders(text string) (out []pool.Holder) {
	for word := range strings.FieldsSeq(text) {
		agent, actor, _ := strings.Cut(word, "/")
		out = append(out, pool.Holder{Agent: agent, Actor: actor})
	}
	return out
}

// TestCrowded: an agent that takes more places than others gives up its own.
func TestCrowded(t *testing.T) {
	for _, tt := range []struct {
		name, held, next string
		want             int
	}{
		{"alone: the oldest", "a/x a/x a/x", "a/x", 0},
		{"each has one: the oldest", "a/x b/x c/x", "d/x", 0},
		{"another's is older", "b/x a/x a/x", "a/x", 1},
		{"another's comes: the crowd gives up its oldest", "a/x b/x a/x", "b/y", 0},
		{"with its new one it has the most", "b/x a/x", "a/x", 1},
		{"many actors of one agent", "b/y a/1 a/2 a/3", "a/4", 1},
		{"many agents of one actor", "b/y a/x c/x d/x", "e/x", 1},
		{"two of one pair before many of one agent", "a/1 a/2 a/3 b/y b/y", "a/4", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := pool.Crowded(holders(tt.held), holders(tt.next)[0]); got != tt.want {
				t.Errorf("place %d is given up, want %d", got, tt.want)
			}
		})
	}
}

// blank is a guest without a process.
type blank struct {
	pool.Guest[pool.Spec]
	end func(of string)
}

func (b *blank) Satisfies(profiles.Tier) bool { return true }
func (b *blank) End()                         { b.end(b.Spec.Key) }

// TestKeepIsFair: guests of one agent for many profiles do not end that of another.
func TestKeepIsFair(t *testing.T) {
	var ended []string
	launch := func(_ context.Context, s pool.Spec) (*blank, error) {
		return &blank{pool.Guest[pool.Spec]{Spec: s}, func(of string) { ended = append(ended, of) }}, nil
	}
	p, err := pool.New(pool.Config[pool.Spec, *blank]{Go: func(f func()) { f() }, Blank: 1, Max: 3, Launch: launch})
	if err != nil {
		t.Fatal(err)
	}
	keep := func(agent, kernel string) {
		g, _ := launch(t.Context(), pool.Spec{Agent: agent, Key: agent + " " + kernel})
		p.Keep(g)
	}
	keep("benign", "1")
	for _, kernel := range []string{"1", "2", "3", "4", "5"} {
		keep("greedy", kernel)
	}
	want := []string{"greedy 1", "greedy 2", "greedy 3"}
	if !slices.Equal(ended, want) {
		t.Errorf("ended %v, want %v", ended, want)
	}
	_, kept, err := p.Take(t.Context(), pool.Spec{Agent: "benign", Key: "benign 1"})
	if err != nil || !kept {
		t.Errorf("the other agent's guest: kept %t, %v", kept, err)
	}
}
