package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// The limits of a child that CompileConfig does not set.
const (
	DefaultCompileWall   = 1800 * time.Millisecond // with start and end, a child takes 2 s at most
	defaultCompileMemory = 256 << 20
)

// The codes of findings about a compilation that did not end by itself. They are API.
const (
	CodeTimeout = "compile.timeout" // wall or processor time is used up
	CodeBusy    = "compile.busy"    // the host was short of something; a retry may succeed
	CodeMemory  = "compile.memory"  // memory is used up
	CodeCrashed = "compile.crashed" // the child ended without an answer, each time, on a healthy host
)

// patience is how many times the wall time two tries get together. The second try is made if the first one ended
// without the processor time that a policy may use: then the host is busy, and a good policy must not be rejected
// for that.
const patience = 4

// deaths is the number of children in a row that must end the same way, each on a healthy host,
// before the policy is blamed for an end that the host could have caused.
const deaths = 3

// maxCompileStderr bounds the stderr that is kept of a child.
const maxCompileStderr = 16 << 10

// waitDelay bounds the wait for the pipes of a killed child.
const waitDelay = 500 * time.Millisecond

// CompileConfig says how to start the child. Path and Args have no default.
type CompileConfig struct {
	Path        string        // the binary, absolute
	Args        []string      // the hidden subcommand, which calls CompileMain
	Wall        time.Duration // 0 means DefaultCompileWall
	MemoryBytes int64         // 0 means 256 MiB
}

// CompileRequest is a policy to compile. With DiagnosticsOnly the set is not sent back.
type CompileRequest struct {
	Sources         []schema.Source   `json:"sources,omitempty"`
	Files           map[string][]byte `json:"files,omitempty"` // of the modules folder, modules/x.js
	DiagnosticsOnly bool              `json:"diagnosticsOnly,omitempty"`
	JSONSchema      bool              `json:"jsonSchema,omitempty"` // also the JSON Schema of the language
	PythonWasm      bool              `json:"pythonWasm,omitempty"` // see compiler.Config
	Lint            *lint.Options     `json:"lint,omitempty"`       // nil means no lint
	// Now is the time for guardrails and for the ends of exceptions. If it is zero, guardrails
	// see null.
	Now time.Time `json:"now,omitzero"`
	// Ended turns exceptions that have ended into warnings. The caller removes their grants from
	// the set.
	Ended bool `json:"ended,omitempty"`
	// Unguarded compiles the guardrails on the policy and does not ask them. The caller asks them
	// with [CheckGuardrails].
	Unguarded bool `json:"unguarded,omitempty"`
	// Ceilings asks for the OrgPolicies and TeamPolicies as they were read.
	Ceilings bool `json:"ceilings,omitempty"`
}

// CompileResult is the result of a compilation. Set is nil if Diagnostics refuse the policy, and with
// DiagnosticsOnly.
type CompileResult struct {
	Set         *profiles.Set
	Encoded     []byte // the canonical bytes of Set
	Diagnostics schema.Diagnostics
	JSONSchema  []byte
	Ceilings    []schema.Policy
	Usage       Usage

	tests  []RegoTest
	layers []layers.LayerAnswer
}

// Usage is the processor time and memory that a child used.
type Usage struct {
	CPU       time.Duration
	PeakBytes int64 // resident; an upper bound if the child was killed
}

// Compile compiles in a child and waits for its end. Everything that the sources cause is in
// CompileResult.Diagnostics, killed children included.
//
// A child that got too little processor time is started once more, with three times the wall time
// and at the priority of its parent; the first try runs at a lower one. If that is not enough, the
// finding is CodeBusy, and the same request may succeed later. A child that ended without an answer
// (killed, no memory, no thread, no poller) is retried too: the policy is blamed only if it ends
// three children the same way, while a child that compiles nothing and takes as much memory ends
// well each time.
//
// The error is for the rest: a cancelled context, a binary that cannot be started. Compile keeps no
// state and may be called concurrently.
func Compile(ctx context.Context, cfg CompileConfig, req CompileRequest) (CompileResult, error) {
	return runCompile(ctx, cfg, compileRequest{CompileRequest: req})
}

func runCompile(ctx context.Context, cfg CompileConfig, req compileRequest) (CompileResult, error) {
	if cfg.Path == "" || len(cfg.Args) == 0 {
		return CompileResult{}, errors.New("start compile child: no binary or no subcommand is configured")
	}
	if cfg.Wall <= 0 {
		cfg.Wall = RaceSlowdown * DefaultCompileWall
	}
	if cfg.MemoryBytes <= 0 {
		cfg.MemoryBytes = defaultCompileMemory
	}
	if d, over := oversized(req); over {
		return CompileResult{Diagnostics: schema.Diagnostics{d}}, nil
	}
	may := tryLimits{wall: cfg.Wall, needs: cfg.Wall / 2, most: cpuLimit(cfg.Wall), yields: true}
	result, end, err := tryCompile(ctx, cfg, req, may)
	if end == starved && err == nil {
		// A host that is never idle must not keep a policy from coming into force. The
		// processor time that the policy may take stays the same.
		may.spent, may.wall, may.yields = may.wall, (patience-1)*may.wall, false
		result, end, err = tryCompile(ctx, cfg, req, may)
	}
	if end == unanswered && err == nil {
		return retryUnanswered(ctx, cfg, req, may, result)
	}
	return result, err
}

