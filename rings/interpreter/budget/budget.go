// Package budget holds what a run may use up: its limits, its calls, and the
// subagents of the tree it belongs to. It decides nothing and knows no policy but
// the numbers it is given. It is pure. The interpreter ring calls it.
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

// Effective returns the Stricter of two profiles, field by field. A field that
// neither sets is zero, which grants nothing: the result has no nil but
// PauseMillis.
func Effective(a, b profiles.Limits) profiles.Limits {
	least := func(x, y *int64) *int64 {
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
		CPUMillis:    least(a.CPUMillis, b.CPUMillis),
		MemoryBytes:  least(a.MemoryBytes, b.MemoryBytes),
		WallMillis:   least(a.WallMillis, b.WallMillis),
		OutputBytes:  least(a.OutputBytes, b.OutputBytes),
		ResultBytes:  least(a.ResultBytes, b.ResultBytes),
		StackBytes:   least(a.StackBytes, b.StackBytes),
		Processes:    least(a.Processes, b.Processes),
		Files:        least(a.Files, b.Files),
		RefusedCalls: least(a.RefusedCalls, b.RefusedCalls),
		PauseMillis:  shortest(a.PauseMillis, b.PauseMillis),
	}
}

// shortest is the shorter pause. Nil is the default of who keeps pauses, not
// zero: policies compiled before there were pauses have none.
func shortest(x, y *int64) *int64 {
	if x == nil || (y != nil && *y < *x) {
		return y
	}
	return x
}

// Stricter returns the Stricter of two bridge limits, field by field.
func Stricter(a, b profiles.BridgeLimits) profiles.BridgeLimits {
	out := profiles.BridgeLimits{
		Concurrent:    min(a.Concurrent, b.Concurrent),
		CallsPerRun:   min(a.CallsPerRun, b.CallsPerRun),
		SpawnPerCall:  min(a.SpawnPerCall, b.SpawnPerCall),
		Depth:         min(a.Depth, b.Depth),
		TotalSpawn:    min(a.TotalSpawn, b.TotalSpawn),
		ArgumentBytes: min(a.ArgumentBytes, b.ArgumentBytes),
		ResultBytes:   min(a.ResultBytes, b.ResultBytes),
		TimeoutMillis: min(a.TimeoutMillis, b.TimeoutMillis),
	}
	switch { // a bridge that starts no subagents in one generation is bound by the other
	case !Spawns(a):
		out.SpawnPerCall, out.Depth, out.TotalSpawn = b.SpawnPerCall, b.Depth, b.TotalSpawn
	case !Spawns(b):
		out.SpawnPerCall, out.Depth, out.TotalSpawn = a.SpawnPerCall, a.Depth, a.TotalSpawn
	}
	return out
}

// Spawns reports whether a bridge starts subagents: a policy says so by any of
// the three limits. Calls of other bridges are not counted as subagents, and no
// run can be started for them.
func Spawns(l profiles.BridgeLimits) bool {
	return l.SpawnPerCall != 0 || l.Depth != 0 || l.TotalSpawn != 0
}

// Tree counts the subagents of a first run and of all runs below it.
type Tree struct {
	mu    sync.Mutex
	total int64
}

// NewTree is a tree in which so many agents were started before.
func NewTree(total int64) *Tree { return &Tree{total: max(total, 0)} }

// Total is how many agents were taken so far.
func (t *Tree) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Raise makes the total at least so many: what was committed elsewhere counts.
func (t *Tree) Raise(total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = max(t.total, total)
}

// take takes n agents out of a total of at most most.
func (t *Tree) take(n, most int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > most-t.total {
		return false
	}
	t.total += n
	return true
}

// Within reports whether the agents taken so far fit a total of most.
func (t *Tree) Within(most int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total <= most
}

// Spend is what a run has used of its budgets. Its owner guards it.
type Spend struct {
	Calls   map[string]int64 // admitted, by bridge
	Open    map[string]int64 // not yet answered, by bridge
	Refused int64
}

// AdmitAct takes one act of a guest out of the budgets: name is counted, and all
// acts together may be most. taken is how many there were.
func (s *Spend) AdmitAct(name string, taken *int64, most int64) *Excess {
	if *taken >= most {
		return &Excess{Code: profiles.CodeBridgeCalls, Text: fmt.Sprintf("a run may start %d programs and open files, in all", most)}
	}
	*taken++
	s.Calls[name]++
	s.Open[name]++
	return nil
}

// Excess is a limit that a call would pass.
type Excess struct {
	Code profiles.Code
	Text string
}

// Admit takes one call out of the budgets, or says which one it would pass and
// takes nothing. agents is the number of subagents the call asks for.
func (s *Spend) Admit(bridge string, l profiles.BridgeLimits, agents, depth int64, t *Tree) *Excess {
	over := func(code profiles.Code, format string, args ...any) *Excess {
		return &Excess{Code: code, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.Calls[bridge] >= l.CallsPerRun:
		return over(profiles.CodeBridgeCalls, "%s may be called %d times in a run", bridge, l.CallsPerRun)
	case s.Open[bridge] >= l.Concurrent:
		return over(profiles.CodeBridgeConcurrent, "%s may have %d open calls at once", bridge, l.Concurrent)
	}
	if Spawns(l) {
		switch {
		case agents > l.SpawnPerCall:
			return over(profiles.CodeBridgeSpawn, "one call of %s may start %d subagents, this one asks for %d", bridge, l.SpawnPerCall, agents)
		case depth+1 > l.Depth:
			return over(profiles.CodeBridgeDepth, "%s may start subagents %d levels deep", bridge, l.Depth)
		case !t.take(agents, l.TotalSpawn):
			return over(profiles.CodeBridgeTotal, "%s may start subagents until there are %d in all", bridge, l.TotalSpawn)
		}
	}
	s.Calls[bridge]++
	s.Open[bridge]++
	return nil
}

// AgentsOf is how many subagents an argument asks for, or the list of several
// that a provider gets: the length of an array, or of the array in the member
// "tasks" of an object, and one for anything else. What has an array that only
// the tagged encoding can say (shared, cyclic, with holes) cannot be counted and
// is an error.
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

// tasksOf returns the member "tasks" of an object, nil when there is none.
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
			if err := json.Unmarshal(member, &tagged); err != nil || (tagged[jsonvalue.Mark] != nil && string(tagged[jsonvalue.Mark]) != `"undefined"`) {
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
var errUncountable = errors.New("the first argument has a shape that subagents cannot be counted in: pass a plain array, or an object with a plain array named tasks")
