package store

import (
	"cmp"
	"context"
	"fmt"
)

// Queue limits the calls of one agent and actor that wait for approvers. Zero fields mean [defaultQueueCalls]
// and [defaultQueueBytes].
type Queue struct {
	Calls int64
	Bytes int64 // of their arguments
}

// Default limits of Queue.
const (
	defaultQueueCalls = 1_000
	defaultQueueBytes = 64 << 20
)

// QueueError: with this call, more would wait for approvers than Queue allows. Nothing changed.
type QueueError struct {
	Calls, Bytes int64 // waiting now
	Size         int64 // of the arguments of the new call
	Most         Queue
}

// Error names the limit that is reached.
func (e *QueueError) Error() string {
	if e.Calls >= e.Most.Calls {
		return fmt.Sprintf("%d calls of this agent and actor wait for approvers, and %d may", e.Calls, e.Most.Calls)
	}
	return fmt.Sprintf(
		"calls of this agent and actor with %d bytes of arguments wait for approvers, %d bytes may, and this one "+
			"has %d",
		e.Bytes,
		e.Most.Bytes,
		e.Size,
	)
}

// owner identifies calls that are counted together.
type owner struct{ agent, actor string }

// queueCount is an upper bound of the waiting calls of one owner. Calls may have left since it was counted.
type queueCount struct {
	calls, bytes int64
	counted      int64 // queueCounts.removals at the time of the count
}

// queueCounts caches the counts of calls that wait for approvers, so that a new call need not count all rows. A
// cached count is never lower than the real one. It is used in a transaction.
type queueCounts struct {
	removals int64 // number of changes that may have removed calls from a queue
	byOwner  map[owner]queueCount
}

// maxOwners limits the memory of lines.
const maxOwners = 10_000

// checkQueue returns a *QueueError if a call would be one too many of its run's agent and actor.
func (t *tx) checkQueue(ctx context.Context, r Run, c Call) error {
	if c.For != ByApprover {
		return nil
	}
	l, who := &t.s.lines, owner{r.Agent, r.Actor}
	q, known := l.byOwner[who]
	full := t.s.cfg.Queue.checkFits(q, int64(len(c.Args)))
	if known && (full == nil || q.counted == l.removals) {
		return full
	}
	q = queueCount{counted: l.removals}
	err := t.Rows(ctx, func(row scanner) error { return row.Scan(&q.calls, &q.bytes) },
		`select count(*), coalesce(sum(length(call.args)), 0) from call join run on run.id = call.run
		where call.state = 'open' and call.state in ('open', 'executing') and call.waits_for = 'approver'
		and call.reply is null and run.agent = $1 and run.actor = $2`, who.agent, who.actor)
	if err != nil {
		return err
	}
	if l.byOwner == nil || !known && len(l.byOwner) >= maxOwners {
		l.byOwner = map[owner]queueCount{}
	}
	l.byOwner[who] = q
	return t.s.cfg.Queue.checkFits(q, int64(len(c.Args)))
}

// checkFits returns a *QueueError if a call with arguments of size bytes does not fit into q.
func (m Queue) checkFits(q queueCount, size int64) error {
	m = Queue{cmp.Or(m.Calls, defaultQueueCalls), cmp.Or(m.Bytes, defaultQueueBytes)}
	if q.calls < m.Calls && q.bytes+size <= m.Bytes {
		return nil
	}
	return &QueueError{Calls: q.calls, Bytes: q.bytes, Size: size, Most: m}
}

// addWaiting counts a call that checkQueue accepted.
func (t *tx) addWaiting(r Run, c Call) {
	who := owner{r.Agent, r.Actor}
	if q, known := t.s.lines.byOwner[who]; known && c.For == ByApprover {
		q.calls, q.bytes = q.calls+1, q.bytes+int64(len(c.Args))
		t.s.lines.byOwner[who] = q
	}
}
