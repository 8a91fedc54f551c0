// Package budget counts what a run uses up: its limits, its calls, and the subagents of the
// tree that it belongs to. It refuses a call that would exceed a limit. It does not read
// policies: the interpreter ring passes the numbers.
package budget

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Effective returns the stricter of two limits, field by field. A field that neither sets is
// zero, which grants nothing: the result has no nil field but PauseMillis.
func Effective(a, b profiles.Limits) profiles.Limits {
	smaller := func(x, y *int64) *int64 {
		var v int64
		switch {
		case x != nil && y != nil:
			v = min(*x, *y)
		case x != nil:
			v = *x
		case y != nil:
			v = *y
		}
		v = max(v, 0)
		return &v
	}
	return profiles.Limits{
		CPUMillis:    smaller(a.CPUMillis, b.CPUMillis),
		MemoryBytes:  smaller(a.MemoryBytes, b.MemoryBytes),
		WallMillis:   smaller(a.WallMillis, b.WallMillis),
		OutputBytes:  smaller(a.OutputBytes, b.OutputBytes),
		ResultBytes:  smaller(a.ResultBytes, b.ResultBytes),
		StackBytes:   smaller(a.StackBytes, b.StackBytes),
		Processes:    smaller(a.Processes, b.Processes),
		Files:        smaller(a.Files, b.Files),
		RefusedCalls: smaller(a.RefusedCalls, b.RefusedCalls),
		PauseMillis:  shortest(a.PauseMillis, b.PauseMillis),
	}
}

// shortest returns the shorter pause. Nil is the default of the keeper of pauses, not zero:
// policies that were compiled before there were pauses have none.
func shortest(x, y *int64) *int64 {
	if x == nil || (y != nil && *y < *x) {
		return y
	}
	return x
}

// Stricter returns the stricter of two bridge limits, field by field.
func Stricter(a, b profiles.BridgeLimits) profiles.BridgeLimits {
	out := profiles.BridgeLimits{
		Concurrent:    min(a.Concurrent, b.Concurrent),
		Queue:         min(a.Queue, b.Queue),
		CallsPerRun:   min(a.CallsPerRun, b.CallsPerRun),
		SpawnPerCall:  min(a.SpawnPerCall, b.SpawnPerCall),
		Depth:         min(a.Depth, b.Depth),
		TotalSpawn:    min(a.TotalSpawn, b.TotalSpawn),
		ArgumentBytes: min(a.ArgumentBytes, b.ArgumentBytes),
		ResultBytes:   min(a.ResultBytes, b.ResultBytes),
		TimeoutMillis: min(a.TimeoutMillis, b.TimeoutMillis),
	}
	switch { // a bridge that starts no subagents in one generation has the limits of the other
	case !Spawns(a):
		out.SpawnPerCall, out.Depth, out.TotalSpawn = b.SpawnPerCall, b.Depth, b.TotalSpawn
	case !Spawns(b):
		out.SpawnPerCall, out.Depth, out.TotalSpawn = a.SpawnPerCall, a.Depth, a.TotalSpawn
	}
	return out
}

// Spawns reports whether a bridge starts subagents, which any of the three limits says.
// Calls of other bridges do not count as subagents, and no run can be started for them.
func Spawns(l profiles.BridgeLimits) bool {
	return l.SpawnPerCall != 0 || l.Depth != 0 || l.TotalSpawn != 0
}

// Tree counts the subagents of a first run and of all runs below it. It is safe for
// concurrent use.
type Tree struct {
	mu    sync.Mutex // guards total
	total int64
}

// NewTree returns a tree in which total agents were started before.
func NewTree(total int64) *Tree { return &Tree{total: max(total, 0)} }

// Total returns how many agents were started so far.
func (t *Tree) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Raise raises the total to a number that was committed elsewhere, if that number is larger.
func (t *Tree) Raise(total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = max(t.total, total)
}

// take adds n agents if the total stays within limit.
func (t *Tree) take(n, limit int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > limit-t.total {
		return false
	}
	t.total += n
	return true
}

// Within reports whether the agents so far are within a limit.
func (t *Tree) Within(limit int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total <= limit
}

// Spend is what a run has used of its budgets. It is not safe for concurrent use: its owner
// guards it.
type Spend struct {
	Calls   map[string]int64 // admitted, by bridge
	Open    map[string]int64 // begun and not yet answered, by bridge
	Waiting map[string]int64 // until fewer are open, by bridge
	Refused int64
}

