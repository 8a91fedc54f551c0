package egress

// String is the entry as it was written.
func (p Pattern) String() string { return p.text }
