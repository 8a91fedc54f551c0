package wasmguest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/guestside"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/executors/python/wasm/wasmproto"
	"github.com/ringd/ringd/profiles"
)

// Room that an interpreter has in addition to the limits of its run.
const (
	waitingBytes = 128 << 20 // of memory, before there is a run
	folderBytes  = 32 << 20  // in files of its own
	collectBytes = 32 << 20  // of garbage, before Go collects
)

// run is the one interpreter of a process with its program. Only the interpreter's thread uses it, except for
// the fields under mu.
type run struct {
	p       *process
	hello   executors.Hello
	ready   executors.Ready
	o       wasmproto.Options
	memory  *Memory
	chance  io.Reader
	stdin   bytes.Reader
	out     [2]*printer
	left    int64 // bytes of output
	begun   bool
	isReady bool
	early   []byte // output of the interpreter itself
	usedBy  time.Duration
	trash   int64 // bytes since the last collection

	mu   sync.Mutex
	over bool // the result was sent; nothing is sent after it
}

func (p *process) newRun(ready executors.Ready, s wasmproto.Settings) (*run, error) {
	settings, err := pyproto.Hello(
		pyproto.Settings{Sites: []string{}, Preload: append([]string{}, s.Preload...)}, p.engine.Code(),
	)
	if err != nil {
		return nil, err
	}
	r := &run{p: p, ready: ready, hello: executors.Hello{Version: executors.ProtocolVersion, Settings: settings},
		memory: newMemory(waitingBytes), chance: rand.Reader}
	r.out = [2]*printer{{r: r, level: executors.LevelStdout}, {r: r, level: executors.LevelStderr}}
	return r, nil
}

// serve runs the interpreter to its end.
func (r *run) serve(ctx context.Context) error {
	greeted := false
	d := newDoor()
	d.taken, d.flush, d.sleep = r.taken, r.p.s.Flush, r.p.cfg.Sleep
	d.next = func() (executors.Message, error) {
		if !greeted {
			greeted = true
			return r.hello, nil
		}
		return r.next()
	}
	err := r.p.engine.Run(ctx, engineOptions{
		Args: []string{"-c", launcher()}, Host: d, Stdin: &r.stdin, Stdout: r.out[0], Stderr: r.out[1],
		Chance: readerOf(r.random),
		Now:    r.p.cfg.Now, Folder: executors.Workspace, FileBytes: folderBytes, Memory: r.memory, Made: r.made,
	})
	switch {
	case r.begun:
	case r.isReady: // the host needs it no longer
		return err
	default:
		text := fmt.Sprintf("the WebAssembly Python does not start: %v: %s", err, r.early)
		r.ready.Unavailable = text[:min(len(text), maxUnavailable)]
		return errors.Join(err, r.p.s.Send(r.ready))
	}
	return r.finish(r.ended(err))
}

// readerOf is a function as a reader.
type readerOf func(p []byte) (int, error)

func (f readerOf) Read(p []byte) (int, error) { return f(p) }

// random is the source of random numbers. Before there is a program they are truly random, because they seed hash
// tables. After that they are derived from the seed of the run.
func (r *run) random(p []byte) (int, error) { return r.chance.Read(p) }

// next waits for the next message of the host.
func (r *run) next() (executors.Message, error) {
	r.made(0)
	m, err := r.p.s.Read()
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case executors.Start:
		return r.begin(m)
	case executors.Reply:
		r.made(int64(3 * len(m.Value)))
		return m, nil
	default:
		return nil, fmt.Errorf("%w: %T for a program of the WebAssembly Python", executors.ErrProtocol, m)
	}
}

