package commands_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/schema/wire"
)

// fake is a daemon with one run, which waits in waves and then is done.
type fake struct {
	waves    [][]wire.Pending // those that are left
	answered map[string]bool
	state    string
	seq      int64
	did      []string
	refuse   error // of Approve
	stuck    error // of ResumeRun
	open     bool  // the run never stops
}

func pending(id, who string) wire.Pending {
	return wire.Pending{ID: id, Bridge: "pay", Args: json.RawMessage(`{}`), For: who, Digest: "sha256:" + id, Count: 1}
}

func newFake(waves ...[]wire.Pending) *fake {
	f := &fake{waves: waves, answered: map[string]bool{}, state: "paused", seq: 1}
	if len(waves) == 0 {
		f.state = "done"
	}
	return f
}

func (f *fake) Events(ctx context.Context, _ daemon.Actor, _ string, after int64) ([]wire.Event, error) {
	if f.open {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if after >= f.seq {
		return nil, fmt.Errorf("nothing comes after %d", after)
	}
	return []wire.Event{
		{
			Seq:     f.seq,
			Type:    wire.EventConsole,
			Console: &wire.ConsoleEntry{Seq: f.seq, Text: fmt.Sprint("line ", f.seq)},
		},
		{Seq: f.seq, Type: wire.EventState, State: f.state},
	}, nil
}

func (f *fake) GetRun(context.Context, daemon.Actor, string, time.Duration) (wire.Run, error) {
	run := wire.Run{ID: "r1", Agent: "a", State: f.state}
	if f.state == "paused" {
		for _, c := range f.waves[0] {
			if !f.answered[c.ID] {
				run.Pending = append(run.Pending, c)
			}
		}
	}
	return run, nil
}

func (f *fake) Approve(
	ctx context.Context,
	who waiting.Approver,
	run, call string,
	a wire.ApprovalAnswer,
) (wire.Run, error) {
	f.did = append(
		f.did,
		strings.TrimSpace(fmt.Sprintf("%s %s %s %s as %q by %s", a.Verdict, call, a.Digest, a.Reason, a.As, who.Name)),
	)
	if f.refuse != nil {
		return wire.Run{}, f.refuse
	}
	i := slices.IndexFunc(f.waves[0], func(c wire.Pending) bool { return c.ID == call })
	if f.waves[0][i].Count--; f.waves[0][i].Count <= 0 {
		f.answered[call] = true
	}
	return f.GetRun(ctx, daemon.Actor{}, run, 0)
}

func (f *fake) ResumeRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error) {
	f.did = append(f.did, "resume")
	if f.stuck != nil {
		return wire.Run{}, f.stuck
	}
	f.waves = f.waves[1:]
	f.seq++
	if len(f.waves) == 0 {
		f.state = "done"
	}
	return f.GetRun(ctx, a, id, 0)
}

func (f *fake) CancelRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error) {
	f.did = append(f.did, "cancel")
	f.state = "cancelled"
	return f.GetRun(ctx, a, id, 0)
}

// person answers what it is asked, in order.
type person struct {
	says  []cli.PromptAnswer
	err   error // when nothing is left
	stop  func()
	asked []string
}

func (p *person) Ask(_ context.Context, _ cli.Page, q cli.Question, as string) (cli.PromptAnswer, error) {
	p.asked = append(p.asked, q.Pending.ID)
	if len(p.says) == 0 {
		if p.stop != nil {
			p.stop()
		}
		return cli.PromptAnswer{}, p.err
	}
	a := p.says[0]
	p.says = p.says[1:]
	if a.As == "" {
		a.As = as
	}
	return a, nil
}

var (
	yes = cli.PromptAnswer{Allow: true}
	no  = cli.PromptAnswer{}
)

