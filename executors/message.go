package executors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ringd/ringd/profiles"
)

// Message is one frame of the guest protocol. The types below are the only ones.
//
// A frame is the length of its body (4 bytes, big endian), one byte for the kind, and the body. The body is the
// fields in order: an integer as a shortest uvarint, a text or byte field as its length and its bytes. The
// order of a run:
//
//	host   Hello                      Start                 Answer*   Pause?
//	guest          Ready (or gone)           (Ask|Act|Console|Idle|Denied)* Part* Result
//
// After a Result comes the next Start, or the end of the connection. There is no message to cancel: the host
// kills the guest. Instead of Start the host may send Restore and the Loads that it promises. The guest reads
// all of them before it sends Restored. Then the run continues as any other.
//
// Update may come at any time after Ready. A guest that makes decisions itself reads the messages that have
// arrived before each decision, and sends Updated.
//
// Pause comes at most once, to a guest whose Idle was not overtaken. That guest is reading, and its next
// message is the first Part, or a Result that is not paused. Apart from that, a guest sends Parts only before
// the Result of a run that keeps its state, once the program has ended. If it then cannot keep the state,
// Unkept says why and the Parts are ignored.
type Message interface {
	kind() kind
	append([]byte) []byte
}

type kind byte

const (
	kindHello   kind = 1
	kindStart   kind = 2
	kindAnswer  kind = 3
	kindPause   kind = 4
	kindRestore kind = 5
	kindLoad    kind = 6
	kindUpdate  kind = 7

	kindReady    kind = 129
	kindAsk      kind = 130
	kindConsole  kind = 131
	kindIdle     kind = 132
	kindResult   kind = 133
	kindRestored kind = 134
	kindPart     kind = 135
	kindAct      kind = 136
	kindUpdated  kind = 137
	kindDenied   kind = 138
)

// Hello is the host's first message.
type Hello struct {
	Version  uint64
	Settings []byte // in a format of the executor
}

// Ready is the guest's first message: it can take a program now. If Unavailable is set, it cannot, and that
// text says why and what to do.
type Ready struct {
	Version     uint64
	Executor    string
	Digest      string // digest of the engine
	Unavailable string
}

// Start hands a program to the guest.
type Start struct {
	Options []byte // JSON, in a format of the executor
	Source  []byte
}

// Pause tells the guest to stop the program where it waits. Seen and Asked are the numbers of answers and
// questions in this life of the run. A guest with other numbers has broken the protocol.
type Pause struct {
	Seen  uint64
	Asked uint64
}

// Restore starts the transfer of a snapshot to the guest: Loads with Bytes bytes in total follow. Asked is the
// number of the last call, so that the numbering continues.
type Restore struct {
	Options []byte // JSON, in a format of the executor
	Source  []byte
	Asked   uint64
	Bytes   uint64
}

// Load is a piece of the snapshot that Restore promised.
type Load struct{ Bytes []byte }

// Restored is the guest's first message after a Restore. If Failure is set, the restore failed and no statement
// of the program has run.
type Restored struct{ Failure string }

// Update replaces the data by which a guest makes decisions itself.
type Update struct {
	Seq      uint64 // counts from 1 for each guest
	Settings []byte // in a format of the executor
}

// Updated says that from now on the guest decides by the Update with that number, or by the settings of the run
// if these came later. A guest that decides itself sends it before its program begins. Report is in a format of
// the executor.
type Updated struct {
	Seq    uint64
	Report []byte // JSON
}

// Part is a piece of a snapshot, before a Result.
type Part struct{ Bytes []byte }

// Ask is one question of the program. Call counts from 1 in each run.
type Ask struct {
	Call   uint64
	Bridge string
	Args   []byte // tagged JSON array
}

// Act is one question of the guest itself: may the program start this program, open this file, set this
// variable? Calls of Ask and Act share one numbering. The Value of the Reply is the decision as JSON, with
// verdict allow or deny. The guest does only what was allowed. Ahead says that the program has not begun, and
// asks for an approval that it will need.
type Act struct {
	Call   uint64
	Ahead  bool
	Action []byte // JSON of profiles.Action
}

// Reply is the host's answer to an Ask or an Act: a tagged value, or an error if Name is not empty.
type Reply struct {
	Call    uint64
	Value   []byte
	Name    string
	Message string
}

// Line is one console entry. The host numbers them.
type Line struct {
	Level string
	Text  string
}

// Idle says that the program cannot continue before another answer arrives. Seen is the number of answers of
// this run that the guest has read. It lets the host recognise an Idle that crossed one of its answers.
type Idle struct{ Seen uint64 }

