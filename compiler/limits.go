package compiler

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/schema"
)

// The limits that a run has when its policy does not name them. They are part
// of the compiled set, so a change here changes revisions.
const (
	DefaultCPUMillis   = 5_000
	DefaultWallMillis  = 60_000
	DefaultMemoryBytes = 64 << 20
	DefaultOutputBytes = 256 << 10
	DefaultResultBytes = 1 << 20

	DefaultProcesses   = 16
	DefaultFiles       = 64
	DefaultRefused     = 64
	DefaultPauseMillis = 7 * day

	// Python needs more room to import what it is allowed.
	DefaultPythonCPUMillis   = 30_000
	DefaultPythonMemoryBytes = 512 << 20
	DefaultPythonStackBytes  = 8 << 20

	// A script starts several programs at once, each of which has the memory and
	// the files of the limit.
	DefaultShellCPUMillis   = 30_000
	DefaultShellMemoryBytes = 512 << 20
	DefaultShellStackBytes  = 8 << 20
	DefaultShellProcesses   = 64
	DefaultShellFiles       = 256
)

// The limits that a bridge has when its policy does not name them.
const (
	DefaultConcurrent    = 16
	DefaultCallsPerRun   = 256
	DefaultSpawnPerCall  = 32
	DefaultDepth         = 3
	DefaultTotalSpawn    = 256
	DefaultArgumentBytes = 1 << 20
	DefaultBridgeResult  = 4 << 20
	DefaultTimeoutMillis = 30_000
)

// The bounds of approvals and sessions that a policy does not name.
const (
	DefaultExpiresMillis    = day
	DefaultSessionAgeMillis = day
	DefaultSessionBytes     = 32 << 20
)

// day is in milliseconds.
const day = 24 * 60 * 60 * 1000

// bound is the reach of one limit.
type bound struct{ least, most, standard int64 }

// limitKind is one field of a Limits: where it is written, where it goes, and
// its bound for each executor.
type limitKind struct {
	name string
	size func(*schema.Limits) (string, bool) // text of a size (true) or duration
	num  func(*schema.Limits) *int64
	out  func(*profiles.Limits) **int64
	for_ func(executor string) bound
}

func always(b bound) func(string) bound { return func(string) bound { return b } }

// limitKinds lists every limit of a run.
func limitKinds() []limitKind {
	each := func(of, py, sh bound) func(string) bound {
		return func(executor string) bound {
			switch executor {
			case profiles.ExecutorPython:
				return py
			case profiles.ExecutorShell:
				return sh
			default:
				return of
			}
		}
	}
	return []limitKind{
		{name: "cpu", size: func(l *schema.Limits) (string, bool) { return l.CPU, false },
			out:  func(l *profiles.Limits) **int64 { return &l.CPUMillis },
			for_: each(bound{1, day, DefaultCPUMillis}, bound{1, day, DefaultPythonCPUMillis}, bound{1, day, DefaultShellCPUMillis})},
		{name: "memory", size: func(l *schema.Limits) (string, bool) { return l.Memory, true },
			out: func(l *profiles.Limits) **int64 { return &l.MemoryBytes },
			for_: func(executor string) bound {
				switch executor {
				case profiles.ExecutorJS:
					return bound{1 << 20, profiles.MaxJSMemoryBytes, DefaultMemoryBytes}
				case profiles.ExecutorPython:
					return bound{16 << 20, 1 << 40, DefaultPythonMemoryBytes}
				case profiles.ExecutorShell:
					return bound{16 << 20, 1 << 40, DefaultShellMemoryBytes}
				default:
					return bound{1 << 20, 1 << 40, DefaultMemoryBytes}
				}
			}},
		{name: "wall", size: func(l *schema.Limits) (string, bool) { return l.Wall, false },
			out: func(l *profiles.Limits) **int64 { return &l.WallMillis }, for_: always(bound{1, 366 * day, DefaultWallMillis})},
		{name: "output", size: func(l *schema.Limits) (string, bool) { return l.Output, true },
			out: func(l *profiles.Limits) **int64 { return &l.OutputBytes }, for_: always(bound{1, 1 << 30, DefaultOutputBytes})},
		{name: "result", size: func(l *schema.Limits) (string, bool) { return l.Result, true },
			out: func(l *profiles.Limits) **int64 { return &l.ResultBytes }, for_: always(bound{1, 64 << 20, DefaultResultBytes})},
		{name: "stack", size: func(l *schema.Limits) (string, bool) { return l.Stack, true },
			out:  func(l *profiles.Limits) **int64 { return &l.StackBytes },
			for_: each(bound{16 << 10, profiles.MaxJSStackBytes, profiles.DefaultJSStackBytes}, bound{64 << 10, 64 << 20, DefaultPythonStackBytes}, bound{64 << 10, 64 << 20, DefaultShellStackBytes})},
		{name: "processes", num: func(l *schema.Limits) *int64 { return l.Processes },
			out: func(l *profiles.Limits) **int64 { return &l.Processes }, for_: each(bound{1, 4096, DefaultProcesses}, bound{1, 4096, DefaultProcesses}, bound{1, 4096, DefaultShellProcesses})},
		{name: "files", num: func(l *schema.Limits) *int64 { return l.Files },
			out: func(l *profiles.Limits) **int64 { return &l.Files }, for_: each(bound{0, 1 << 20, DefaultFiles}, bound{0, 1 << 20, DefaultFiles}, bound{0, 1 << 20, DefaultShellFiles})},
		{name: "refusedCalls", num: func(l *schema.Limits) *int64 { return l.RefusedCalls },
			out: func(l *profiles.Limits) **int64 { return &l.RefusedCalls }, for_: always(bound{0, 100_000, DefaultRefused})},
		{name: "pause", size: func(l *schema.Limits) (string, bool) { return l.Pause, false },
			out: func(l *profiles.Limits) **int64 { return &l.PauseMillis }, for_: always(bound{1000, 366 * day, DefaultPauseMillis})},
	}
}