// begin sets the limits of the run, and passes the rest of the options to the interpreter.
func (r *run) begin(m executors.Start) (executors.Message, error) {
	o, err := executors.DecodeAs[wasmproto.Options](m.Options)
	if err != nil {
		return nil, err
	}
	if r.begun {
		return nil, fmt.Errorf("%w: a second program", executors.ErrProtocol)
	}
	own, err := json.Marshal(o.Python)
	if err != nil {
		return nil, fmt.Errorf("start a program: %w", err)
	}
	r.o, r.begun, r.left = o, true, o.OutputBytes
	r.memory.Limit(max(o.MemoryBytes, r.memory.Bytes()))
	r.chance = randv2.NewChaCha8(o.Seed)
	r.stdin.Reset(o.Stdin)
	r.usedBy = guestside.ProcessTime()
	r.watch(o.CPU)
	return executors.Start{Options: own, Source: m.Source}, nil
}

// watch reads the processor time after d, and again until the program is over.
func (r *run) watch(d time.Duration) {
	time.AfterFunc(d, func() {
		if r.isOver() {
			return
		}
		if left := r.o.CPU - (guestside.ProcessTime() - r.usedBy); left > 0 {
			r.watch(max(left, time.Millisecond))
			return
		}
		// The host then ends the process: the program computes until then. If the host cannot be told, that
		// shows on the interpreter's own thread.
		_ = r.finish(
			failed(
				executors.StateLimit, profiles.ErrorTimeout, fmt.Sprintf("processor time limit of %v reached", r.o.CPU),
			),
		)
	})
}

func (r *run) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// put queues m for the next flush, unless the result was sent.
func (r *run) put(m executors.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	return r.p.s.Put(m)
}

// finish sends the result, once.
func (r *run) finish(res executors.Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.over = true
	res.Again = false
	return r.p.s.Send(res)
}

// taken handles a message of the interpreter.
func (r *run) taken(m executors.Message) error {
	r.made(0)
	switch m := m.(type) {
	case executors.Ready:
		if r.begun {
			return fmt.Errorf("%w: ready again", executors.ErrProtocol)
		}
		r.ready.Unavailable, r.isReady = m.Unavailable, true
		return r.put(r.ready)
	case executors.Ask:
		r.made(int64(3 * len(m.Args)))
		return r.put(m)
	case executors.Idle, executors.Denied, executors.Updated: // with the last one the program begins
		return r.put(m)
	case executors.Result:
		return r.finish(r.said(m))
	default:
		return fmt.Errorf("%w: %T of the WebAssembly Python", executors.ErrProtocol, m)
	}
}

// said is the interpreter's report of the end of the program, corrected by the measurements of this process.
func (r *run) said(m executors.Result) executors.Result {
	for _, p := range r.out {
		p.end()
	}
	if m.State == executors.StateFailed && m.Error != nil && m.Error.Name == "MemoryError" && r.memory.Refused() {
		m.State, m.Error.Name, m.Error.Message = executors.StateLimit, profiles.ErrorOutOfMemory, r.memoryText()
	}
	m.PeakBytes = r.memory.Bytes()
	return m
}

func (r *run) memoryText() string {
	return fmt.Sprintf("memory limit of %d bytes reached", r.o.MemoryBytes)
}

// ended is the end of a program whose interpreter ended without a result.
func (r *run) ended(err error) executors.Result {
	var exit ExitError
	res := failed(
		executors.StateFailed, "Exited", "the program ended its interpreter without a result, as os._exit does",
	)
	switch {
	case errors.Is(err, errBroke) && r.memory.Refused():
		res = failed(executors.StateLimit, profiles.ErrorOutOfMemory, r.memoryText())
	case errors.Is(err, errBroke):
		res = failed(
			executors.StateFailed, "Crashed",
			"the interpreter crashed on this program: its stack was full, or WebAssembly trapped",
		)
	case errors.As(err, &exit):
		res.ExitCode = int(exit.Code & 0xff)
	}
	res.PeakBytes = r.memory.Bytes()
	return res
}

func failed(state executors.State, name, message string) executors.Result {
	return executors.Result{
		End: executors.End{State: state, Error: &executors.ProgramError{Name: name, Message: message}},
	}
}

// made counts garbage, and collects it on the interpreter's thread, where nothing has to wait for that.
func (r *run) made(n int64) {
	const each = 256 // added for each call
	if r.trash += n + each; r.trash > collectBytes {
		r.trash = 0
		runtime.GC()
	}
}