// retryUnanswered retries a request whose child gave no answer. It blames the policy only for an end
// that repeats on a healthy host. first is the result of the first child.
func retryUnanswered(
	ctx context.Context,
	cfg CompileConfig,
	req compileRequest,
	may tryLimits,
	first CompileResult,
) (CompileResult, error) {
	how := first.Diagnostics[0]
	for n := 1; ; n++ {
		if why, err := probeHost(ctx, cfg, may); err != nil || why != "" {
			return CompileResult{Usage: first.Usage, Diagnostics: schema.Diagnostics{hostShortage(how, why)}}, err
		}
		if n == deaths {
			return first, nil
		}
		result, end, err := tryCompile(ctx, cfg, req, may)
		if err != nil || end != unanswered {
			return result, err
		}
		if got := result.Diagnostics[0]; got.Code != how.Code || got.Msg != how.Msg {
			return CompileResult{Usage: result.Usage, Diagnostics: schema.Diagnostics{hostShortage(how, got.Msg)}}, nil
		}
	}
}

// probeHost says why this host cannot run a child now. If it can, the text is empty.
func probeHost(ctx context.Context, cfg CompileConfig, may tryLimits) (string, error) {
	well, _, err := tryCompile(ctx, cfg, diagnose(kindWell, nil), may)
	if err != nil || len(well.Diagnostics) == 0 {
		return "", err
	}
	return well.Diagnostics[0].Msg, nil
}

// hostShortage is the finding for an end that the host caused: how a child ended, and how another
// one ended that had nothing to do.
func hostShortage(how schema.Diagnostic, other string) schema.Diagnostic {
	return schema.Diagnostic{
		Pos:  how.Pos,
		Code: CodeBusy,
		Msg:  "the host is short of a resource: " + how.Msg + "; another child: " + other,
		Hint: "try again when the host has more room; ringd tries a push again by itself",
	}
}

// outcome is how a child ended, as far as the next step depends on it.
type outcome int

const (
	answered   outcome = iota // or ended by a limit, which is an answer too
	starved                   // the wall time ran out before it had the processor time that it needs
	unanswered                // the policy or the host may have caused it
)

// tryLimits are the limits of one try.
type tryLimits struct {
	wall  time.Duration
	most  time.Duration // of processor time, in whole seconds
	needs time.Duration // with less processor time the host is to blame
	spent time.Duration // wall time of the try before
	// yields lowers the priority of the child below that of the daemon's runs.
	yields bool
}