func TestAttend(t *testing.T) {
	two := func() wire.Pending { c := pending("c1", "approver"); c.Count = 2; return c }
	one := []wire.Pending{pending("c1", "approver")}
	for _, tt := range []struct {
		name  string
		fake  *fake
		says  *person // nil: no terminal
		keep  bool
		stand []string
		want  []string
		state string
		fails string
	}{
		{"nothing to ask", newFake(), nil, false, nil, nil, "done", ""},
		{"yes", newFake(one), &person{says: []cli.PromptAnswer{yes}}, false, nil,
			[]string{`allow c1 sha256:c1  as "" by uid:1`, "resume"}, "done", ""},
		{"yes, for an owner", newFake(one), &person{says: []cli.PromptAnswer{yes}}, false, []string{"group:a@b.example"},
			[]string{`allow c1 sha256:c1  as "group:a@b.example" by uid:1`, "resume"}, "done", ""},
		{"no", newFake(one), &person{says: []cli.PromptAnswer{no}}, false, nil,
			[]string{`deny c1 sha256:c1 denied at the terminal as "" by uid:1`, "resume"}, "done", ""},
		{"no, with a reason", newFake(one), &person{says: []cli.PromptAnswer{{Reason: "too much"}}}, false, nil,
			[]string{`deny c1 sha256:c1 too much as "" by uid:1`, "resume"}, "done", ""},
		{"a wave and another", newFake([]wire.Pending{pending("c1", "approver"), pending("c2", "approver")}, []wire.Pending{pending("c3", "approver")}),
			&person{says: []cli.PromptAnswer{yes, no, yes}}, false, nil,
			[]string{`allow c1 sha256:c1  as "" by uid:1`, `deny c2 sha256:c2 denied at the terminal as "" by uid:1`, "resume", `allow c3 sha256:c3  as "" by uid:1`, "resume"}, "done", ""},
		{"no terminal", newFake(one), nil, false, nil, []string{"cancel"}, "cancelled", ""},
		{"no terminal, kept", newFake(one), nil, true, nil, nil, "paused", ""},
		{"nobody answers", newFake(one), &person{err: cli.ErrNoAnswer}, false, nil, []string{"cancel"}, "cancelled", ""},
		{"nobody answers, kept", newFake(one), &person{err: cli.ErrNoAnswer}, true, nil, nil, "paused", ""},
		{"the harness is asked", newFake([]wire.Pending{pending("c1", "harness")}), &person{says: []cli.PromptAnswer{yes}}, true, nil, nil, "paused", ""},
		{"it takes two people", newFake([]wire.Pending{two()}), &person{says: []cli.PromptAnswer{yes, yes}}, true, nil,
			[]string{`allow c1 sha256:c1  as "" by uid:1`}, "paused", ""},
		{"the yes is refused", &fake{waves: [][]wire.Pending{one}, state: "paused", seq: 1, refuse: errors.New("not an approver")},
			&person{says: []cli.PromptAnswer{yes}}, false, nil,
			[]string{`allow c1 sha256:c1  as "" by uid:1`, "cancel"}, "", "call c1: not an approver"},
		{"the yes is refused, kept", &fake{waves: [][]wire.Pending{one}, state: "paused", seq: 1, refuse: errors.New("not an approver")},
			&person{says: []cli.PromptAnswer{yes}}, true, nil, []string{`allow c1 sha256:c1  as "" by uid:1`}, "paused",
			"not an approver"},
		{"it cannot continue", &fake{waves: [][]wire.Pending{one}, answered: map[string]bool{}, state: "paused", seq: 1, stuck: errors.New("integrity")},
			&person{says: []cli.PromptAnswer{yes}}, true, nil, []string{`allow c1 sha256:c1  as "" by uid:1`, "resume"},
			"paused", "integrity"},
		{"the terminal fails", newFake(one), &person{err: errors.New("broken terminal")}, true, nil, nil, "paused", "broken terminal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, err := attendant(tt.fake, tt.says, tt.keep, tt.stand).Attend(t.Context(), "r1")
			if (err != nil) != (tt.fails != "") || (err != nil && !strings.Contains(err.Error(), tt.fails)) {
				t.Fatalf("got %v, want %q", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, tt.fake.did); diff != "" || run.State != tt.state {
				t.Errorf("state %s, want %s: %s", run.State, tt.state, diff)
			}
		})
	}
}

// Nobody is asked about a call that could not begin here: the run waits where it is kept,
// and ends where it is not.
func TestAttendLacks(t *testing.T) {
	lacks := errors.New("no command")
	for _, tt := range []struct {
		name  string
		keep  bool
		lacks error
		did   []string
		asked int
	}{
		{"kept", true, lacks, nil, 0},
		{"not kept", false, lacks, []string{"cancel"}, 0},
		{"it could", true, nil, []string{`allow c1 sha256:c1  as "" by uid:1`, "resume"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, says := newFake([]wire.Pending{pending("c1", "approver")}), &person{says: []cli.PromptAnswer{yes}}
			a := attendant(f, says, tt.keep, nil)
			a.Lacks = func(_ wire.Run, c wire.Pending) error { return tt.lacks }
			_, err := a.Attend(t.Context(), "r1")
			if !errors.Is(err, tt.lacks) || !slices.Equal(f.did, tt.did) || len(says.asked) != tt.asked {
				t.Errorf("%v, did %q, asked %q", err, f.did, says.asked)
			}
		})
	}
}

