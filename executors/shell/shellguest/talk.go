package shellguest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// talk is the connection to the host while a script runs. Commands of a pipeline ask concurrently, so one
// goroutine reads for all of them.
type talk struct {
	s *executors.Stream

	mu    sync.Mutex
	asked uint64
	seen  uint64 // number of answers read
	open  map[uint64]chan executors.Reply
	quiet *sync.Cond // of mu: no call is open, or the connection has ended
	err   error      // of the connection: no further question is possible
	over  func(error)

	pause chan executors.Pause // capacity 1
}

func newTalk(s *executors.Stream, asked uint64, over func(error)) *talk {
	t := &talk{
		s: s, asked: asked, open: map[uint64]chan executors.Reply{}, over: over, pause: make(chan executors.Pause, 1),
	}
	t.quiet = sync.NewCond(&t.mu)
	return t
}

// listen reads until the connection ends. It ends the script if the host is gone or violates the protocol.
func (t *talk) listen() {
	for {
		m, err := t.s.Read()
		if err == nil {
			err = t.take(m)
		}
		if err != nil {
			t.fail(err)
			return
		}
	}
}

func (t *talk) take(m executors.Message) error {
	switch m := m.(type) {
	case executors.Reply:
		t.mu.Lock()
		defer t.mu.Unlock()
		c, known := t.open[m.Call]
		if !known {
			return fmt.Errorf("%w: an answer to no call", executors.ErrProtocol)
		}
		delete(t.open, m.Call)
		t.seen++
		c <- m
		t.quiet.Broadcast()
		return nil
	case executors.Pause:
		select {
		case t.pause <- m:
			return nil
		default:
			return fmt.Errorf("%w: a second pause", executors.ErrProtocol)
		}
	default:
		return fmt.Errorf("%w: %T while a script runs", executors.ErrProtocol, m)
	}
}

// fail ends the script, and with it every question.
func (t *talk) fail(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = err
	}
	t.quiet.Broadcast()
	t.mu.Unlock()
	t.over(err)
}

// put sends a question. Its answer goes to c, which must have room for it.
func (t *talk) put(a profiles.Action, ahead bool, c chan executors.Reply) (call uint64, err error) {
	b, err := json.Marshal(a)
	if err != nil {
		return 0, fmt.Errorf("ask the host: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return 0, t.err
	}
	t.asked++
	t.open[t.asked] = c
	return t.asked, t.s.Send(executors.Act{Call: t.asked, Ahead: ahead, Action: b})
}

// ask sends a question and waits for the decision.
func (t *talk) ask(ctx context.Context, a profiles.Action) (profiles.Decision, error) {
	c := make(chan executors.Reply, 1)
	if _, err := t.put(a, false, c); err != nil {
		return profiles.Decision{}, err
	}
	select {
	case r := <-c:
		return decisionOf(r)
	case <-ctx.Done():
		return profiles.Decision{}, context.Cause(ctx)
	}
}

// decisionOf reads an answer. An answer that is no final decision denies.
func decisionOf(r executors.Reply) (profiles.Decision, error) {
	if r.Name != "" {
		return profiles.Decision{}, fmt.Errorf("the action was not decided: %s: %s", r.Name, r.Message)
	}
	var d profiles.Decision
	if err := json.Unmarshal(r.Value, &d); err != nil {
		return profiles.Decision{}, fmt.Errorf("read a decision: %w", err)
	}
	if d.Verdict == profiles.Ask {
		return profiles.Decision{}, errors.New("read a decision: it is none yet")
	}
	return d, nil
}

// idle says that nothing continues before one of the open calls is answered, unless all are.
func (t *talk) idle() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || len(t.open) == 0 {
		return t.err
	}
	return t.s.Send(executors.Idle{Seen: t.seen})
}

// settle waits for the answers to all questions: commands that were left behind at the end of a script may have
// asked.
func (t *talk) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.open) > 0 && t.err == nil {
		t.quiet.Wait()
	}
}

// counts returns how many answers were read and how many questions were asked.
func (t *talk) counts() (seen, asked uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen, t.asked
}