// tryCompile runs one child.
func tryCompile(
	ctx context.Context,
	cfg CompileConfig,
	req compileRequest,
	may tryLimits,
) (result CompileResult, end outcome, err error) {
	input, err := encodeRequest(cfg, may, req)
	if err != nil {
		return CompileResult{}, answered, fmt.Errorf("start compile child: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, may.wall)
	defer cancel()
	cmd := exec.CommandContext(limited, cfg.Path, cfg.Args...)
	stdout, stderr := &boundedOutput{most: maxCompileReply, cancel: cancel}, &boundedOutput{most: maxCompileStderr}
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = waitDelay
	killAsGroup(cmd)
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := startGroup(cmd, may.yields); err != nil {
		return CompileResult{}, answered, fmt.Errorf("start compile child: %w", err)
	}
	waitErr := cmd.Wait()
	if ctx.Err() != nil {
		return CompileResult{}, answered, fmt.Errorf("compile: %w", context.Cause(ctx))
	}
	usage := usageOf(cmd.ProcessState)
	if waitErr == nil {
		result, err := decodeReply(stdout.buf.Bytes(), req)
		if err == nil {
			if result.Usage.PeakBytes == 0 {
				result.Usage.PeakBytes = usage.PeakBytes
			}
			result.Usage.CPU = usage.CPU
			return result, answered, nil
		}
		stderr.buf.WriteString("\n" + err.Error())
	}
	death := postmortem{
		timedOut: errors.Is(limited.Err(), context.DeadlineExceeded),
		flooded:  stdout.over,
		err:      waitErr,
		words:    stderr.buf.String(),
		usage:    usage,
		may:      may,
	}
	d, end := death.finding(cfg, req.Sources)
	return CompileResult{Usage: usage, Diagnostics: schema.Diagnostics{d}}, end, nil
}

// oversized refuses sources that are larger than any policy, before a child is started.
func oversized(req compileRequest) (schema.Diagnostic, bool) {
	total := 0
	for _, s := range req.Sources {
		total += len(s.Data) + len(s.Name)
	}
	d := schema.Diagnostic{Pos: sourcesPos(req.Sources), Code: schema.CodeTooLarge}
	if total > maxSourceBytes {
		d.Msg = fmt.Sprintf("all sources together are above %d MiB", maxSourceBytes>>20)
		return d, true
	}
	total = 0
	for name, b := range req.Files {
		total += len(b) + len(name)
	}
	if total > maxModuleBytes {
		d.Msg = fmt.Sprintf("all modules together are above %d MiB", maxModuleBytes>>20)
		return d, true
	}
	return d, false
}

// postmortem is the evidence about a child that gave no answer.
type postmortem struct {
	timedOut bool
	flooded  bool
	err      error
	words    string
	usage    Usage
	may      tryLimits
}

// finding turns the end of a child into one finding with a remedy.
func (p postmortem) finding(cfg CompileConfig, sources []schema.Source) (d schema.Diagnostic, end outcome) {
	d.Pos = sourcesPos(sources)
	which := "the policy"
	if len(sources) > 1 {
		which = fmt.Sprintf("one of %d files", len(sources))
	}
	const lookForLoops = "look for comprehensions over comprehensions and long chains of alternatives; " +
		"a policy of 10,000 rules fits"
	switch {
	case p.flooded:
		d.Code, d.Msg = CodeMemory, which+" compiles to more than a set may hold"
		d.Hint = "split the policy"
	case outOfMemory(p.words):
		d.Code, d.Msg = CodeMemory, fmt.Sprintf("%s needs more than %d MiB to compile", which, cfg.MemoryBytes>>20)
		d.Hint = "look for text or lists that double; a policy of 10,000 rules fits many times"
		if !ownLimit(p.words) { // otherwise the policy alone is to blame
			end = unanswered
		}
	case strings.Contains(p.words, "stack overflow") || strings.Contains(p.words, "stack exceeds"):
		d.Code, d.Msg = CodeCrashed, which+" nests too deep to compile"
		d.Hint = "flatten it"
	case p.timedOut && p.usage.CPU < p.may.needs:
		d.Code, d.Msg = CodeBusy, fmt.Sprintf(
			"the host is busy: within %s the compiler got %s of processor time",
			p.may.wall,
			p.usage.CPU.Round(time.Millisecond),
		)
		if p.may.spent > 0 {
			d.Msg += fmt.Sprintf(", and within %s before not enough either", p.may.spent)
		}
		d.Hint = "try again when the host has less to do"
		end = starved
	case p.timedOut:
		d.Code, d.Msg = CodeTimeout, fmt.Sprintf("%s does not compile within %s", which, p.may.wall)
		if p.may.spent > 0 {
			d.Msg += fmt.Sprintf(" and %s of processor time on a busy host", p.usage.CPU.Round(time.Millisecond))
		}
		d.Hint = lookForLoops
	case p.usage.CPU >= p.may.most || strings.HasPrefix(p.words, errTime.Error()):
		d.Code, d.Msg = CodeTimeout, fmt.Sprintf("%s does not compile within %s of processor time", which, p.may.most)
		d.Hint = lookForLoops
	default:
		d.Code, d.Msg = CodeCrashed, "compiling "+which+" ended without an answer"
		if p.err != nil {
			d.Msg += ": " + p.err.Error()
		}
		if last := firstLine(p.words); last != "" {
			d.Msg += " (" + last + ")"
		}
		d.Hint = "take the last change back; report the file that does this"
		end = unanswered
	}
	return d, end
}

// firstLine returns the first line of stderr, short and printable.
func firstLine(words string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(words), "\n")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, line)
	if r := []rune(line); len(r) > 120 {
		return string(r[:120]) + "…"
	}
	return line
}

// sourcesPos is the position of a finding about sources as a whole: the only file, or the first CUE
// file, since no other can keep a compiler busy.
func sourcesPos(sources []schema.Source) schema.Pos {
	pos := schema.Pos{Line: 1, Column: 1}
	for i, s := range sources {
		if i == 0 {
			pos.File = s.Name
		}
		if path.Ext(s.Name) == ".cue" {
			pos.File = s.Name
			break
		}
	}
	return pos
}

// cpuLimit is the processor time of a child in whole seconds, as the kernel counts it. It is more
// than two processors have within the wall time, so the wall time ends the child first unless the
// host is busy.
func cpuLimit(wall time.Duration) time.Duration {
	return (2*wall + 2*time.Second - 1).Truncate(time.Second)
}

// boundedOutput keeps the first bytes of a stream. If cancel is set, more bytes end the child.
// Otherwise they are dropped.
type boundedOutput struct {
	buf    bytes.Buffer
	most   int
	over   bool
	cancel context.CancelFunc
}

// Write keeps the bytes that fit and never fails, so that a broken pipe does not kill the child.
func (b *boundedOutput) Write(p []byte) (int, error) {
	room := b.most - b.buf.Len()
	if len(p) > room {
		b.over = true
		b.buf.Write(p[:max(room, 0)])
		if b.cancel != nil {
			b.cancel()
		}
		return len(p), nil
	}
	return b.buf.Write(p)
}