// Denied reports a denial by the guest itself as it happens, since a program that is killed has no Result to
// list it in. Of equal denials only the first is reported. Decision is JSON of profiles.Decision.
type Denied struct{ Decision []byte }

// Result is the end of a program. Value is set only if State is done.
type Result struct {
	End
	Value []byte
}

// End is the guest's report of how its program ended. The host checks it against its own measurements.
type End struct {
	State     State               `json:"state"`
	Error     *ProgramError       `json:"error,omitempty"`
	Denials   []profiles.Decision `json:"denials,omitempty"` // denials by the guest itself
	Refused   int64               `json:"refused,omitempty"` // denials in addition to those in Denials
	Dropped   int64               `json:"dropped,omitempty"` // bytes of console output over the limit
	PeakBytes int64               `json:"peakBytes"`
	// the guest can take another program of the same agent
	Again    bool   `json:"again,omitempty"`
	Unkept   string `json:"unkept,omitempty"`   // why the state of a run that should be kept is not
	ExitCode int    `json:"exitCode,omitempty"` // of a shell script or a Python program
	// modules that the program itself imported, each once
	Imports []string `json:"imports,omitempty"`
	// the value is a text that shows a value which is not JSON
	Repr bool `json:"repr,omitempty"`
}

func (Hello) kind() kind    { return kindHello }
func (Ready) kind() kind    { return kindReady }
func (Start) kind() kind    { return kindStart }
func (Ask) kind() kind      { return kindAsk }
func (Act) kind() kind      { return kindAct }
func (Reply) kind() kind    { return kindAnswer }
func (Pause) kind() kind    { return kindPause }
func (Restore) kind() kind  { return kindRestore }
func (Load) kind() kind     { return kindLoad }
func (Update) kind() kind   { return kindUpdate }
func (Updated) kind() kind  { return kindUpdated }
func (Restored) kind() kind { return kindRestored }
func (Part) kind() kind     { return kindPart }
func (Line) kind() kind     { return kindConsole }
func (Idle) kind() kind     { return kindIdle }
func (Denied) kind() kind   { return kindDenied }
func (Result) kind() kind   { return kindResult }

func appendField[T string | []byte](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func (m Hello) append(b []byte) []byte {
	return appendField(binary.AppendUvarint(b, m.Version), m.Settings)
}

func (m Ready) append(b []byte) []byte {
	b = appendField(binary.AppendUvarint(b, m.Version), m.Executor)
	return appendField(appendField(b, m.Digest), m.Unavailable)
}

func (m Start) append(b []byte) []byte { return appendField(appendField(b, m.Options), m.Source) }

func (m Pause) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, m.Seen), m.Asked)
}

func (m Restore) append(b []byte) []byte {
	b = appendField(appendField(b, m.Options), m.Source)
	return binary.AppendUvarint(binary.AppendUvarint(b, m.Asked), m.Bytes)
}

func (m Load) append(b []byte) []byte { return appendField(b, m.Bytes) }

func (m Update) append(b []byte) []byte {
	return appendField(binary.AppendUvarint(b, m.Seq), m.Settings)
}

func (m Updated) append(b []byte) []byte {
	return appendField(binary.AppendUvarint(b, m.Seq), m.Report)
}

func (m Restored) append(b []byte) []byte { return appendField(b, m.Failure) }

func (m Part) append(b []byte) []byte { return appendField(b, m.Bytes) }

func (m Ask) append(b []byte) []byte {
	return appendField(appendField(binary.AppendUvarint(b, m.Call), m.Bridge), m.Args)
}

func (m Act) append(b []byte) []byte {
	ahead := uint64(0)
	if m.Ahead {
		ahead = 1
	}
	return appendField(binary.AppendUvarint(binary.AppendUvarint(b, m.Call), ahead), m.Action)
}

func (m Reply) append(b []byte) []byte {
	b = appendField(binary.AppendUvarint(b, m.Call), m.Value)
	return appendField(appendField(b, m.Name), m.Message)
}

func (m Line) append(b []byte) []byte { return appendField(appendField(b, m.Level), m.Text) }

func (m Idle) append(b []byte) []byte { return binary.AppendUvarint(b, m.Seen) }

func (m Denied) append(b []byte) []byte { return appendField(b, m.Decision) }

func (m Result) append(b []byte) []byte {
	head, err := json.Marshal(m.End)
	if err != nil {
		// Every value of End marshals. The reader would reject an empty head.
		head = nil
	}
	return appendField(appendField(b, head), m.Value)
}

