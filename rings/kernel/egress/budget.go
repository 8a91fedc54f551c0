package egress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// tally is what a holder has used of one rule. It outlives a policy that changes:
// the same rule goes on where it was.
type tally struct {
	mu       sync.Mutex
	limits   profiles.EgressLimits
	up, down int64
	open     int64
	// PerMinute is held against the last minute, of which the earlier part is taken
	// to have been even: begun counts since minute, before in the minute before it.
	minute        time.Time
	begun, before int64
}

// direction is one of the two that bytes are counted in.
type direction bool

const (
	upward   direction = true
	downward direction = false
)

func (t *tally) of(d direction) (used *int64, most int64) {
	if d == upward {
		return &t.up, t.limits.UpBytes
	}
	return &t.down, t.limits.DownBytes
}

func (t *tally) take(d direction, n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, most := t.of(d)
	if most > 0 {
		n = int(max(0, min(int64(n), most-*used)))
	}
	*used += int64(n)
	return n
}

func (t *tally) back(d direction, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, _ := t.of(d)
	*used -= int64(n)
}

// takeAll takes the same from each, what the strictest gives.
func takeAll(list []*tally, d direction, n int) int {
	for i, t := range list {
		got := t.take(d, n)
		for _, earlier := range list[:i] {
			earlier.back(d, n-got)
		}
		n = got
	}
	return n
}

// admit counts one more connection, or one more request; why says what is used up.
func (t *tally) admit(now time.Time, connection, counted bool) (why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case connection && t.limits.Connections > 0 && t.open >= t.limits.Connections:
		return fmt.Sprintf("the rule allows %d connections at once", t.limits.Connections)
	case t.limits.UpBytes > 0 && t.up >= t.limits.UpBytes:
		return fmt.Sprintf("the %d bytes that the rule allows to be sent are used up", t.limits.UpBytes)
	case t.limits.DownBytes > 0 && t.down >= t.limits.DownBytes:
		return fmt.Sprintf("the %d bytes that the rule allows to be received are used up", t.limits.DownBytes)
	}
	if counted {
		if t.limits.PerMinute > 0 && t.lastMinuteLocked(now) >= t.limits.PerMinute {
			return fmt.Sprintf("the rule allows %d a minute", t.limits.PerMinute)
		}
		t.begun++
	}
	if connection {
		t.open++
	}
	return ""
}

func (t *tally) lastMinuteLocked(now time.Time) int64 {
	past := now.Sub(t.minute)
	switch {
	case past < 0 || past >= 2*time.Minute:
		t.minute, t.begun, t.before = now, 0, 0
	case past >= time.Minute:
		t.minute, t.begun, t.before = t.minute.Add(time.Minute), 0, t.begun
	}
	left := time.Minute - now.Sub(t.minute)
	return t.begun + (t.before*int64(left)+int64(time.Minute)-1)/int64(time.Minute)
}

func (t *tally) moved(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open += n
}

// limited is one limit that holds for a connection.
type limited struct {
	key    string
	limits profiles.EgressLimits
}

// limits lists those of the rules that cover a connection, the strictest where
// two deciders know the same rule. It is nil for nearly every connection.
func (s standing) limits(matches []egress.Match) []limited {
	var out []limited
	for i, d := range s.deciders {
		l, ok := limitsOf(d, matches[i])
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(o limited) bool { return o.key == l.key })
		if at < 0 {
			out = append(out, l)
			continue
		}
		o := &out[at].limits
		o.UpBytes, o.DownBytes = strictest(o.UpBytes, l.limits.UpBytes), strictest(o.DownBytes, l.limits.DownBytes)
		o.Connections, o.PerMinute = strictest(o.Connections, l.limits.Connections), strictest(o.PerMinute, l.limits.PerMinute)
	}
	return out
}

func strictest(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// limitsOf names a rule by what it grants, and not by where it stands: a policy
// that changes elsewhere does not give a budget anew, nor do grants that narrow an
// entry to several of its parts.
func limitsOf(d *profiles.Decider, m egress.Match) (limited, bool) {
	if g, ok := d.Gateway(m); ok {
		return limited{"gateway " + g.Name, g.Limits}, g.Limits != profiles.EgressLimits{}
	}
	r := d.EgressRule(m)
	if r == nil || r.Limits == (profiles.EgressLimits{}) {
		return limited{}, false
	}
	return limited{fmt.Sprint("rule ", cmp.Or(r.Of, r.Host), r.Ports, r.AnyPort, strings.Join(r.Methods, ","), " ", strings.Join(r.Paths, ",")), r.Limits}, true
}

// tally finds those of a connection, with the limits that hold now.
func (g *Guest) tally(list []limited) []*tally {
	if len(list) == 0 {
		return nil
	}
	out := make([]*tally, 0, len(list))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range list {
		t := g.tallies[l.key]
		if t == nil {
			t = &tally{}
			g.tallies[l.key] = t
		}
		t.mu.Lock()
		t.limits = l.limits
		t.mu.Unlock()
		out = append(out, t)
	}
	return out
}

// spend counts a connection or a request against its rules; nil: it may go on.
func (g *Guest) spend(s standing, matches []egress.Match, connection, counted bool) ([]*tally, *profiles.Decision) {
	list := g.tally(s.limits(matches))
	for i, t := range list {
		why := t.admit(g.egress.cfg.Now(), connection, counted)
		if why == "" {
			continue
		}
		if connection {
			for _, earlier := range list[:i] {
				earlier.moved(-1)
			}
		}
		d := refusal(egress.Budget, why)
		return nil, &d
	}
	return list, nil
}

// hold replaces the tallies that a link is open on.
func (l *link) hold(list []*tally) {
	var next *[]*tally
	if len(list) > 0 {
		next = &list
	}
	was := l.tallies.Swap(next)
	if was != nil {
		for _, t := range *was {
			t.moved(-1)
		}
	}
}