// limits compiles an executor's limits under those of the agent. A field of
// the executor stands alone; an absent one takes the agent's, then the default,
// which never exceeds the agent's. An executor's limit above the agent's is an
// error: nothing is clamped in silence.
func (d *document) limits(executor, path string, own *schema.Limits) profiles.Limits {
	var out profiles.Limits
	for _, k := range limitKinds() {
		b := k.for_(executor)
		value, written := d.limit(k, own, path, b)
		over, ceiling := d.limit(k, d.policy.Spec.Limits, "spec.limits", bound{1, math.MaxInt64, 0}.widened(k))
		switch {
		case written && ceiling && value > over:
			at, other := d.origin(path+"."+k.name), d.origin("spec.limits."+k.name)
			d.add(at, schema.Diagnostic{Code: CodeLimitAbove, Related: []schema.Pos{other.Pos},
				Msg: fmt.Sprintf("is above the agent's own limit at %s", other.Pos)})
		case !written && ceiling && over > b.most && (d.ceiling || d.origin("spec.limits."+k.name).Layer != ""):
			value = b.most // a ceiling is for every executor, and this one has one of its own
		case !written && ceiling && (over < b.least || over > b.most):
			hint := ""
			if over > b.most {
				hint = fmt.Sprintf("give %s a limit of its own: spec.executors.%[1]s.limits.%s", executor, k.name)
			}
			d.report("spec.limits."+k.name, CodeLimit, hint, "is outside what %s takes: %s", executor, b.reach(k))
		case !written && ceiling:
			value = over
		case !written:
			value = b.standard
		}
		*k.out(&out) = &value
	}
	return out
}

// agentLimits compiles the limits over all executors. What the policy does not
// name is the largest that one of the executors has.
func (d *document) agentLimits(executors ...*profiles.Limits) profiles.Limits {
	var out profiles.Limits
	for _, k := range limitKinds() {
		value, written := d.limit(k, d.policy.Spec.Limits, "spec.limits", bound{1, math.MaxInt64, 0}.widened(k))
		if !written {
			value = k.for_("").standard
			for i, l := range executors {
				if v := **k.out(l); i == 0 || v > value {
					value = v
				}
			}
		}
		*k.out(&out) = &value
	}
	return out
}

// widened gives the reach of a limit over every executor.
func (b bound) widened(k limitKind) bound {
	for i, executor := range []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell} {
		one := k.for_(executor)
		if i == 0 {
			b.least, b.most = one.least, one.most
		}
		b.least, b.most = min(b.least, one.least), max(b.most, one.most)
	}
	return b
}

// limit reads one limit. Findings about spec.limits come up once for every
// executor; sorting drops the repeats.
func (d *document) limit(k limitKind, l *schema.Limits, path string, b bound) (int64, bool) {
	if l == nil {
		return 0, false
	}
	at := path + "." + k.name
	if k.num != nil {
		n := k.num(l)
		if n == nil {
			return 0, false
		}
		return d.inside(at, *n, b, b.reach(k)), true
	}
	text, isSize := k.size(l)
	if text == "" {
		return 0, false
	}
	var n int64
	var ok bool
	if isSize {
		n, ok = d.size(at, text)
	} else {
		n, ok = d.duration(at, text)
	}
	if !ok {
		return b.standard, true
	}
	return d.inside(at, n, b, b.reach(k)), true
}

func (d *document) inside(path string, n int64, b bound, reach string) int64 {
	if n < b.least || n > b.most {
		d.report(path, CodeLimit, "", "must be %s", reach)
		return b.least
	}
	return n
}

func (b bound) reach(k limitKind) string {
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	if k.size != nil {
		if _, isSize := k.size(&schema.Limits{}); isSize {
			show = schema.ShowSize
		} else {
			show = schema.ShowDuration
		}
	}
	return "from " + show(b.least) + " to " + show(b.most)
}

// size reads a size such as 64MiB.
func (d *document) size(path, s string) (int64, bool) {
	n, ok := schema.Size(s)
	if !ok {
		d.report(path, CodeSize, "", "%q is not a size such as 64MiB", clip(s))
	}
	return n, ok
}

// duration reads a duration such as 30s, in milliseconds.
func (d *document) duration(path, s string) (int64, bool) {
	n, ok := schema.Duration(s)
	if !ok {
		d.report(path, CodeDuration, "", "%q is not a duration such as 500ms, 30s, 5m, 2h or 1d", clip(s))
	}
	return n, ok
}

func clip(s string) string { return canonjson.Truncate(s, 60) }
