package daemontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// machine is a program that makes calls. It has all state of the program, and a snapshot is an encoded machine.
type machine struct {
	Verb    string
	Waves   [][]string // bridges
	Wave    int        // index of the current wave
	Calls   int        // made so far
	Answers map[string]executors.Answer
	Open    []executors.Question // calls of the wave without an answer
}

// runMachine starts a program, or continues it.
func runMachine(
	ctx context.Context,
	r executors.Run,
	h executors.Host,
	out executors.Outcome,
	verb string,
	words []string,
) (executors.Outcome, error) {
	m := &machine{Verb: verb, Answers: map[string]executors.Answer{}}
	if r.Resume != nil && !r.Resume.Session {
		if err := json.Unmarshal(r.Resume.Snapshot, m); err != nil {
			return out, fmt.Errorf("%w: %w", executors.ErrSnapshot, err)
		}
		m.Open = r.Resume.Open
	} else {
		switch verb {
		case "steps":
			for _, w := range words {
				m.Waves = append(m.Waves, strings.Split(w, ","))
			}
		case "each":
			m.Waves = [][]string{words[:1]}
		default:
			m.Waves = [][]string{words}
		}
		m.begin()
	}
	for {
		paused, err := m.wait(ctx, r.Pause, h)
		if err != nil {
			return out, err
		}
		if paused {
			out.State, out.Value = executors.StatePaused, nil
			out.Snapshot, err = json.Marshal(m)
			return out, err
		}
		if m.over(&out) {
			return out, nil
		}
		m.Wave++
		m.begin()
	}
}

// begin makes the calls of the wave.
func (m *machine) begin() {
	for _, bridge := range m.Waves[m.Wave] {
		m.Calls++
		if q, is := actOf(bridge); is {
			q.Call = fmt.Sprintf("c%d", m.Calls)
			m.Open = append(m.Open, q)
			continue
		}
		args := json.RawMessage(`[{}]`)
		if m.Verb == "steps" {
			args = json.RawMessage(fmt.Sprintf(`[{"n":%d}]`, m.Calls))
		}
		bridge, many, several := strings.Cut(bridge, "*")
		if several {
			args = json.RawMessage(
				fmt.Sprintf(
					`[{"n":%d,"tasks":[%s]}]`,
					m.Calls,
					strings.TrimSuffix(strings.Repeat("0,", len(many)), ","),
				),
			)
		}
		m.Open = append(m.Open, executors.Question{Call: fmt.Sprintf("c%d", m.Calls), Bridge: bridge, Args: args})
	}
}

// actOf parses run:PROGRAM:WORD…, which starts a program of /usr/bin. With ^ in front it asks for the
// approval ahead.
func actOf(word string) (executors.Question, bool) {
	word, ahead := strings.CutPrefix(word, "^")
	words := strings.Split(word, ":")
	if words[0] != "run" || len(words) < 2 {
		return executors.Question{}, false
	}
	argv := append([]string{"/usr/bin/" + words[1]}, words[2:]...)
	return executors.Question{Ahead: ahead, Action: &profiles.Action{Exec: &profiles.ExecAction{Argv: argv}}}, true
}

// over reports whether the program has ended, and sets its outcome.
func (m *machine) over(out *executors.Outcome) bool {
	last := m.Answers[fmt.Sprintf("c%d", m.Calls)]
	if m.Verb == "each" {
		if last.Error == nil {
			m.Waves = append(m.Waves, m.Waves[m.Wave])
			return false
		}
		out.Value = json.RawMessage(fmt.Sprintf(`{"calls":%d,"error":%q}`, m.Calls-1, last.Error.Name))
		return true
	}
	var values []string
	for n := 1; n <= m.Calls; n++ {
		a := m.Answers[fmt.Sprintf("c%d", n)]
		if a.Error != nil {
			if m.Verb == "steps" { // it goes on
				values = append(values, fmt.Sprintf("%q", a.Error.Name))
				continue
			}
			out.State, out.Value = executors.StateFailed, nil
			out.Error = &executors.ProgramError{Name: a.Error.Name, Message: a.Error.Message}
			return true
		}
		values = append(values, string(a.Value))
	}
	if m.Wave+1 < len(m.Waves) {
		return false
	}
	out.Value = json.RawMessage("[" + strings.Join(values, ",") + "]")
	if m.Verb == "call" {
		out.Value = last.Value
	}
	return true
}

// answered is the result of one question.
type answered struct {
	call string
	a    executors.Answer
	err  error
}

// wait asks the open questions until all are answered or the program must stop.
func (m *machine) wait(ctx context.Context, pause <-chan struct{}, h executors.Host) (paused bool, err error) {
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	came := make(chan answered, len(m.Open))
	var wg sync.WaitGroup
	for _, q := range m.Open {
		wg.Go(func() {
			a, err := h.Ask(asking, q)
			came <- answered{q.Call, a, err}
		})
	}
	for len(m.Open) > 0 {
		if m.Verb == "wave" || m.Verb == "steps" {
			h.Idle(m.ids())
		}
		select {
		case got := <-came:
			err = m.take(got)
		case <-pause:
			paused = true
			stop(executors.ErrPaused)
		}
		if paused || err != nil {
			break
		}
	}
	stop(nil)
	wg.Wait()
	close(came)
	for got := range came {
		stopped := errors.Is(got.err, executors.ErrPaused) || errors.Is(got.err, context.Canceled)
		if paused && stopped {
			continue
		}
		err = errors.Join(err, m.take(got))
	}
	return paused, err
}

func (m *machine) ids() []string {
	out := make([]string, len(m.Open))
	for i, q := range m.Open {
		out[i] = q.Call
	}
	return out
}

func (m *machine) take(got answered) error {
	if got.err != nil {
		return got.err
	}
	m.Answers[got.call] = got.a
	for i, q := range m.Open {
		if q.Call == got.call {
			m.Open = append(m.Open[:i:i], m.Open[i+1:]...)
			break
		}
	}
	return nil
}
