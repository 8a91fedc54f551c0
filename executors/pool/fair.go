package pool

import "cmp"

// Holder is the agent and actor that owns a place of those that all agents of the host share.
type Holder struct{ Agent, Actor string }

// Crowded returns the index of the place to give up for one of next. It is the oldest place of the agent and
// actor that has the most places, including that of next. Between pairs with equally many, the agent with the
// most decides, and then the actor. held must not be empty, and the oldest comes first.
func Crowded(held []Holder, next Holder) int {
	pairs, agents, actors := map[Holder]int{next: 1}, map[string]int{next.Agent: 1}, map[string]int{next.Actor: 1}
	for _, h := range held {
		pairs[h]++
		agents[h.Agent]++
		actors[h.Actor]++
	}
	most := 0
	for i, h := range held {
		m := held[most]
		by := cmp.Or(
			cmp.Compare(pairs[h], pairs[m]), cmp.Compare(agents[h.Agent], agents[m.Agent]),
			cmp.Compare(actors[h.Actor], actors[m.Actor]),
		)
		if by > 0 {
			most = i
		}
	}
	return most
}
