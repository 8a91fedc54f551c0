// This file is what a guest process of this program does to itself once its
// engine is compiled and loaded: it gives up for good everything that a running
// program needs no longer, so that a bug of the engine lands in a process that has
// nothing. Guests of WebAssembly engines call it, before anything untrusted is sent
// to them. It cannot be undone, and an error means that nothing may run.

package guestside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Control is the descriptor on which a guest of the kernel ring seals itself: one
// Seal in, one Sealed out with the listener of the filter, then the canaries, then
// it is closed. The messages are those of rings/kernel/initproto, which the guest half
// may not import.
const Control = 4

// controlVersion is that of Seal and Sealed.
const controlVersion = 3

// Seal is the filter for all threads of the process, a classic BPF program: eight
// bytes an instruction, big endian, code, jt, jf and k.
type Seal struct {
	Version int
	Filter  []byte
}

// Sealed is the answer. Failed "" means that the filter holds.
type Sealed struct {
	Version int
	Failed  string
}

// startPoller has the runtime make its poller, which it does with the first timer
// and which takes descriptors: after the seal there are none, and it would end
// the process.
func startPoller() { time.AfterFunc(time.Hour, func() {}).Stop() }

// decode reads one JSON value of known fields and nothing behind it.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode: text behind the value")
	}
	return nil
}
