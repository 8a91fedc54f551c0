package jsguest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// valueBytes limits one value on the connection. It leaves room for the frame.
const valueBytes = executors.MaxFrameBytes - 64<<10

// againBytes is the memory above which a guest is not used again: memory that a program made grow stays with
// the process.
const againBytes = 16 << 20

// run is one program.
type run struct {
	p    *process
	o    jsproto.Options
	vm   *engine.VM
	mods *modules
	text *text // the program in the form for the engine; see program

	source string
	began  time.Time
	usedBy time.Duration // processor time when the program began or continued
	clock  int64         // Date is never before that

	// Of a program that continues: its name in the engine and the digest of its text.
	file, digest string
	// Of a session.
	session  bool
	programs []earlier
	count    int

	open      map[uint64]opened // by number on the connection
	openBytes int64
	asked     uint64
	seen      uint64 // answers taken
	console   int64  // bytes sent
	dropped   int64
	unsent    bool // console lines that wait for a flush
	base      int64
	sendErr   error
}

type opened struct {
	id    int64 // of the engine
	bytes int64
}

// run runs one program to its end and reports it. An error means that the host is gone or violated the
// protocol.
func (p *process) run(ctx context.Context, m executors.Start) error {
	return p.serveRun(ctx, m.Options, m.Source, func(ctx context.Context, r *run) (executors.Result, bool) {
		return r.first(ctx), true
	})
}

// serveRun makes a run. part brings it to its end, and serveRun reports that. If part returns false, it has
// reported itself.
func (p *process) serveRun(
	ctx context.Context, options, source []byte, part func(context.Context, *run) (executors.Result, bool),
) error {
	o, err := executors.DecodeAs[jsproto.Options](options)
	if err != nil {
		return err
	}
	r := &run{p: p, o: o, open: map[uint64]opened{}, base: p.s.BytesPut(), source: string(source),
		began: p.now(), usedBy: guestside.ProcessTime(), file: o.File, session: o.Keep || o.Ended}
	if r.mods = newModules(o, r.began); r.session {
		r.mods.ofSession()
	}
	res, report := part(ctx, r)
	if report {
		r.keep(ctx, &res)
	}
	r.leave(&res)
	err = r.sendErr
	if err == nil && report {
		// including those that the program caught
		res.Denials, res.Refused = r.mods.refused.List, r.mods.refused.More
		if res.State != executors.StatePaused {
			res.Dropped = r.dropped
		}
		clip(res.Error)
		err = p.s.Send(res)
	}
	// The host does not wait for the VM to close. If it fails to close, the process ends, and the host notices.
	if r.vm != nil {
		err = errors.Join(err, r.vm.Close(ctx))
	}
	return err
}

// leave reports whether the process is sound for another run.
func (r *run) leave(res *executors.Result) {
	if r.vm == nil {
		return
	}
	u := r.vm.Usage()
	res.PeakBytes = u.PeakBytes
	r.dropped += u.DroppedBytes
	sound := false
	switch res.State {
	case executors.StateDone, executors.StateFailed, executors.StateDenied:
		sound = len(r.open) == 0 && u.OpenCalls == 0
	case executors.StatePaused:
		sound = true
	case executors.StateLimit, executors.StateCancelled, executors.StateUnknown:
	}
	res.Again = res.Again && sound && u.PeakBytes <= againBytes
}

// Limits of what a program can put into its error.
const (
	maxNameBytes    = 256
	maxMessageBytes = 16 << 10
	maxFrames       = 32
)

// clip truncates an error to the size that the host accepts.
func clip(e *executors.ProgramError) {
	if e == nil {
		return
	}
	e.Name, e.Message = short(e.Name, maxNameBytes), short(e.Message, maxMessageBytes)
	e.Frames = e.Frames[:min(len(e.Frames), maxFrames)]
	for i := range e.Frames {
		f := &e.Frames[i]
		f.Function, f.File = short(f.Function, maxNameBytes), short(f.File, maxNameBytes)
	}
}

func short(s string, n int) string { return canonjson.Truncate(s, n) }