// decode reads the body of a frame that side received.
func decode(side Side, k kind, body []byte) (Message, error) {
	f := fields{b: body}
	var m Message
	switch {
	case side == GuestSide && k == kindHello:
		m = Hello{Version: f.uvarint(), Settings: f.bytes()}
	case side == GuestSide && k == kindStart:
		m = Start{Options: f.bytes(), Source: f.bytes()}
	case side == GuestSide && k == kindAnswer:
		m = Reply{Call: f.uvarint(), Value: f.bytes(), Name: f.text(maxNameBytes), Message: f.text(MaxFrameBytes)}
	case side == GuestSide && k == kindPause:
		m = Pause{Seen: f.uvarint(), Asked: f.uvarint()}
	case side == GuestSide && k == kindRestore:
		m = Restore{Options: f.bytes(), Source: f.bytes(), Asked: f.uvarint(), Bytes: f.atMost(MaxSnapshotBytes)}
	case side == GuestSide && k == kindLoad:
		m = Load{Bytes: f.piece()}
	case side == GuestSide && k == kindUpdate:
		m = Update{Seq: f.uvarint(), Settings: f.bytes()}
	case side == HostSide && k == kindUpdated:
		m = Updated{Seq: f.uvarint(), Report: f.bytes()}
	case side == HostSide && k == kindRestored:
		m = Restored{Failure: f.text(maxFailureBytes)}
	case side == HostSide && k == kindPart:
		m = Part{Bytes: f.piece()}
	case side == HostSide && k == kindReady:
		m = Ready{
			Version: f.uvarint(), Executor: f.text(maxNameBytes), Digest: f.text(maxNameBytes),
			Unavailable: f.text(4096),
		}
	case side == HostSide && k == kindAsk:
		m = Ask{Call: f.uvarint(), Bridge: f.text(maxNameBytes), Args: f.bytes()}
	case side == HostSide && k == kindAct:
		m = Act{Call: f.uvarint(), Ahead: f.atMost(1) == 1, Action: f.bytes()}
	case side == HostSide && k == kindConsole:
		m = Line{Level: f.text(16), Text: f.text(MaxFrameBytes)}
	case side == HostSide && k == kindIdle:
		m = Idle{Seen: f.uvarint()}
	case side == HostSide && k == kindDenied:
		m = Denied{Decision: f.bytes()}
	case side == HostSide && k == kindResult:
		m = f.result()
	default:
		return nil, fmt.Errorf("%w: unknown frame %d", ErrProtocol, k)
	}
	if f.bad {
		return nil, fmt.Errorf("%w: malformed frame %d", ErrProtocol, k)
	}
	if len(f.b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last field of frame %d", ErrProtocol, len(f.b), k)
	}
	return m, nil
}

// fields reads the fields of a body. After an error bad stays set and every field is zero.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) uvarint() uint64 {
	v, n := binary.Uvarint(f.b)
	if f.bad || n <= 0 || n > 1 && f.b[n-1] == 0 { // the last byte of a shortest form is not 0
		f.bad = true
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) bytes() []byte {
	n := f.uvarint()
	if f.bad || n > uint64(len(f.b)) {
		f.bad = true
		return nil
	}
	v := f.b[:n:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) text(limit int) string {
	v := f.bytes()
	if len(v) > limit {
		f.bad = true
		return ""
	}
	return string(v)
}

// maxFailureBytes limits the text of a failed restore.
const maxFailureBytes = 4096

// atMost reads a number and rejects one that is larger than n.
func (f *fields) atMost(n uint64) uint64 {
	v := f.uvarint()
	if v > n {
		f.bad = true
		return 0
	}
	return v
}

// piece reads a part of a snapshot. An empty one would make no progress and is rejected.
func (f *fields) piece() []byte {
	v := f.bytes()
	if len(v) == 0 || len(v) > PartBytes {
		f.bad = true
		return nil
	}
	return v
}

// maxEndBytes limits the size of End without the value.
const maxEndBytes = 256 << 10

func (f *fields) result() Message {
	head, value := f.bytes(), f.bytes()
	m := Result{Value: value}
	if len(head) > maxEndBytes {
		f.bad = true
	}
	if f.bad || Decode(head, &m.End) != nil {
		f.bad = true
	}
	return m
}

// Decode reads exactly one JSON value. Unknown fields and trailing bytes are errors.
func Decode(b []byte, v any) error {
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

// DecodeAs decodes b as Decode does. If the value has a method Check, it must hold.
func DecodeAs[T any](b []byte) (T, error) {
	var v, none T
	if err := Decode(b, &v); err != nil {
		return none, err
	}
	if c, ok := any(v).(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return none, err
		}
	}
	return v, nil
}
