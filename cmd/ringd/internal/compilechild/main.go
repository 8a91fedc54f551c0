package compilechild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/childproc"
	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/compiler/headroom"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

const (
	// processors of a child: one to work, one to collect garbage.
	processors = 2
	// maxStack makes runaway recursion a quick death.
	maxStack = 64 << 20
)

// Main is the child's side: it takes the limits, reads one request from stdin,
// compiles and writes one reply to stdout. It returns the exit code. Its
// process must not have done anything before, and does nothing after. now tells the
// time, for how long tests take.
func Main(ctx context.Context, now func() time.Time, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := (&worker{ctx, now}).serve(stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err) // nobody is left to tell
		return 1
	}
	return 0
}

// worker does the work of a child.
type worker struct {
	ctx context.Context //nolint:containedctx // the process does one thing
	now func() time.Time
}

func (w *worker) serve(stdin io.Reader, stdout io.Writer) error {
	h, err := readHeader(stdin, maxRequest)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(processors)
	debug.SetMaxStack(maxStack)
	debug.SetTraceback("single")
	debug.SetMemoryLimit(int64(h.one / 4 * 3))
	return childproc.Under(childproc.Limits{MemoryBytes: h.one, Seconds: h.two}, func() error { return w.answer(h, stdin, stdout) })
}

// answer reads the request that h announces and writes the reply.
func (w *worker) answer(h header, stdin io.Reader, stdout io.Writer) error {
	text := make([]byte, h.body)
	if _, err := io.ReadFull(stdin, text); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var req request
	if err := json.Unmarshal(text, &req); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	found, set, err := w.do(h, req)
	if err != nil {
		return err
	}
	out, err := frame(childproc.PeakBytes(), uint64(len(set)), found)
	if err != nil {
		return fmt.Errorf("write reply: %w", err)
	}
	for _, part := range [][]byte{out, set} {
		if _, err := stdout.Write(part); err != nil {
			return fmt.Errorf("write reply: %w", err)
		}
	}
	return nil
}

func (w *worker) do(h header, req request) (reply, []byte, error) {
	switch req.Kind {
	case kindCompile:
		return w.compile(req)
	case kindCheck:
		return reply{Diagnostics: bound(checkSet(w.ctx, req))}, nil, nil
	case kindTest:
		tests, found := w.testRego(req)
		return reply{Diagnostics: bound(found), Tests: tests}, nil, nil
	case kindLayers:
		return reply{Layers: askLayers(req)}, nil, nil
	case kindWell:
		return reply{}, nil, w.well(h)
	default:
		return reply{}, nil, errors.New("read request: of no kind that is known")
	}
}

// well does what every compilation does: it takes memory, most of what a policy may
// take, has threads, and waits.
func (w *worker) well(h header) error {
	took := make([]byte, h.one/2)
	for i := 0; i < len(took); i += os.Getpagesize() {
		took[i] = 1
	}
	<-time.After(time.Millisecond) // what the runtime waits with is made by the first wait
	runtime.KeepAlive(took)
	if _, found := compileAll(w.ctx, request{Sources: []schema.Source{{Name: "well.yaml", Data: []byte("interpreter_ring: {}\n")}}}); found.Refused() {
		return found
	}
	return nil
}

func (w *worker) compile(req request) (reply, []byte, error) {
	set, found := compileAll(w.ctx, req)
	r := reply{Diagnostics: bound(found)}
	if req.JSONSchema {
		text, err := schema.JSONSchema()
		if err != nil {
			return reply{}, nil, fmt.Errorf("make JSON Schema: %w", err)
		}
		r.JSONSchema = text
	}
	if req.Ceilings && !r.Diagnostics.Refused() {
		policies, _ := schema.Decode(req.Sources)
		r.Ceilings = headroom.Ceilings(policies)
	}
	if r.Diagnostics.Refused() || req.DiagnosticsOnly {
		return r, nil, nil
	}
	encoded, err := set.Encode()
	return r, encoded, err
}

// maxFindings bounds what a child reports, over all files.
const maxFindings = 5_000

// bound cuts the findings to what a reply holds. The last one then says so,
// and refuses, so that no error is lost among warnings.
func bound(found schema.Diagnostics) schema.Diagnostics {
	if len(found) <= maxFindings {
		return found
	}
	return append(found[:maxFindings:maxFindings], schema.Diagnostic{Pos: found[maxFindings].Pos, Code: schema.CodeTooMany,
		Msg: fmt.Sprintf("more than %d findings; the rest is not shown", maxFindings)})
}

// Compile reads and compiles in this process, with every finding of all stages. It
// is for sources that are known, such as those of a test: a hostile one takes the
// process with it. Everybody else calls Run.
func Compile(ctx context.Context, sources []schema.Source, files map[string][]byte) (profiles.Set, schema.Diagnostics) {
	return compileAll(ctx, request{Sources: sources, Files: files})
}

func compileAll(ctx context.Context, req request) (profiles.Set, schema.Diagnostics) {
	read := schema.ReadPartly(req.Sources)
	policies, found := read.Policies, read.Found
	cfg := compiler.Config{Policies: policies, Files: req.Files, Sources: req.Sources, PythonWasm: req.PythonWasm, Now: req.Now, Ended: req.Ended}
	if found.Refused() || len(read.Refused) > 0 { // what is left is looked at, and no set is made of it
		return profiles.Set{}, append(found, compiler.Partly(cfg, read.Refused)...).Sort()
	}
	set, more := compiler.Compile(cfg)
	if req.Lint != nil {
		more = append(more, lint.Check(lint.Config{Policies: policies, Options: *req.Lint})...)
	}
	if found = append(found, more...).Sort(); found.Refused() {
		return profiles.Set{}, found
	}
	if req.Unguarded {
		return set, found
	}
	if found = append(found, guardrail.Check(ctx, &set, nil, stamp(req.Now), guardrail.TargetSources)...).Sort(); found.Refused() {
		return profiles.Set{}, found
	}
	return set, found
}
