package jsguest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

// A snapshot of a guest is the length of its record (4 bytes, big endian), the record as JSON, and the engine's
// snapshot. The host puts its own counts in front and seals it all.

const (
	recordFormat   = 1
	maxRecordBytes = 1 << 20
	maxPrograms    = 256 // of a session, whose frames are known
	maxCount       = 1 << 40
)

// record is the guest's own state of its run, apart from the engine.
type record struct {
	Format   int               `json:"format"`
	Open     []openRecord      `json:"open,omitempty"`
	Console  int64             `json:"console,omitempty"` // bytes sent
	Dropped  int64             `json:"dropped,omitempty"`
	Denials  int               `json:"denials,omitempty"` // reported
	CPU      time.Duration     `json:"cpu,omitempty"`     // as the engine counted it
	Clock    int64             `json:"clock,omitempty"`   // the latest time that Date could have shown
	File     string            `json:"file,omitempty"`    // of the program, in the engine
	Text     string            `json:"text,omitempty"`    // digest of the text that the engine got
	Modules  map[string]served `json:"modules,omitempty"`
	Session  bool              `json:"session,omitempty"`  // the program was one of a session
	Programs []earlier         `json:"programs,omitempty"` // of a session, oldest first
	Count    int               `json:"count,omitempty"`    // of all its programs
}

// openRecord is an open call: its number on the connection, its id in the
// engine, the bytes of its arguments.
type openRecord struct {
	Call  uint64 `json:"call"`
	ID    int64  `json:"id"`
	Bytes int64  `json:"bytes"`
}

// served is a module that the engine has.
type served struct {
	Digest string `json:"digest"`
	Typed  bool   `json:"typed,omitempty"`
}

// earlier is a program of a session that has ended.
type earlier struct {
	File       string `json:"file"` // in the engine
	Author     string `json:"author"`
	Translated bool   `json:"translated,omitempty"`
}

