package egress

// String is the entry as it was written.
func (p Pattern) String() string { return p.text }

// Forged is a Decision that the list has not made: its match may be of another list.
func Forged(l *List, target Dest, m Match) Decision {
	return Decision{list: l, target: target, match: m, granted: true}
}
