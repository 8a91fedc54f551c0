// Package compilechild compiles policies in a process that can be killed. Evaluating
// CUE cannot be cancelled and an 80-byte source can run for ever, so sources
// are read by a child of the same binary, with an empty environment, limits on
// processor time, memory and wall time, and nothing open but its three pipes.
//
// Whatever the sources do to the child, Run returns: with a set, with findings,
// or with one finding that says which limit ended it. The daemon, the commands
// and their tests call Run; the hidden subcommand calls Main.
package compilechild

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

	"github.com/ringd/ringd/cmd/ringd/internal/childproc"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// The limits of a child that its Config does not set.
const (
	DefaultWall        = 1800 * time.Millisecond // with start and end, a child takes 2 s at most
	defaultMemoryBytes = 256 << 20
)

// The codes of findings about a compilation that did not end by itself. They
// are API.
const (
	CodeTimeout = "compile.timeout" // wall or processor time is used up
	CodeBusy    = "compile.busy"    // the host gave the child too little of something; it may do so later
	CodeMemory  = "compile.memory"  // memory is used up
	CodeCrashed = "compile.crashed" // the child ended without an answer, each time, on a host that is well
)

// patience is how many times its wall time a policy gets, in two tries, when the first
// one ended without the processor time a policy may take: then the host is to blame,
// and an honest policy is not to be refused for it. Nothing takes longer than that.
const patience = 4

// deaths is how many children in a row have to end the same way, each on a host that is
// well, before the policy is blamed for an end that the host may have caused as well.
const deaths = 3

// maxStderr bounds what is kept of a dying child's words.
const maxStderr = 16 << 10

// waitDelay bounds the wait for the pipes of a child that was killed.
const waitDelay = 500 * time.Millisecond

// Config says how to start the child. Path and Args have no default.
type Config struct {
	Path        string        // the binary, absolute
	Args        []string      // what makes it call Main: the hidden subcommand
	Wall        time.Duration // 0: DefaultWall
	MemoryBytes int64         // 0: DefaultMemoryBytes
}

// Request is what to compile. With DiagnosticsOnly the set is not sent back.
type Request struct {
	Sources         []schema.Source
	Files           map[string][]byte // of the modules folder, modules/x.js
	DiagnosticsOnly bool
	JSONSchema      bool          // also the JSON Schema of the language
	PythonWasm      bool          // see compiler.Config
	Lint            *lint.Options // also what is unwise; nil: nothing of it
	// Now is what guardrails see as the time, and by which exceptions have ended; zero:
	// nobody says.
	Now time.Time
	// Ended makes warnings of exceptions that have ended: the caller takes out of the
	// set what they grant.
	Ended bool
	// Unguarded leaves the guardrails on the policy to Check: they are compiled and
	// not asked.
	Unguarded bool
	// Ceilings asks for the OrgPolicies and TeamPolicies as they were read.
	Ceilings bool
}

func (r Request) wire() request {
	return request{Kind: kindCompile, Sources: r.Sources, Files: r.Files, DiagnosticsOnly: r.DiagnosticsOnly, JSONSchema: r.JSONSchema,
		PythonWasm: r.PythonWasm, Lint: r.Lint, Now: r.Now, Ended: r.Ended, Unguarded: r.Unguarded, Ceilings: r.Ceilings}
}

// Result is the answer of a compilation. Set is nil when Diagnostics refuse the
// policy, and with DiagnosticsOnly.
type Result struct {
	Set         *profiles.Set
	Encoded     []byte // the canonical bytes of Set
	Diagnostics schema.Diagnostics
	JSONSchema  []byte
	Ceilings    []schema.Policy
	Usage       Usage

	tests  []RegoTest
	layers []layers.LayerAnswer
}

// Usage is what a child took.
type Usage struct {
	CPU       time.Duration
	PeakBytes int64 // resident; of a killed child no more than an upper bound
}

// Run compiles in a child and waits for its end. Everything the sources cause
// is in Result.Diagnostics, killed children included. A child that a busy host
// starved is started again, once, with three times the wall time and the priority of
// its parent, behind which it runs the first time; if that is not enough either, the
// finding is CodeBusy, and the same request may succeed later. So it is for a child that
// ended without an answer (killed, no memory, no thread, nothing to wait with): the
// policy is blamed only when it ends three children the same way, while a child that
// compiles nothing and takes as much memory ends well each time. The error is for the
// rest: a cancelled context, a binary that cannot be started. Run keeps nothing and
// may be called concurrently.
func Run(ctx context.Context, cfg Config, req Request) (Result, error) {
	return run(ctx, cfg, req.wire())
}