// first translates and starts the program, in a fresh VM or in that of a session, and drives it.
func (r *run) first(ctx context.Context) executors.Result {
	text, fail := r.translate(r.mods)
	if fail != nil {
		fail.Again = true
		return executors.Result{End: *fail}
	}
	if r.count > 0 { // no two programs of a session have the same name, or frames would be ambiguous
		text.file = fmt.Sprintf("%s#%d", text.file, r.count+1)
	}
	r.text, r.file = text, text.file
	left := r.left()
	if left <= 0 {
		return limitResult(profiles.ErrorTimeout, r.cpuText())
	}
	if r.vm == nil {
		vm, err := r.p.engine.Start(ctx, r.options(left))
		if err != nil {
			return failResult("StartError", err.Error())
		}
		r.vm = vm
	}
	p := engine.Program{File: text.file, Source: text.source, Redeclare: r.session}
	if err := r.vm.Eval(ctx, p); err != nil {
		return r.final(err)
	}
	return r.drive(ctx)
}

func (r *run) translate(m *modules) (*text, *executors.End) {
	o := r.o
	o.Keep = r.session // the last program of a session belongs to it, but keeps nothing
	return translate(o, m, r.source)
}

// left is the processor time that the run may still use.
func (r *run) left() time.Duration {
	return r.o.CPU - r.o.UsedCPU - (guestside.ProcessTime() - r.usedBy)
}

func (r *run) options(cpu time.Duration) engine.Options {
	return engine.Options{
		HeapBytes:  max(r.o.MemoryBytes, engine.MinHeapBytes),
		StackBytes: r.o.StackBytes,
		CPU:        cpu, CPUClock: r.cpuClock,
		Deadline: r.began.Add(r.o.Wall - r.o.UsedWall), Now: r.p.now, Clock: r.nanos, Seed: r.o.Seed,
		Bridges: r.o.Bridges, DenyGlobals: r.o.DenyGlobals, Inputs: r.o.Inputs,
		ValueBytes: valueBytes, SnapshotBytes: engineBytes, Modules: r.mods, Console: r.line,
		ConsoleBytes: r.o.OutputBytes,
	}
}

// nanos is the clock of Date. The clock of the host on which a program continues may be behind that of the host
// where it stopped, and no program should see time go backwards.
func (r *run) nanos() int64 { return max(r.p.nanos(), r.clock) }

// program returns the text that the engine runs. After a restore, the text is translated again only when an error
// needs it. If the result is another text, no lines can be mapped.
func (r *run) program() *text {
	if r.text == nil {
		t, fail := r.translate(newModules(r.o, r.began))
		if fail != nil || t.digest() != r.digest {
			t = &text{author: r.o.File, translated: true}
		}
		t.file = r.file
		r.text = t
	}
	return r.text
}

// frame returns the author's position of a frame of the engine.
func (r *run) frame(f engine.Frame) (executors.Frame, bool) {
	t := r.program()
	if f.File != t.file {
		for _, p := range r.programs {
			if p.File == f.File {
				return executors.Frame{
					Function: f.Function, File: p.Author, Line: f.Line, Column: f.Column,
				}, !p.Translated
			}
		}
	}
	return t.frame(f, r.mods)
}

// errStop says that the host asked the program to stop.
var errStop = errors.New("the program is to stop")

// drive runs the program until it has ended, can never end, or has to stop.
func (r *run) drive(ctx context.Context) executors.Result {
	st, err := r.vm.Run(ctx)
	for {
		if errors.Is(err, errStop) {
			return r.pause(ctx)
		}
		if err != nil {
			return r.final(err)
		}
		switch st.Status {
		case engine.StatusDone, engine.StatusFailed:
			return r.ended(st)
		case engine.StatusDeadlock:
			return r.deadlock(st.Unhandled)
		case engine.StatusRunning:
			st, err = r.vm.Run(ctx)
		case engine.StatusWaiting:
			st, err = r.wait(ctx)
		case engine.StatusNone:
			return failResult("EngineError", "the program did not start")
		default:
			return failResult("EngineError", fmt.Sprintf("unknown status %d", st.Status))
		}
	}
}

