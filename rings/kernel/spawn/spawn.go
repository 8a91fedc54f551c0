// Package spawn forks the processes of guests, all from one thread that lives as long as its Spawner, and
// carries the messages between the kernel ring and the init of a guest. The ring calls it.
//
// The kernel sends the parent-death signal when the forking thread ends, not the process. So there is one
// thread. It has set no_new_privs before it forks, so that a guest never had a moment without it.
package spawn

import (
	"errors"
	"fmt"
)

// ErrClosed is returned after Close.
var ErrClosed = errors.New("spawner closed")

// Refused is the error of a host that does not give what a guest needs before init runs: the layer that is
// missing, the failed step, and the kernel's answer to the fork or to the settings of the new process.
type Refused struct {
	Layer, Step string
	Err         error
}

// Error names the layer, the step and the kernel's answer.
func (r *Refused) Error() string { return fmt.Sprintf("layer %s: %s: %v", r.Layer, r.Step, r.Err) }

// Unwrap returns the kernel's answer.
func (r *Refused) Unwrap() error { return r.Err }

// Config is what a Spawner needs.
type Config struct {
	// Go starts the thread. It must not be one of a limited pool.
	Go func(func())
	// Image is the program that Init starts. If nil, Init returns an error.
	Image []byte
	// Processors is how many processors a process may run on. If 0, it is 1.
	Processors int
}