func run(ctx context.Context, cfg Config, req request) (Result, error) {
	if cfg.Path == "" || len(cfg.Args) == 0 {
		return Result{}, errors.New("start compile child: no binary or no subcommand is configured")
	}
	if cfg.Wall <= 0 {
		cfg.Wall = childproc.Slowdown * DefaultWall
	}
	if cfg.MemoryBytes <= 0 {
		cfg.MemoryBytes = defaultMemoryBytes
	}
	if d, over := oversized(req); over {
		return Result{Diagnostics: schema.Diagnostics{d}}, nil
	}
	may := terms{wall: cfg.Wall, needs: cfg.Wall / 2, most: cpuLimit(cfg.Wall), yields: true}
	result, end, err := try(ctx, cfg, req, may)
	if end == starved && err == nil {
		// A host that is never idle must not keep a policy from coming in force. What
		// the policy may take of its processors stays the same.
		may.spent, may.wall, may.yields = may.wall, (patience-1)*may.wall, false
		result, end, err = try(ctx, cfg, req, may)
	}
	if end == unanswered && err == nil {
		return inquire(ctx, cfg, req, may, result)
	}
	return result, err
}

// inquire tries again what ended a child that gave no answer, and blames the policy only
// for what a host that is well sees each time. first is what the first child ended with.
func inquire(ctx context.Context, cfg Config, req request, may terms, first Result) (Result, error) {
	how := first.Diagnostics[0]
	for n := 1; ; n++ {
		if why, err := unwell(ctx, cfg, may); err != nil || why != "" {
			return Result{Usage: first.Usage, Diagnostics: schema.Diagnostics{short(how, why)}}, err
		}
		if n == deaths {
			return first, nil
		}
		result, end, err := try(ctx, cfg, req, may)
		if err != nil || end != unanswered {
			return result, err
		}
		if got := result.Diagnostics[0]; got.Code != how.Code || got.Msg != how.Msg {
			return Result{Usage: result.Usage, Diagnostics: schema.Diagnostics{short(how, got.Msg)}}, nil
		}
	}
}

// unwell says why this host cannot run a child now; "": it can.
func unwell(ctx context.Context, cfg Config, may terms) (string, error) {
	well, _, err := try(ctx, cfg, request{Kind: kindWell, DiagnosticsOnly: true}, may)
	if err != nil || len(well.Diagnostics) == 0 {
		return "", err
	}
	return well.Diagnostics[0].Msg, nil
}

// short is the finding for an end that is the host's doing: how a child ended, and how
// another one did that had nothing to do.
func short(how schema.Diagnostic, other string) schema.Diagnostic {
	return schema.Diagnostic{Pos: how.Pos, Code: CodeBusy, Msg: "the host is short of something: " + how.Msg + "; another child: " + other,
		Hint: "try again when the host has more room; ringd tries a push again by itself"}
}

// ending is how a child ended, as far as the next step depends on it.
type ending int

const (
	answered   ending = iota // or a limit ended it, which is an answer too
	starved                  // wall time ran out before it had the processor time that it needs
	unanswered               // the policy or the host may have caused it
)

// terms are what one try may take.
type terms struct {
	wall  time.Duration
	most  time.Duration // of processor time, in whole seconds
	needs time.Duration // less processor time than this blames the host
	spent time.Duration // by the try before
	// yields leaves the processors to whoever else wants them: the runs of the daemon
	// that has a push compiled.
	yields bool
}

