package pool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/pool"
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

// blank is a guest of an agent that was started for one kernel profile.
type blank struct{ agent, kernel string }

func (b blank) Spec() blank      { return b }
func (b blank) Key() string      { return b.agent + " " + b.kernel }
func (b blank) Agent() string    { return b.agent }
func (b blank) Revision() string { return "" }

// TestKeepIsFair: guests of one agent for many profiles do not end that of another.
func TestKeepIsFair(t *testing.T) {
	var ended []blank
	p, err := pool.New(pool.Config[blank, blank]{
		Go: func(f func()) { f() }, End: func(b blank) { ended = append(ended, b) }, Blank: 1, Max: 3,
		Launch: func(_ context.Context, b blank) (blank, error) { return b, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Keep(blank{"benign", "1"})
	for _, kernel := range []string{"1", "2", "3", "4", "5"} {
		p.Keep(blank{"greedy", kernel})
	}
	want := []blank{{"greedy", "1"}, {"greedy", "2"}, {"greedy", "3"}}
	if len(ended) != len(want) || ended[0] != want[0] || ended[2] != want[2] {
		t.Errorf("ended %v, want %v", ended, want)
	}
	_, kept, err := p.Take(t.Context(), blank{"benign", "1"}, func(blank) bool { return true })
	if err != nil || !kept {
		t.Errorf("the other agent's guest: kept %t, %v", kept, err)
	}
}
