package store

import (
	"cmp"
	"context"
	"fmt"
)

// Queue bounds the calls of one agent and actor that wait for approvers. Zero fields
// take the default: [defaultQueueCalls], [defaultQueueBytes].
type Queue struct {
	Calls int64
	Bytes int64 // of their arguments
}

// The default bounds of Queue.
const (
	defaultQueueCalls = 1_000
	defaultQueueBytes = 64 << 20
)

// QueueError: with this call more would wait for approvers than Queue allows. Nothing
// changed.
type QueueError struct {
	Calls, Bytes int64 // that wait already
	Size         int64 // of the arguments of this one
	Most         Queue
}

// Error names the bound that is reached.
func (e *QueueError) Error() string {
	if e.Calls >= e.Most.Calls {
		return fmt.Sprintf("%d calls of this agent and actor wait for approvers, and %d may", e.Calls, e.Most.Calls)
	}
	return fmt.Sprintf("calls of this agent and actor with %d bytes of arguments wait for approvers, %d bytes may, "+
		"and this one has %d",
		e.Bytes, e.Most.Bytes, e.Size)
}

// owner is whose calls are counted together.
type owner struct{ agent, actor string }

// queued is what waits of one owner: at most so much, since calls may have left since it
// was counted.
type queued struct {
	calls, bytes int64
	counted      int64 // lines.left, when it was counted
}

// lines counts what waits for approvers, so that not every call counts all rows. It
// never holds less than the database does, and is used in a transaction.
type lines struct {
	left int64 // changes by which calls may have left their queue
	of   map[owner]queued
}

// maxOwners bounds the memory of lines.
const maxOwners = 10_000

// mayWait refuses a call that waits for approvers when it would be one too many of its
// run's agent and actor.
func (t *tx) mayWait(ctx context.Context, r Run, c Call) error {
	if c.For != ByApprover {
		return nil
	}
	l, who := &t.s.lines, owner{r.Agent, r.Actor}
	q, known := l.of[who]
	full := t.s.cfg.Queue.takes(q, int64(len(c.Args)))
	if known && (full == nil || q.counted == l.left) {
		return full
	}
	q = queued{counted: l.left}
	err := t.Rows(ctx, func(row scanner) error { return row.Scan(&q.calls, &q.bytes) },
		`select count(*), coalesce(sum(length(call.args)), 0) from call join run on run.id = call.run
		where call.state = 'open' and call.state in ('open', 'executing') and call.waits_for = 'approver'
		and call.reply is null and run.agent = $1 and run.actor = $2`, who.agent, who.actor)
	if err != nil {
		return err
	}
	if l.of == nil || !known && len(l.of) >= maxOwners {
		l.of = map[owner]queued{}
	}
	l.of[who] = q
	return t.s.cfg.Queue.takes(q, int64(len(c.Args)))
}

// takes is a *QueueError when a call with arguments of size bytes does not fit behind q.
func (m Queue) takes(q queued, size int64) error {
	m = Queue{cmp.Or(m.Calls, defaultQueueCalls), cmp.Or(m.Bytes, defaultQueueBytes)}
	if q.calls < m.Calls && q.bytes+size <= m.Bytes {
		return nil
	}
	return &QueueError{Calls: q.calls, Bytes: q.bytes, Size: size, Most: m}
}

// waits counts a call that mayWait let in.
func (t *tx) waits(r Run, c Call) {
	who := owner{r.Agent, r.Actor}
	if q, known := t.s.lines.of[who]; known && c.For == ByApprover {
		q.calls, q.bytes = q.calls+1, q.bytes+int64(len(c.Args))
		t.s.lines.of[who] = q
	}
}