// NewSpend returns the Spend of a run that has used nothing.
func NewSpend() Spend {
	return Spend{Calls: map[string]int64{}, Open: map[string]int64{}, Waiting: map[string]int64{}}
}

// AdmitAct takes one act of a guest out of the budgets. name is counted, and all acts
// together are at most limit. taken is how many there were.
func (s *Spend) AdmitAct(name string, taken *int64, limit int64) *Excess {
	if *taken >= limit {
		return &Excess{Code: profiles.CodeBridgeCalls,
			Text: fmt.Sprintf("a run may make %d program starts and file opens in all", limit)}
	}
	*taken++
	s.Calls[name]++
	s.Open[name]++
	return nil
}

// Excess is a limit that a call would exceed.
type Excess struct {
	Code profiles.Code
	Text string
}

// Admit counts one call in the budgets. If the call would exceed a limit, Admit counts nothing and returns that
// limit. agents is the number of subagents that the call asks for. waits reports whether the call has to wait, behind
// those that wait already, until fewer are open; if not, it is open.
func (s *Spend) Admit(
	bridge string, l profiles.BridgeLimits, agents, depth int64, t *Tree,
) (waits bool, excess *Excess) {
	over := func(code profiles.Code, format string, args ...any) (bool, *Excess) {
		return false, &Excess{Code: code, Text: fmt.Sprintf(format, args...)}
	}
	waits = s.Open[bridge] >= l.Concurrent || s.Waiting[bridge] > 0
	switch {
	case s.Calls[bridge] >= l.CallsPerRun:
		return over(profiles.CodeBridgeCalls, "%s may be called %d times in a run", bridge, l.CallsPerRun)
	case waits && l.Queue <= 0:
		return over(profiles.CodeBridgeConcurrent, "%s may have %d open calls at once", bridge, l.Concurrent)
	case waits && s.Waiting[bridge] >= l.Queue:
		return over(profiles.CodeBridgeConcurrent, "%s may have %d open calls at once, and %d more may wait",
			bridge, l.Concurrent, l.Queue)
	}
	if Spawns(l) {
		switch {
		case agents > l.SpawnPerCall:
			return over(profiles.CodeBridgeSpawn, "one call of %s may start %d subagents, this one asks for %d",
				bridge, l.SpawnPerCall, agents)
		case depth+1 > l.Depth:
			return over(profiles.CodeBridgeDepth, "%s may start subagents %d levels deep", bridge, l.Depth)
		case !t.take(agents, l.TotalSpawn):
			return over(profiles.CodeBridgeTotal, "%s may start subagents until its tree has %d agents",
				bridge, l.TotalSpawn)
		}
	}
	s.Calls[bridge]++
	if waits {
		s.Waiting[bridge]++
	} else {
		s.Open[bridge]++
	}
	return waits, nil
}

// AgentsOf returns how many subagents an argument, or the list of several arguments, asks
// for: the length of an array, or of the array in the member "tasks" of an object, and one
// for anything else. An array that only the tagged encoding can express (shared, cyclic,
// with holes) cannot be counted and is an error.
func AgentsOf(first []byte) (int64, error) {
	if first = bytes.TrimSpace(first); len(first) == 0 || (first[0] != '[' && first[0] != '{') {
		return 1, nil
	}
	if first[0] == '{' {
		tasks, err := tasksOf(first)
		if err != nil {
			return 0, err
		}
		if len(tasks) == 0 || tasks[0] != '[' {
			return 1, nil
		}
		first = tasks
	}
	s, err := jsonvalue.Scan(first)
	if err != nil {
		return 0, err
	}
	return int64(max(s.Count, 1)), nil
}

// tasksOf returns the member "tasks" of an object, or nil if there is none.
func tasksOf(object []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, errUncountable
	}
	var tasks json.RawMessage
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, errUncountable
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return nil, errUncountable
		}
		switch {
		case key == jsonvalue.Mark:
			return nil, errUncountable
		case key != "tasks":
		case tasks != nil:
			return nil, errUncountable
		case member[0] == '{':
			var tagged map[string]json.RawMessage
			err := json.Unmarshal(member, &tagged)
			if mark := tagged[jsonvalue.Mark]; err != nil || mark != nil && string(mark) != `"undefined"` {
				return nil, errUncountable
			}
			tasks = member
		default:
			tasks = member
		}
	}
	return tasks, nil
}

// errUncountable is for the program.
var errUncountable = errors.New("the subagents in the first argument cannot be counted: " +
	"pass a plain array, or an object with a plain array named tasks")