// What an earlier part of the run has printed is not printed again, and a run
// that is ended for want of somebody says so.
func TestAttendSays(t *testing.T) {
	one := func() []wire.Pending { return []wire.Pending{pending("c1", "approver")} }
	for _, tt := range []struct {
		name  string
		shown int64
		keep  bool
		want  string
		fails string
	}{
		{"from the start", 0, true, "line 1\n", ""},
		{"what was shown", 1, true, "", ""},
		{"more than was shown", 7, true, "", ""},
		{"nobody, and no folder", 1, false, "ringd: the run is ended: it cannot continue here\n" +
			"    hint: --state DIR keeps the run; then `ringd approve` and `ringd resume`\n",
			"Unanswered: call c1 of pay waits for an approver, and there is no terminal to ask at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			run, err := commands.NewAttendant(commands.AttendConfig{
				Program: &cli.Program{Err: &out}, Daemon: newFake(one()), Actor: daemon.Actor{Name: "run:uid:1"},
				Keep: tt.keep, Shown: tt.shown, Now: time.Now,
			}).Attend(t.Context(), "r1")
			if err != nil || out.String() != tt.want {
				t.Errorf("%v, printed %q, want %q", err, out.String(), tt.want)
			}
			fails := ""
			if run.Error != nil {
				fails = run.Error.Name + ": " + run.Error.Message
			}
			if fails != tt.fails {
				t.Errorf("got %q, want %q", fails, tt.fails)
			}
		})
	}
}

func attendant(f *fake, says *person, keep bool, stands []string) *commands.Attendant {
	var console bytes.Buffer
	c := commands.AttendConfig{
		Program: &cli.Program{Err: &console}, Daemon: f, Actor: daemon.Actor{Name: "run:uid:1"},
		Approver: waiting.Approver{Name: "uid:1", Stands: stands}, Keep: keep, Now: time.Now,
	}
	if says != nil {
		c.Terminal = says
	}
	return commands.NewAttendant(c)
}

// Ctrl-C ends a run, but not one that waits where it is kept.
func TestAttendInterrupted(t *testing.T) {
	one := []wire.Pending{pending("c1", "approver")}
	for _, tt := range []struct {
		name  string
		fake  *fake
		keep  bool
		want  []string
		state string
	}{
		{"live", &fake{open: true, state: "running"}, false, []string{"cancel"}, "cancelled"},
		{"live, kept", &fake{open: true, state: "running"}, true, []string{"cancel"}, "cancelled"},
		{"at the question", newFake(one), false, []string{"cancel"}, "cancelled"},
		{"at the question, kept", newFake(one), true, nil, "paused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			says := &person{err: context.Canceled, stop: stop}
			if tt.fake.open {
				stop()
			}
			run, err := attendant(tt.fake, says, tt.keep, nil).Attend(ctx, "r1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.fake.did); diff != "" || run.State != tt.state {
				t.Errorf("state %s, want %s: %s", run.State, tt.state, diff)
			}
		})
	}
}

// script is a daemon with one script, which is held for the start of a program and
// then prints.
type script struct {
	*fake
	settled bool
	lost    bool // the reader is told of what it missed
	harness bool // it waits for its harness
}

func (f *script) Events(ctx context.Context, _ daemon.Actor, _ string, after int64) ([]wire.Event, error) {
	switch {
	case after < 2:
		return []wire.Event{
			{Seq: 1, Type: wire.EventConsole, Console: &wire.ConsoleEntry{Seq: 1, Level: "stdout", Text: "one "}},
			{
				Seq:  2,
				Type: wire.EventCall,
				Call: &wire.CallEvent{ID: "c1", Bridge: "exec:/usr/bin/git", State: "pending"},
			},
		}, nil
	case !f.settled && f.state == "running":
		return nil, errors.New("nobody has settled it")
	}
	if f.state == "running" {
		f.state = "done"
	}
	list := []wire.Event{
		{Seq: 3, Type: wire.EventConsole, Console: &wire.ConsoleEntry{Seq: 2, Level: "stdout", Text: "two "}},
	}
	if f.lost {
		list = []wire.Event{{Seq: 3, Type: wire.EventGap, Missed: 1}}
	}
	return append(
		list,
		wire.Event{
			Seq:     4,
			Type:    wire.EventConsole,
			Console: &wire.ConsoleEntry{Seq: 3, Level: "stdout", Text: "three"},
		},
		wire.Event{Seq: 5, Type: wire.EventState, State: f.state},
	), nil
}

func (f *script) GetRun(context.Context, daemon.Actor, string, time.Duration) (wire.Run, error) {
	run := wire.Run{ID: "r1", Agent: "a", State: f.state, Stdout: "one two three"}
	if f.state == "running" && !f.settled {
		p := pending("c1", "approver")
		p.Bridge, p.Held = "exec:/usr/bin/git", true
		if f.harness {
			p.Bridge, p.For = "search", "harness"
		}
		run.Pending = []wire.Pending{p}
	}
	return run, nil
}

