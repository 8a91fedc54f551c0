package egress

// WithoutFirst takes away the guard over what was looked up, WithoutSecond the one
// over what a socket is about to connect to, to see that the other refuses.
func (e *Egress) WithoutFirst()  { e.without.first = true }
func (e *Egress) WithoutSecond() { e.without.second = true }

// Open counts the connections that are open, or are dialed.
func (g *Guest) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.links)
}