// deadlock is the result of a program that waits forever. An unhandled error is the most likely reason.
func (r *run) deadlock(unhandled []engine.Exception) executors.Result {
	res := limitResult(profiles.ErrorDeadlock, "the program waits for a promise that nothing can settle")
	if len(unhandled) == 0 {
		return res
	}
	first := r.thrown(&unhandled[0])
	if unhandled[0].OutOfMemory() {
		return first
	}
	res.Error.Message += "; an error that nothing handled came first: " + first.Error.Name + ": " + first.Error.Message
	res.Error.Frames = first.Error.Frames
	return res
}

// wait asks the new calls of the program, takes one answer and runs on with it. If the host requests a pause
// instead of an answer, it returns errStop.
func (r *run) wait(ctx context.Context) (engine.State, error) {
	refused, err := r.ask(ctx)
	if err != nil {
		return engine.State{}, err
	}
	if refused {
		return r.vm.Run(ctx)
	}
	if !r.p.s.Pending() {
		r.put(executors.Idle{Seen: r.seen})
		r.flush()
	}
	if r.sendErr != nil {
		return engine.State{}, r.sendErr
	}
	m, err := r.p.s.Read()
	if err != nil {
		r.sendErr = err
		return engine.State{}, err
	}
	if m == (executors.Pause{Seen: r.seen, Asked: r.asked}) {
		return engine.State{}, errStop
	}
	reply, ok := m.(executors.Reply)
	if !ok {
		r.sendErr = fmt.Errorf("%w: %T while the program waits", executors.ErrProtocol, m)
		return engine.State{}, r.sendErr
	}
	return r.settle(ctx, reply)
}

// settle passes an answer to the program and runs on with it.
func (r *run) settle(ctx context.Context, reply executors.Reply) (engine.State, error) {
	call, known := r.open[reply.Call]
	if !known {
		r.sendErr = fmt.Errorf("%w: an answer to no call", executors.ErrProtocol)
		return engine.State{}, r.sendErr
	}
	delete(r.open, reply.Call)
	r.openBytes -= call.bytes
	r.seen++
	a := engine.Answer{Value: reply.Value}
	if reply.Name != "" {
		a = engine.Answer{Error: &engine.GuestError{Name: reply.Name, Message: reply.Message}}
	}
	st, err := r.vm.Turn(ctx, call.id, a)
	if errors.Is(err, engine.ErrValue) {
		st, err = r.vm.Turn(ctx, call.id, engine.Answer{Error: &engine.GuestError{
			Name: profiles.ErrorBridge, Message: "the result of the call is not a value of the encoding"}})
	}
	return st, err
}

// ask sends the calls opened since the last ask. A call that would exceed the limits of the connection is
// denied here, and refused is then true.
func (r *run) ask(ctx context.Context) (refused bool, err error) {
	for _, c := range r.vm.TakeCalls() {
		n := int64(len(c.Args))
		if n > valueBytes { // the engine counts UTF-16 units
			refused = true
			err := r.vm.Settle(ctx, c.ID, engine.Answer{Error: &engine.GuestError{Name: profiles.ErrorArgument,
				Message: fmt.Sprintf("%s: the arguments are larger than %d bytes", c.Bridge, valueBytes)}})
			if err != nil {
				return true, err
			}
			continue
		}
		room := len(r.open) < executors.MaxOpenAsks && r.openBytes+n <= executors.MaxOpenBytes &&
			r.p.s.BytesPut()-r.base+n <= executors.MaxRunBytes-executors.MaxFrameBytes
		if !room {
			refused = true
			err := r.vm.Settle(ctx, c.ID, engine.Answer{Error: &engine.GuestError{
				Name:    profiles.ErrorBudgetExceeded,
				Message: "too many open calls, or too many bytes in the calls of this run"}})
			if err != nil {
				return true, err
			}
			continue
		}
		r.asked++
		r.open[r.asked] = opened{id: c.ID, bytes: n}
		r.openBytes += n
		r.put(executors.Ask{Call: r.asked, Bridge: c.Bridge, Args: c.Args})
	}
	if refused {
		r.flush()
	}
	return refused, r.sendErr
}

