package worker

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
	// maxCompileStack ends runaway recursion quickly.
	maxCompileStack = 64 << 20
)

// CompileMain is the child's side. It sets the limits, reads one request from stdin, compiles and
// writes one reply to stdout. It returns the exit code. The process must not have done anything
// before, and does nothing after. now measures how long tests take.
func CompileMain(ctx context.Context, now func() time.Time, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := (&compileServer{ctx, now}).serve(stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err) // the parent reads it
		return 1
	}
	return 0
}

// compileServer does the work of a child.
type compileServer struct {
	ctx context.Context //nolint:containedctx // the process does one thing
	now func() time.Time
}

func (w *compileServer) serve(stdin io.Reader, stdout io.Writer) error {
	h, err := readFrameHeader(stdin, maxCompileRequest)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(processors)
	debug.SetMaxStack(maxCompileStack)
	debug.SetTraceback("single")
	debug.SetMemoryLimit(int64(h.one / 4 * 3))
	return withLimits(
		processLimits{MemoryBytes: h.one, Seconds: h.two},
		func() error { return w.answer(h, stdin, stdout) },
	)
}

// answer reads the request that h announces and writes the reply.
func (w *compileServer) answer(h frameHeader, stdin io.Reader, stdout io.Writer) error {
	text := make([]byte, h.body)
	if _, err := io.ReadFull(stdin, text); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var req compileRequest
	if err := json.Unmarshal(text, &req); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	found, set, err := w.do(h, req)
	if err != nil {
		return err
	}
	out, err := encodeFrame(peakBytes(), uint64(len(set)), found)
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

func (w *compileServer) do(h frameHeader, req compileRequest) (compileReply, []byte, error) {
	switch req.Kind {
	case kindCompile:
		return w.compile(req)
	case kindCheck:
		return compileReply{Diagnostics: boundFindings(checkSet(w.ctx, req))}, nil, nil
	case kindTest:
		tests, found := w.testRego(req)
		return compileReply{Diagnostics: boundFindings(found), Tests: tests}, nil, nil
	case kindLayers:
		return compileReply{Layers: answerLayers(req)}, nil, nil
	case kindWell:
		return compileReply{}, nil, w.well(h)
	default:
		return compileReply{}, nil, errors.New("read request: of no kind that is known")
	}
}

// well does what every compilation does: it takes half of the memory that a policy may take, starts
// threads, and waits.
func (w *compileServer) well(h frameHeader) error {
	took := make([]byte, h.one/2)
	for i := 0; i < len(took); i += os.Getpagesize() {
		took[i] = 1
	}
	<-time.After(time.Millisecond) // the first wait makes the poller of the runtime
	runtime.KeepAlive(took)
	empty := schema.Source{Name: "well.yaml", Data: []byte("interpreter_ring: {}\n")}
	if _, found := compileAll(
		w.ctx, compileRequest{CompileRequest: CompileRequest{Sources: []schema.Source{empty}}}); found.Refused() {
		return found
	}
	return nil
}

func (w *compileServer) compile(req compileRequest) (compileReply, []byte, error) {
	set, found := compileAll(w.ctx, req)
	r := compileReply{Diagnostics: boundFindings(found)}
	if req.JSONSchema {
		text, err := schema.JSONSchema()
		if err != nil {
			return compileReply{}, nil, fmt.Errorf("make JSON Schema: %w", err)
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

// boundFindings cuts the findings to maxFindings. The last one then says so, and refuses, so that no
// error is lost among warnings.
func boundFindings(found schema.Diagnostics) schema.Diagnostics {
	if len(found) <= maxFindings {
		return found
	}
	return append(
		found[:maxFindings:maxFindings],
		schema.Diagnostic{Pos: found[maxFindings].Pos, Code: schema.CodeTooMany,
			Msg: fmt.Sprintf("more than %d findings; the rest is not shown", maxFindings)},
	)
}

// CompileHere compiles in this process, and returns the findings of all stages. It is for trusted
// sources, such as those of a test: a hostile source ends the process. All others call [Compile].
func CompileHere(
	ctx context.Context,
	sources []schema.Source,
	files map[string][]byte,
) (profiles.Set, schema.Diagnostics) {
	return compileAll(ctx, compileRequest{CompileRequest: CompileRequest{Sources: sources, Files: files}})
}

func compileAll(ctx context.Context, req compileRequest) (profiles.Set, schema.Diagnostics) {
	read := schema.ReadPartly(req.Sources)
	policies, found := read.Policies, read.Found
	cfg := compiler.Config{
		Policies:   policies,
		Files:      req.Files,
		Sources:    req.Sources,
		PythonWasm: req.PythonWasm,
		Now:        req.Now,
		Ended:      req.Ended,
	}
	if found.Refused() || len(read.Refused) > 0 { // check the rest, and make no set of it
		return profiles.Set{}, append(found, compiler.FurtherFindings(cfg, read.Refused)...).Sort()
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
	denials := guardrail.Check(ctx, &set, nil, formatTime(req.Now), guardrail.TargetSources)
	if found = append(found, denials...).Sort(); found.Refused() {
		return profiles.Set{}, found
	}
	return set, found
}
