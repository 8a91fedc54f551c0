package proxy

// Pipes counts the pipes that directions hold.
func (p *pump) Pipes() int {
	p.pipes.mu.Lock()
	defer p.pipes.mu.Unlock()
	return p.pipes.busy
}

// NoPipes makes a Pump copy as if the host gave none.
func (p *pump) NoPipes() { p.pipes.close() }

// Limits of the package.
const (
	SpliceAfter = spliceAfter
	MaxPipes    = maxPipes
)