// line handles one console line of the program. It counts the bytes of the text plus one, as the host does.
func (r *run) line(level, text string) {
	n := int64(len(text)) + 1
	if r.console+n > r.o.OutputBytes {
		r.dropped += int64(len(text))
		return
	}
	r.console += n
	r.put(executors.Line{Level: level, Text: text})
	r.unsent = true
}

// cpuClock is called before, after and every few milliseconds during guest code. So it is the place to send
// console lines of a busy program.
func (r *run) cpuClock() time.Duration {
	if r.unsent {
		r.flush()
	}
	return guestside.ProcessTime()
}

func (r *run) put(m executors.Message) {
	if err := r.p.s.Put(m); err != nil && r.sendErr == nil {
		r.sendErr = err
	}
}

func (r *run) flush() {
	r.unsent = false
	if err := r.p.s.Flush(); err != nil && r.sendErr == nil {
		r.sendErr = err
	}
}

// ended is the result of a program that is done or has thrown.
func (r *run) ended(st engine.State) executors.Result {
	if st.Status == engine.StatusFailed {
		return r.thrown(st.Exception)
	}
	if len(st.Unawaited) > 0 {
		return failResult("UnawaitedCall", "the program ended without awaiting "+calls(st.Unawaited))
	}
	if len(st.Unhandled) > 0 {
		return r.thrown(&st.Unhandled[0])
	}
	if int64(len(st.Value)) > r.o.ResultBytes {
		return limitResult(profiles.ErrorResultTooLarge,
			fmt.Sprintf("the value of the program has %d bytes, the limit is %d", len(st.Value), r.o.ResultBytes))
	}
	return executors.Result{End: executors.End{State: executors.StateDone, Again: true}, Value: st.Value}
}

// calls names the bridges of some calls, each once.
func calls(list []engine.Call) string {
	var names []string
	seen := map[string]bool{}
	for _, c := range list {
		if !seen[c.Bridge] && len(names) < 8 {
			seen[c.Bridge] = true
			names = append(names, c.Bridge)
		}
	}
	return fmt.Sprintf("%s (%d calls): await each call, or Promise.all of them", strings.Join(names, ", "), len(list))
}

// thrown is the result of an error that the program did not catch.
func (r *run) thrown(x *engine.Exception) executors.Result {
	if x == nil {
		return failResult("EngineError", "the program failed without an error")
	}
	res := failResult(x.Name, x.Message+absent(x, &r.o))
	for _, f := range x.Frames {
		if at, ok := r.frame(f); ok {
			res.Error.Frames = append(res.Error.Frames, at)
		}
	}
	res.Again = true
	switch {
	case x.Name == profiles.ErrorImportDenied && r.mods.denied():
		res.State = executors.StateDenied
	case x.OutOfMemory():
		res.State, res.Again = executors.StateLimit, false
		res.Error.Name = profiles.ErrorOutOfMemory
		res.Error.Message = fmt.Sprintf("memory limit of %d bytes reached", r.o.MemoryBytes)
	case x.Name == profiles.ErrorResultTooLarge && x.Frames == nil:
		res.State = executors.StateLimit
	}
	return res
}

// final is the result of an end that a program cannot catch.
func (r *run) final(err error) executors.Result {
	switch {
	case errors.Is(err, engine.ErrCPU), errors.Is(err, engine.ErrFuel):
		return limitResult(profiles.ErrorTimeout, r.cpuText())
	case errors.Is(err, engine.ErrWall):
		return limitResult(profiles.ErrorTimeout, fmt.Sprintf("wall time limit of %v reached", r.o.Wall))
	case errors.Is(err, engine.ErrMemory):
		return limitResult(profiles.ErrorOutOfMemory, fmt.Sprintf("memory limit of %d bytes reached", r.o.MemoryBytes))
	default:
		return failResult("EngineError", "the engine stopped: "+err.Error())
	}
}

func (r *run) cpuText() string { return fmt.Sprintf("processor time limit of %v reached", r.o.CPU) }

func failResult(name, message string) executors.Result {
	return executors.Result{End: executors.End{
		State: executors.StateFailed, Error: &executors.ProgramError{Name: name, Message: message}}}
}

func limitResult(name, message string) executors.Result {
	res := failResult(name, message)
	res.State = executors.StateLimit
	return res
}
