package proxy

import (
	"maps"
	"slices"
	"strconv"
)

// crowded says why an agent may have no other connection now: each takes up to two
// descriptors of this process, without which it starts no guest and no command. ""
// when there is room. One agent leaves a quarter to the others.
func (e *Egress) crowded(agent string) string {
	if e.cfg.Most == 0 {
		return ""
	}
	e.mu.Lock()
	guests := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	all, mine := 0, 0
	for _, g := range guests {
		n := g.held()
		all += n
		if g.holder.Agent == agent {
			mine += n
		}
	}
	each := (3*e.cfg.Most + 3) / 4
	switch {
	case mine >= each:
		return "as many connections are open as one agent may have on this host: " + strconv.Itoa(each)
	case all >= e.cfg.Most:
		return "as many connections are open as all agents together may have on this host: " + strconv.Itoa(e.cfg.Most)
	default:
		return ""
	}
}

// held is how many connections a guest has, with those of which nothing is decided.
func (g *Guest) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.links) + len(g.clients)
}
