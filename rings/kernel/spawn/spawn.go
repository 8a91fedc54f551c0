// Package spawn forks the processes of guests, all from one thread that lives as
// long as its Spawner, and carries what the kernel ring and the init of a guest
// say to each other. It decides nothing; the ring calls it.
//
// The kernel sends the parent-death signal when the forking thread ends, not the
// process: hence the one thread. It has given up new privileges, so that a guest
// never had a moment with them.
package spawn

import (
	"errors"
	"fmt"
)

// ErrClosed is returned after Close.
var ErrClosed = errors.New("spawner closed")

// Refused is the error of a host that does not give what comes before init: the
// kernel's answer to the fork, or to what is written before the process may begin,
// and the layer that is missing so.
type Refused struct {
	Layer, Step string
	Err         error
}

// Error says what was refused.
func (r *Refused) Error() string { return fmt.Sprintf("layer %s: %s: %v", r.Layer, r.Step, r.Err) }

// Unwrap returns the kernel's answer.
func (r *Refused) Unwrap() error { return r.Err }

// Config is what a Spawner needs.
type Config struct {
	// Go starts the thread; it must not be one of a bounded pool.
	Go func(func())
	// Image is the program that Init starts; nil: Init refuses.
	Image []byte
	// Processors is how many processors a process may run on; 0 is 1.
	Processors int
}
