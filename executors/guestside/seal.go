// Once its engine is compiled and loaded, a guest process drops everything that a running program does not
// need, irreversibly. A bug of the engine is then exploited in a process without any powers. Guests with
// WebAssembly engines seal themselves before anything untrusted is sent to them. After an error nothing may
// run.

package guestside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Control is the descriptor on which a guest of the kernel ring seals itself: one Seal in, one Sealed out with
// the listener of the filter, then the canaries, then it is closed. The messages are those of
// rings/kernel/initproto, which the guest half may not import.
const Control = 4

// controlVersion is that of Seal and Sealed.
const controlVersion = 3

// Seal is the filter for all threads of the process: a classic BPF program, eight bytes for each instruction,
// big endian, code, jt, jf and k.
type Seal struct {
	Version int
	Filter  []byte
}

// Sealed is the answer. If Failed is empty, the filter is installed.
type Sealed struct {
	Version int
	Failed  string
}

// startPoller makes the runtime create its poller, which it does with the first timer. The poller needs
// descriptors: after the seal none can be made, and the runtime would end the process.
func startPoller() { time.AfterFunc(time.Hour, func() {}).Stop() }

// decode decodes exactly one JSON value. Unknown fields and trailing bytes are errors.
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