// encode returns the bytes in front of the engine's snapshot. Modules and earlier programs are needed for
// frames only and are left out if there are too many.
func (rec record) encode() ([]byte, error) {
	body, err := json.Marshal(rec)
	if err == nil && len(body) > maxRecordBytes {
		rec.Modules, rec.Programs = nil, nil
		body, err = json.Marshal(rec)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the record of a pause: %w", err)
	}
	if len(body) > maxRecordBytes {
		return nil, fmt.Errorf("%w: a record of %d bytes", engine.ErrTooLarge, len(body))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

var errRecord = errors.New("the record of the snapshot is malformed")

// decodeRecord splits a snapshot. asked is the number of the run's last call.
func decodeRecord(b []byte, asked uint64) (rec record, snapshot []byte, err error) {
	if len(b) < 4 {
		return record{}, nil, errRecord
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	if n > maxRecordBytes || uint64(n) >= uint64(len(b)) {
		return record{}, nil, errRecord
	}
	if err := executors.Decode(b[:n], &rec); err != nil {
		return record{}, nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	if rec.Format != recordFormat {
		return record{}, nil, fmt.Errorf("%w: format %d", errRecord, rec.Format)
	}
	if !rec.sound(asked) {
		return record{}, nil, errRecord
	}
	return rec, b[n:], nil
}

// sound checks every number of a record.
func (rec record) sound(asked uint64) bool {
	var bytes int64
	last := uint64(0)
	ids := map[int64]bool{}
	for _, c := range rec.Open {
		if c.Call <= last || c.Call > asked || c.ID < 1 || ids[c.ID] || c.Bytes < 0 || c.Bytes > valueBytes {
			return false
		}
		ids[c.ID], last = true, c.Call
		bytes += c.Bytes
	}
	for _, v := range []int64{rec.Console, rec.Dropped, int64(rec.Denials), int64(rec.CPU), int64(rec.Count)} {
		if v < 0 || v > maxCount {
			return false
		}
	}
	return rec.Clock >= 0 && len(rec.Open) <= executors.MaxOpenAsks && bytes <= executors.MaxOpenBytes &&
		len(rec.Programs) <= maxPrograms && rec.Count >= len(rec.Programs)
}

// resume continues a program, or starts one in the state of another that has ended.
func (p *process) resume(ctx context.Context, m executors.Restore) error {
	b, err := p.s.Loads(m)
	if err != nil {
		return err
	}
	return p.serveRun(ctx, m.Options, m.Source, func(ctx context.Context, r *run) (executors.Result, bool) {
		rec, snapshot, err := decodeRecord(b, m.Asked)
		if err == nil {
			err = r.restore(ctx, rec, snapshot, m.Asked)
		}
		switch {
		case errors.Is(err, engine.ErrMemory), errors.Is(err, engine.ErrCPU):
			// It is sound, but a limit that was set since then does not allow it to continue.
			r.put(executors.Restored{})
			return r.final(err), true
		case errors.Is(err, engine.ErrPermanent): // sound as well, and caused by the program
			r.put(executors.Restored{})
			res := failResult(profiles.ErrorCapabilityRevoked, err.Error())
			res.State = executors.StateDenied
			return res, true
		case err != nil:
			r.put(executors.Restored{Failure: short(err.Error(), maxFailure)})
			r.flush()
			return executors.Result{}, false
		}
		r.put(executors.Restored{})
		if r.o.Ended {
			return r.first(ctx), true
		}
		return r.drive(ctx), true
	})
}

// maxFailure leaves room for the text that short adds.
const maxFailure = 1000

// restore takes over the record and makes the VM.
func (r *run) restore(ctx context.Context, rec record, snapshot []byte, asked uint64) error {
	if r.o.Ended != (len(rec.Open) == 0) {
		return errRecord
	}
	r.programs, r.count = rec.Programs, rec.Count
	r.mods.before, r.clock = rec.Modules, rec.Clock
	if !r.o.Ended {
		r.asked, r.console, r.dropped, r.mods.reported = asked, rec.Console, rec.Dropped, rec.Denials
		r.file, r.digest, r.session = rec.File, rec.Text, rec.Session
		if r.session {
			r.mods.ofSession()
		}
		for _, c := range rec.Open {
			r.open[c.Call] = opened{id: c.ID, bytes: c.Bytes}
			r.openBytes += c.Bytes
		}
	}
	left := r.left()
	if left <= 0 {
		return engine.ErrCPU
	}
	o := r.options(left)
	if !r.o.Ended {
		o.CPU += rec.CPU // the engine counts on from there
	}
	vm, err := r.p.engine.Restore(ctx, snapshot, o)
	if err != nil {
		return err
	}
	r.vm = vm
	r.usedBy = guestside.ProcessTime() // its cost is not charged to the program
	switch {
	case vm.OpenCalls() != len(r.open):
		return fmt.Errorf("%w: its open calls are not the program's", errRecord)
	case !r.o.Ended && vm.Usage().CPU < rec.CPU: // its limit would be higher by the difference
		return fmt.Errorf("%w: its processor time is not the program's", errRecord)
	}
	return nil
}

// waitingRecord is the record of a program that waits, once the engine has taken its snapshot.
func (r *run) waitingRecord() record {
	rec := record{Format: recordFormat, Modules: r.mods.served(), Programs: r.programs, Count: r.count,
		Clock:   r.nanos(),
		Console: r.console, Dropped: r.dropped, Denials: r.mods.reported + len(r.mods.refused.List),
		CPU: r.vm.Usage().CPU, File: r.file, Text: r.digest, Session: r.session}
	if rec.Text == "" {
		rec.Text = r.text.digest()
	}
	for call, o := range r.open {
		rec.Open = append(rec.Open, openRecord{Call: call, ID: o.id, Bytes: o.bytes})
	}
	slices.SortFunc(rec.Open, func(a, b openRecord) int { return int(a.Call) - int(b.Call) })
	return rec
}

// endedRecord is the record of a session whose program has ended.
func (r *run) endedRecord() record {
	t := r.program()
	list := append(
		slices.Clone(r.programs),
		earlier{File: t.file, Author: short(r.o.File, maxNameBytes), Translated: t.translated},
	)
	return record{
		Format: recordFormat, Modules: r.mods.served(), Programs: list[max(len(list)-maxPrograms, 0):],
		Count: r.count + 1, Clock: r.nanos(),
	}
}

// engineBytes limits the engine's snapshot: a record is added to it.
const engineBytes = executors.MaxSnapshotBytes - maxRecordBytes - 4

// send puts a part of a snapshot on the connection.
func (r *run) send(b []byte) {
	for piece := range slices.Chunk(b, executors.PartBytes) {
		r.put(executors.Part{Bytes: piece})
		r.flush()
	}
}

// pause stops the program where it waits.
func (r *run) pause(ctx context.Context) executors.Result {
	var head []byte
	b, err := r.vm.Snapshot(ctx)
	if err == nil {
		head, err = r.waitingRecord().encode()
	}
	switch {
	case errors.Is(err, engine.ErrTooLarge):
		return limitResult("SnapshotTooLarge", err.Error())
	case err != nil:
		return r.final(err)
	}
	r.send(head)
	r.send(b)
	return executors.Result{End: executors.End{State: executors.StatePaused, Again: true}}
}

// keep sends the state of a session's program that ended cleanly. Otherwise it records the reason, and the
// state that was kept before stays valid.
func (r *run) keep(ctx context.Context, res *executors.Result) {
	if !r.o.Keep || res.State == executors.StatePaused {
		return
	}
	if r.text == nil && r.digest == "" {
		res.Unkept = "the program did not begin"
		return
	}
	if res.State != executors.StateDone && res.State != executors.StateFailed || !res.Again {
		res.Unkept = "the program did not end cleanly"
		return
	}
	if len(r.open) > 0 || r.vm.OpenCalls() > 0 {
		res.Unkept = "calls of the program were left open"
		return
	}
	b, err := r.endedRecord().encode()
	if err == nil {
		r.send(b) // tells the host, before the long part, that the program has ended
		b, err = r.vm.Snapshot(ctx)
	}
	if err != nil {
		res.Unkept = short(err.Error(), maxFailure)
		return
	}
	r.send(b)
}