func (f *script) Approve(
	_ context.Context,
	_ waiting.Approver,
	_, call string,
	a wire.ApprovalAnswer,
) (wire.Run, error) {
	f.did = append(f.did, a.Verdict+" "+call)
	f.settled = f.refuse == nil && a.Reason != "one of two"
	return wire.Run{}, f.refuse
}

// A script that is held half way is asked about while it runs, and ends where nobody
// is there to ask, or to answer what its harness would. What it printed is shown once,
// also when events were missed.
func TestAttendHeld(t *testing.T) {
	for _, tt := range []struct {
		name  string
		says  *person
		lost  bool
		err   error
		did   []string
		state string
		out   string
	}{
		{"allowed", &person{says: []cli.PromptAnswer{{Allow: true}}}, false, nil, []string{"allow c1"}, "done", "one two three"},
		{"events were missed", &person{says: []cli.PromptAnswer{{Allow: true}}}, true, nil, []string{"allow c1"}, "done", "one two three"},
		{"denied", &person{says: []cli.PromptAnswer{{Reason: "no"}}}, false, nil, []string{"deny c1"}, "done", "one two three"},
		{"it takes two", &person{says: []cli.PromptAnswer{{Allow: true, Reason: "one of two"}}}, false, nil, []string{"allow c1", "cancel"}, "cancelled", "one two three"},
		{"nobody says anything", &person{err: cli.ErrNoAnswer}, false, nil, []string{"cancel"}, "cancelled", "one two three"},
		{"nobody is there", nil, false, nil, []string{"cancel"}, "cancelled", "one two three"},
		{"its harness", &person{says: []cli.PromptAnswer{{Allow: true}}}, false, nil, []string{"cancel"}, "cancelled", "one two three"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &script{
				fake:    &fake{state: "running", refuse: tt.err},
				lost:    tt.lost,
				harness: tt.name == "its harness",
			}
			var out, errs bytes.Buffer
			cfg := commands.AttendConfig{
				Program:  &cli.Program{Out: &out, Err: &errs},
				Daemon:   f,
				Actor:    daemon.Actor{Name: "uid:1"},
				Approver: waiting.Approver{Name: "uid:1"},
				Now:      func() time.Time { return time.Unix(1e9, 0) },
			}
			if tt.says != nil {
				cfg.Terminal = tt.says
			}
			run, err := commands.NewAttendant(cfg).Attend(t.Context(), "r1")
			if err != nil || run.State != tt.state {
				t.Fatalf("%+v %v", run, err)
			}
			if d := cmp.Diff(tt.did, f.did); d != "" {
				t.Error(d)
			}
			if out.String() != tt.out {
				t.Errorf("shown %q", out.String())
			}
			if said := strings.Contains(errs.String(), "waits for "); said != (tt.state == "cancelled") {
				t.Errorf("said %q", errs.String())
			}
		})
	}
}

// A script that is asked about before it starts pauses like any other run: it is not
// ended for want of a terminal while it can be kept.
func TestAttendAhead(t *testing.T) {
	f := &before{fake: &fake{state: "running"}}
	var errs bytes.Buffer
	run, err := commands.NewAttendant(commands.AttendConfig{Program: &cli.Program{Out: io.Discard, Err: &errs}, Daemon: f, Actor: daemon.Actor{Name: "uid:1"},
		Keep: true, Now: func() time.Time { return time.Unix(1e9, 0) }}).
		Attend(t.Context(), "r1")
	if err != nil || run.State != "paused" || len(f.did) > 0 || errs.Len() > 0 {
		t.Errorf("%s %v %v %q", run.State, err, f.did, errs.String())
	}
}

// before is a daemon with one script, which waits before it starts and then pauses.
type before struct{ *fake }

func (f *before) Events(_ context.Context, _ daemon.Actor, _ string, after int64) ([]wire.Event, error) {
	if after < 1 {
		return []wire.Event{
			{
				Seq:  1,
				Type: wire.EventCall,
				Call: &wire.CallEvent{ID: "c1", Bridge: "exec:/usr/bin/git", State: "pending"},
			},
		}, nil
	}
	if f.state == "running" {
		f.state = "paused"
	}
	return []wire.Event{{Seq: 2, Type: wire.EventState, State: f.state}}, nil
}

func (f *before) GetRun(context.Context, daemon.Actor, string, time.Duration) (wire.Run, error) {
	p := pending("c1", "approver")
	p.Bridge = "exec:/usr/bin/git"
	return wire.Run{ID: "r1", Agent: "a", State: f.state, Pending: []wire.Pending{p}}, nil
}
