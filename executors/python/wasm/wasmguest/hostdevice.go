package wasmguest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ringd/ringd/executors"
)

// hostDevice is the interpreter's connection: it reads frames of the host from it, and writes its own frames to it.
// Only the interpreter's thread uses it.
type hostDevice struct {
	next   func() (executors.Message, error) // waits for the next message for the interpreter
	taken  func(m executors.Message) error   // called with each message of the interpreter
	flush  func() error                      // called when it has written all
	sleep  func(time.Duration)
	toRead bytes.Buffer      // encoded, not yet read
	put    *executors.Stream // into toRead
	wrote  []byte            // frames, of which the last one may be incomplete
	get    *executors.Stream // from the complete frames
	whole  bytes.Buffer
}

func newDoor() *hostDevice {
	d := &hostDevice{}
	d.put = executors.NewStream(&d.toRead, executors.HostSide)
	d.get = executors.NewStream(&d.whole, executors.HostSide)
	return d
}

// Read implements device.
func (d *hostDevice) Read(p []byte) (int, error) {
	if d.toRead.Len() == 0 {
		m, err := d.next()
		if err == nil {
			err = d.put.Send(m)
		}
		if err != nil {
			return 0, err
		}
	}
	return d.toRead.Read(p)
}

const (
	headBytes = 5
	// kindSleep is a frame that is handled here: 8 bytes of nanoseconds, for which the writer sleeps. No frame
	// of the guest protocol has this kind.
	kindSleep = 0
)

// Write implements device.
func (d *hostDevice) Write(p []byte) (int, error) {
	d.wrote = append(d.wrote, p...)
	for len(d.wrote) >= headBytes {
		n := uint64(binary.BigEndian.Uint32(d.wrote)) + headBytes
		if n > executors.MaxFrameBytes+headBytes {
			return 0, fmt.Errorf("%w: frame of %d bytes", executors.ErrProtocol, n)
		}
		if uint64(len(d.wrote)) < n {
			break
		}
		if d.wrote[4] == kindSleep && n == headBytes+8 {
			d.sleep(time.Duration(min(binary.BigEndian.Uint64(d.wrote[headBytes:]), math.MaxInt64)))
			d.wrote = d.wrote[n:]
			continue
		}
		d.whole.Write(d.wrote[:n])
		d.wrote = d.wrote[n:]
		m, err := d.get.Read()
		if err == nil && (d.get.Pending() || d.whole.Len() > 0) {
			err = errors.New("a frame was read in part")
		}
		if err == nil {
			err = d.taken(m)
		}
		if err != nil {
			return 0, err
		}
	}
	if len(d.wrote) == 0 {
		d.wrote = nil
	}
	return len(p), d.flush()
}
