package compiler

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/schema"
)

// Default limits of a run. They are part of the compiled set, so a change here changes revisions.
const (
	defaultCPUMillis   = 5_000
	defaultWallMillis  = 60_000
	defaultMemoryBytes = 64 << 20
	defaultOutputBytes = 256 << 10
	defaultResultBytes = 1 << 20

	defaultProcesses   = 16
	defaultFiles       = 64
	defaultRefused     = 64
	defaultPauseMillis = 7 * day

	// Python needs more memory to import the allowed modules.
	defaultPythonCPUMillis   = 30_000
	defaultPythonMemoryBytes = 512 << 20
	defaultPythonStackBytes  = 8 << 20

	// A script runs several programs at once. Each of them gets the memory and file limits.
	defaultShellCPUMillis   = 30_000
	defaultShellMemoryBytes = 512 << 20
	defaultShellStackBytes  = 8 << 20
	defaultShellProcesses   = 64
	defaultShellFiles       = 256
)

// Default limits of a bridge. The default of a queue has no bound but the number of calls.
const (
	mostCount            = 1_000_000
	defaultConcurrent    = 16
	defaultCallsPerRun   = 256
	defaultSpawnPerCall  = 32
	defaultDepth         = 3
	defaultTotalSpawn    = 256
	defaultArgumentBytes = 1 << 20
	defaultBridgeResult  = 4 << 20
	defaultTimeoutMillis = 30_000
)

// Defaults of approvals and sessions.
const (
	defaultExpiresMillis    = day
	defaultSessionAgeMillis = day
	defaultSessionBytes     = 32 << 20
)

// day is a day in milliseconds.
const day = 24 * 60 * 60 * 1000

// bound is the range of one limit and its default.
type bound struct{ least, most, standard int64 }

// limitKind is one limit: its field in the source, its field in the profile, and its bound for each executor.
type limitKind struct {
	name string
	size func(*schema.Limits) (string, bool) // the text, and true for a size, false for a duration
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
			out: func(l *profiles.Limits) **int64 { return &l.CPUMillis },
			for_: each(bound{1, day, defaultCPUMillis}, bound{1, day, defaultPythonCPUMillis},
				bound{1, day, defaultShellCPUMillis})},
		{name: "memory", size: func(l *schema.Limits) (string, bool) { return l.Memory, true },
			out: func(l *profiles.Limits) **int64 { return &l.MemoryBytes },
			for_: func(executor string) bound {
				switch executor {
				case profiles.ExecutorJS:
					return bound{1 << 20, profiles.MaxJSMemoryBytes, defaultMemoryBytes}
				case profiles.ExecutorPython:
					return bound{16 << 20, 1 << 40, defaultPythonMemoryBytes}
				case profiles.ExecutorShell:
					return bound{16 << 20, 1 << 40, defaultShellMemoryBytes}
				default:
					return bound{1 << 20, 1 << 40, defaultMemoryBytes}
				}
			}},
		{name: "wall", size: func(l *schema.Limits) (string, bool) { return l.Wall, false },
			out:  func(l *profiles.Limits) **int64 { return &l.WallMillis },
			for_: always(bound{1, 366 * day, defaultWallMillis})},
		{name: "output", size: func(l *schema.Limits) (string, bool) { return l.Output, true },
			out:  func(l *profiles.Limits) **int64 { return &l.OutputBytes },
			for_: always(bound{1, 1 << 30, defaultOutputBytes})},
		{name: "result", size: func(l *schema.Limits) (string, bool) { return l.Result, true },
			out:  func(l *profiles.Limits) **int64 { return &l.ResultBytes },
			for_: always(bound{1, 64 << 20, defaultResultBytes})},
		{name: "stack", size: func(l *schema.Limits) (string, bool) { return l.Stack, true },
			out: func(l *profiles.Limits) **int64 { return &l.StackBytes },
			for_: each(bound{16 << 10, profiles.MaxJSStackBytes, profiles.DefaultJSStackBytes},
				bound{64 << 10, 64 << 20, defaultPythonStackBytes}, bound{64 << 10, 64 << 20, defaultShellStackBytes})},
		{name: "processes", num: func(l *schema.Limits) *int64 { return l.Processes },
			out: func(l *profiles.Limits) **int64 { return &l.Processes },
			for_: each(bound{1, 4096, defaultProcesses}, bound{1, 4096, defaultProcesses},
				bound{1, 4096, defaultShellProcesses})},
		{name: "files", num: func(l *schema.Limits) *int64 { return l.Files },
			out: func(l *profiles.Limits) **int64 { return &l.Files },
			for_: each(bound{0, 1 << 20, defaultFiles}, bound{0, 1 << 20, defaultFiles},
				bound{0, 1 << 20, defaultShellFiles})},
		{name: "refusedCalls", num: func(l *schema.Limits) *int64 { return l.RefusedCalls },
			out:  func(l *profiles.Limits) **int64 { return &l.RefusedCalls },
			for_: always(bound{0, 100_000, defaultRefused})},
		{name: "pause", size: func(l *schema.Limits) (string, bool) { return l.Pause, false },
			out:  func(l *profiles.Limits) **int64 { return &l.PauseMillis },
			for_: always(bound{1000, 366 * day, defaultPauseMillis})},
	}
}

// limiter compiles the limits of a document.
type limiter struct{ *document }

// limits compiles the limits of one executor. If the executor has no value for a limit, the agent's value
// applies. If the agent has none either, the default applies. An executor's value above the agent's value is
// an error, because a limit is never lowered silently.
func (d limiter) limits(executor, path string, own *schema.Limits) profiles.Limits {
	var out profiles.Limits
	for _, k := range limitKinds() {
		b := k.for_(executor)
		value, written := d.limit(k, own, path, b)
		over, ceiling := d.limit(k, d.policy.Spec.Limits, "spec.limits", bound{1, math.MaxInt64, 0}.widened(k))
		switch {
		case written && ceiling && value > over:
			at, other := d.origin(path+"."+k.name), d.origin("spec.limits."+k.name)
			d.add(at, schema.Diagnostic{Code: codeLimitAbove, Related: []schema.Pos{other.Pos},
				Msg: fmt.Sprintf("is above the agent's own limit at %s", other.Pos)})
		case !written && ceiling && over > b.most && (d.ceiling || d.origin("spec.limits."+k.name).Layer != ""):
			value = b.most // the limit of a ceiling applies to every executor, and this one has its own maximum
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

// agentLimits compiles the agent's own limits, which apply to all of its executors. If the policy does not
// set a limit, the largest of the executors' limits applies.
func (d limiter) agentLimits(executors ...*profiles.Limits) profiles.Limits {
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

// widened returns a range that contains the ranges of a limit for all executors.
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

// limit reads one limit. It reads spec.limits once for each executor, so it may report one mistake there
// several times. Sorting drops the duplicates.
func (d limiter) limit(k limitKind, l *schema.Limits, path string, b bound) (int64, bool) {
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

func (d limiter) inside(path string, n int64, b bound, reach string) int64 {
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
		d.report(path, codeSize, "", "%q is not a size such as 64MiB", clip(s))
	}
	return n, ok
}

// duration reads a duration such as 30s, in milliseconds.
func (d *document) duration(path, s string) (int64, bool) {
	n, ok := schema.Duration(s)
	if !ok {
		d.report(path, codeDuration, "", "%q is not a duration such as 500ms, 30s, 5m, 2h or 1d", clip(s))
	}
	return n, ok
}

func clip(s string) string { return canonjson.Truncate(s, 60) }
