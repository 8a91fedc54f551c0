package daemon_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// edit changes the database of a daemon that is closed, as somebody who can write
// it and does not have the key.
func edit(t *testing.T, s *daemontest.Stack, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Dir, "store", "ringd.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		r, err := db.ExecContext(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", text, n, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	decided  = `update call set verdict = 'allow', decided_by = 'uid:1', decided_at = 1, reply = x'', replied_by = 'uid:1', replied_at = 1 where id = 'c1'`
	answered = `update run set state = 'answered'`
	word     = `insert into approval (run, call, approver, v, capacity, verdict, reason, digest, at, mark)
		select run, id, 'uid:9', 1, '', 'allow', '', args_digest, created, mark from call where id = 'c1'`
)

// TestForgedRows writes into the database of a run that waits what makes the next
// daemon act: it does not, and says why.
func TestForgedRows(t *testing.T) {
	for _, tc := range []struct {
		name, policy, program string
		forge                 []string
	}{
		{"an approval by the state alone", "one pay!", "steps pay", []string{decided, answered}},
		{"an approval with a word", "one pay!", "steps pay", []string{decided, answered, word}},
		{"one of two approvals", "one pay!2", "steps pay", []string{decided, answered, `update call set needs = 1`}},
		{"an answer", "one ask", "steps ask", []string{answered, `update call set reply = '{"body":{"value":1},"mark":"AAAA"}', replied_by = 'uid:1000', replied_at = 1`}},
		{"a result", "one pay!", "steps pay", []string{answered, `update call set state = 'closed', result = '{"body":{"End":"done","Value":1},"mark":"AAAA"}'`}},
		{"the act is under way", "one again!", "steps again", []string{answered, `update call set state = 'executing'`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, tc.policy)
			r := start(t, s, tc.program)
			waitPaused(t, s, r.ID)
			s.Close(t)
			edit(t, s, tc.forge...)
			s = again(t, s, daemontest.Config{})
			var stuck *waiting.StuckError
			_, err := s.Daemon.ResumeRun(t.Context(), everyone(), r.ID)
			var late *store.ClaimedError
			for errors.As(err, &late) { // the daemon tries by itself
				_, err = s.Daemon.ResumeRun(t.Context(), everyone(), r.ID)
			}
			if !errors.As(err, &stuck) || stuck.Code != wire.CodeIntegrity {
				t.Errorf("resumed: %v", err)
			}
			if got, err := s.Daemon.GetRun(t.Context(), everyone(), r.ID, 0); err != nil || got.State != "paused" ||
				got.Error == nil || got.Error.Name != wire.CodeIntegrity {
				t.Errorf("%+v, %v", got, err)
			}
			if n := len(s.Acts.Calls()); n != 0 {
				t.Errorf("%d acts", n)
			}
		})
	}
}

// TestForgedQuestions changes what a person or the harness is asked: nobody is
// asked, and no word on it counts.
func TestForgedQuestions(t *testing.T) {
	evil := profiles.Digest([]byte(`[{"to":"evil"}]`))
	for name, forge := range map[string][]string{
		"the arguments":              {`update call set args = '[{"to":"evil"}]'`},
		"arguments and digest":       {`update call set args = '[{"to":"evil"}]', args_digest = '` + evil + `'`},
		"the bridge":                 {`update call set bridge = 'log'`},
		"how many approve":           {`update call set needs = 1`},
		"who approves":               {`update call set owners = ''`},
		"until when":                 {`update call set expires = expires + 1000000`},
		"no approval is needed":      {`update call set waits_for = 'harness', needs = 0, acts = '', owners = '', expires = 0`},
		"the harness may":            {`update call set waits_for = 'harness', verdict = 'allow', decided_by = 'uid:1'`},
		"the harness may, by a word": {`update call set waits_for = 'harness', verdict = 'allow', decided_by = 'uid:1'`, word},
	} {
		t.Run(name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one sign!2@ops")
			r := start(t, s, "steps sign")
			p := waitPaused(t, s, r.ID).Pending[0]
			s.Close(t)
			edit(t, s, forge...)
			s = again(t, s, daemontest.Config{})
			got, err := s.Daemon.GetRun(t.Context(), everyone(), r.ID, 0)
			if err != nil || len(got.Pending) != 0 || got.Error == nil || got.Error.Name != wire.CodeIntegrity {
				t.Errorf("%+v, %v", got, err)
			}
			if list, err := s.Daemon.ListApprovals(t.Context(), everyone(), waiting.Page{}); err != nil ||
				len(list.Approvals) != 0 {
				t.Errorf("listed: %+v, %v", list, err)
			}
			for _, digest := range []string{p.Digest, evil} {
				_, err := s.Daemon.Approve(t.Context(), person("uid:1", "ops"), r.ID, p.ID,
					wire.ApprovalAnswer{Verdict: "allow", Digest: digest})
				if err == nil {
					t.Error("approved")
				}
				_, err = s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{Answers: []wire.Answer{
					{Call: p.ID, Value: json.RawMessage("1"), Digest: digest}}})
				if err == nil {
					t.Error("answered")
				}
			}
		})
	}
}

// TestForgedWordBesideATrueOne puts a word beside that of a real approver, of the
// two that are needed: the second real one finds it out, live and paused.
func TestForgedWordBesideATrueOne(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!2")
	r := start(t, s, "steps pay")
	p := waitPaused(t, s, r.ID).Pending[0]
	s.Close(t)
	edit(t, s, word)
	s = again(t, s, daemontest.Config{})
	_, err := allow(t, s, person("uid:1"), r.ID, p)
	var stuck *waiting.StuckError
	if !errors.As(err, &stuck) || stuck.Code != wire.CodeIntegrity || len(s.Acts.Calls()) != 0 {
		t.Errorf("%v, %d acts", err, len(s.Acts.Calls()))
	}
}

// TestMarksOfAnotherKey: words under a key that is not configured are told apart
// from forged ones.
func TestMarksOfAnotherKey(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!2")
	r := start(t, s, "steps pay")
	p := waitPaused(t, s, r.ID).Pending[0]
	if _, err := allow(t, s, person("uid:1"), r.ID, p); err != nil {
		t.Fatal(err)
	}
	s = again(t, s, daemontest.Config{Key: "other"})
	_, err := allow(t, s, person("uid:2"), r.ID, p)
	var stuck *waiting.StuckError
	if !errors.As(err, &stuck) || stuck.Code != wire.CodeKeyUnknown {
		t.Errorf("%v", err)
	}
	s = again(t, s, daemontest.Config{})
	s.Clock.Advance(time.Second)
	if _, err := allow(t, s, person("uid:2"), r.ID, p); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, s, r.ID); got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%+v, %d acts", got, len(s.Acts.Calls()))
	}
}