// try runs one child.
func try(ctx context.Context, cfg Config, req request, may terms) (result Result, end ending, err error) {
	input, err := encodeRequest(cfg, may, req)
	if err != nil {
		return Result{}, answered, fmt.Errorf("start compile child: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, may.wall)
	defer cancel()
	cmd := exec.CommandContext(limited, cfg.Path, cfg.Args...)
	stdout, stderr := &bounded{most: maxReply, cancel: cancel}, &bounded{most: maxStderr}
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = waitDelay
	childproc.Group(cmd)
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := childproc.Start(cmd, may.yields); err != nil {
		return Result{}, answered, fmt.Errorf("start compile child: %w", err)
	}
	waitErr := cmd.Wait()
	if ctx.Err() != nil {
		return Result{}, answered, fmt.Errorf("compile: %w", context.Cause(ctx))
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
	death := postmortem{timedOut: errors.Is(limited.Err(), context.DeadlineExceeded), flooded: stdout.over, err: waitErr, words: stderr.buf.String(), usage: usage, may: may}
	d, end := death.finding(cfg, req.Sources)
	return Result{Usage: usage, Diagnostics: schema.Diagnostics{d}}, end, nil
}

// oversized refuses what is larger than any policy before a child is started.
func oversized(req request) (schema.Diagnostic, bool) {
	total := 0
	for _, s := range req.Sources {
		total += len(s.Data) + len(s.Name)
	}
	d := schema.Diagnostic{Pos: suspect(req.Sources), Code: schema.CodeTooLarge}
	if total > maxSources {
		d.Msg = fmt.Sprintf("all sources together are above %d MiB", maxSources>>20)
		return d, true
	}
	total = 0
	for name, b := range req.Files {
		total += len(b) + len(name)
	}
	if total > maxFiles {
		d.Msg = fmt.Sprintf("all modules together are above %d MiB", maxFiles>>20)
		return d, true
	}
	return d, false
}

// postmortem is what is known about a child that gave no answer.
type postmortem struct {
	timedOut bool
	flooded  bool
	err      error
	words    string
	usage    Usage
	may      terms
}

// finding puts a death into one finding with its remedy.
func (p postmortem) finding(cfg Config, sources []schema.Source) (d schema.Diagnostic, end ending) {
	d.Pos = suspect(sources)
	which := "the policy"
	if len(sources) > 1 {
		which = fmt.Sprintf("one of %d files", len(sources))
	}
	switch {
	case p.flooded:
		d.Code, d.Msg = CodeMemory, which+" compiles to more than a set may hold"
		d.Hint = "split the policy"
	case childproc.RanOut(p.words):
		d.Code, d.Msg = CodeMemory, fmt.Sprintf("%s needs more than %d MiB to compile", which, cfg.MemoryBytes>>20)
		d.Hint = "look for text or lists that double; a policy of 10,000 rules fits many times"
		if !childproc.AskedTooMuch(p.words) { // else no host has as much
			end = unanswered
		}
	case strings.Contains(p.words, "stack overflow") || strings.Contains(p.words, "stack exceeds"):
		d.Code, d.Msg = CodeCrashed, which+" nests too deep to compile"
		d.Hint = "flatten it"
	case p.timedOut && p.usage.CPU < p.may.needs:
		d.Code, d.Msg = CodeBusy, fmt.Sprintf("the host is busy: within %s the compiler got %s of processor time", p.may.wall, p.usage.CPU.Round(time.Millisecond))
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
		d.Hint = "look for comprehensions over comprehensions and long chains of alternatives; a policy of 10,000 rules fits"
	case p.usage.CPU >= p.may.most || strings.HasPrefix(p.words, childproc.ErrTime.Error()):
		d.Code, d.Msg = CodeTimeout, fmt.Sprintf("%s does not compile within %s of processor time", which, p.may.most)
		d.Hint = "look for comprehensions over comprehensions and long chains of alternatives; a policy of 10,000 rules fits"
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

// firstLine gives what a dying child said first, short and printable.
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

// suspect is the place of a finding about sources as a whole: the only file, or
// the first CUE file, since no other can keep a compiler busy.
func suspect(sources []schema.Source) schema.Pos {
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

// cpuLimit is the processor time of a child, in whole seconds as the kernel counts it:
// more than two processors have within its wall time, which ends it first unless the
// host was busy.
func cpuLimit(wall time.Duration) time.Duration {
	return (2*wall + 2*time.Second - 1).Truncate(time.Second)
}

// bounded keeps the first bytes of a stream; more than it takes ends the child
// when there is a cancel, and is dropped otherwise.
type bounded struct {
	buf    bytes.Buffer
	most   int
	over   bool
	cancel context.CancelFunc
}

// Write takes what fits and never fails, so that a child is not killed by a
// pipe it may not know of.
func (b *bounded) Write(p []byte) (int, error) {
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
