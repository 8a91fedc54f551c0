package daemon_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// fake is an executor; of its guests the daemon's own tests have real ones.
type fake struct {
	run func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error)
}

func (fake) Name() string { return "js" }
func (fake) Close() error { return nil }
func (f fake) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	return f.run(ctx, r, h)
}

var canaryWord = regexp.MustCompile(`ringd_canary_[0-9a-f]+`)

// refuses is what a guest does that is refused all of it.
func refuses(_ context.Context, r executors.Run, _ executors.Host) (executors.Outcome, error) {
	return executors.Outcome{State: executors.StateDone, Value: []byte(`["refused","refused","refused"]`),
		Denials: []profiles.Decision{{Reason: "import of " + canaryWord.FindString(r.Program.Source)}}}, nil
}

type canaryLog struct{ kinds []audit.Kind }

func (l *canaryLog) Append(_ context.Context, r audit.Record, _ audit.Durability) (audit.Head, error) {
	l.kinds = append(l.kinds, r.Kind)
	return audit.Head{}, nil
}

// TestShort: an executor of which the host could not look whether it can run is not
// unavailable: the set waits, and nothing is on record against it.
func TestShort(t *testing.T) {
	for _, short := range []bool{true, false} {
		l, run := &canaryLog{}, func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, executors.Refused("js",
				&executors.Unavailable{Text: "does not start", Short: short})
		}
		r, err := daemon.NewCanary(daemon.CanaryConfig{Executors: map[string]executors.Executor{"js": fake{run}},
			Recorder: l,
			Go:       func(f func()) { go f() }, Now: time.Now, Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Prepare(t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{
			"b": {Name: "b", JS: &profiles.JS{}}}})
		var later interface{ Later() bool }
		if got := errors.As(err, &later) && later.Later(); got != short || (err != nil) != short || len(l.kinds) > 0 {
			t.Errorf("short %v: %v, on record %v", short, err, l.kinds)
		}
	}
}

func TestPrepare(t *testing.T) {
	port := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	value := func(text string) func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
			o, err := refuses(ctx, r, h)
			o.Value = []byte(text)
			return o, err
		}
	}
	for _, tt := range []struct {
		name, state, reason string
		locked              bool
		run                 func(context.Context, executors.Run, executors.Host) (executors.Outcome, error)
	}{
		{name: "refused", state: "loaded", run: refuses},
		{name: "module", state: "failed", reason: "import ringd_canary_", run: value(`["ran","refused","refused"]`)},
		{name: "host", state: "failed", reason: "host 127.0.0.1:", run: value(`["refused","ran","refused"]`)},
		{name: "binary", state: "failed", reason: "binary /", run: value(`["refused","refused","ran"]`)},
		{name: "no value", state: "failed", reason: "did not answer", run: value(``)},
		{name: "fewer", state: "failed", reason: "did not answer", run: value(`["refused"]`)},
		{name: "another refusal", state: "failed", reason: "was not refused by the policy", run: func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
			o, err := refuses(ctx, r, h)
			o.Denials = nil
			return o, err
		}},
		{name: "a liar with the host's network", state: "failed", reason: "reached a listener", run: func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", port.FindString(r.Program.Source))
			if err != nil {
				return executors.Outcome{}, err
			}
			_, _ = c.Read(make([]byte, 1)) // until it was met
			_ = c.Close()
			return refuses(ctx, r, h)
		}},
		{name: "hangs", state: "failed", reason: "did not answer", run: func(ctx context.Context, _ executors.Run, _ executors.Host) (executors.Outcome, error) {
			<-ctx.Done()
			return executors.Outcome{State: executors.StateCancelled}, nil
		}},
		{name: "fault", state: "failed", reason: "no guest", run: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, errors.New("no guest")
		}},
		{name: "not here", state: "unavailable", reason: "no layers", run: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, fmt.Errorf("start: %w",
				&profiles.Denial{Decision: profiles.Decision{Code: profiles.CodeTierUnavailable, Reason: "no layers"}})
		}},
		{name: "not granted", state: "failed", reason: "did not answer", run: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, &profiles.Denial{Decision: profiles.Decision{
				Code: profiles.CodeExecutorNotGranted, Reason: "not granted"}}
		}},
		{name: "lockdown", state: "pending", reason: "lockdown", locked: true, run: func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			t.Error("a guest ran")
			return executors.Outcome{}, nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &canaryLog{}
			r, err := daemon.NewCanary(daemon.CanaryConfig{Executors: map[string]executors.Executor{"js": fake{tt.run}},
				Recorder: l,
				Go:       func(f func()) { go f() }, Now: time.Now, Random: rand.Reader, Within: 200 * time.Millisecond,
				Locked: func() bool { return tt.locked }})
			if err != nil {
				t.Fatal(err)
			}
			set := &profiles.Set{Agents: map[string]profiles.Agent{
				"b": {Name: "b", JS: &profiles.JS{}}, "a": {Name: "a"}}}
			commit, err := r.Prepare(t.Context(), set)
			var named interface{ Executor() string }
			switch {
			case tt.state == "failed":
				if err == nil || !errors.As(err, &named) || named.Executor() != "js" ||
					!strings.Contains(err.Error(), tt.reason) ||
					len(l.kinds) != 1 || l.kinds[0] != audit.CanaryFailed {
					t.Fatalf("%v, on record %v", err, l.kinds)
				}
			case err != nil || len(l.kinds) > 0:
				t.Fatalf("%v, on record %v", err, l.kinds)
			default:
				if _, ok := r.Loaded("js"); ok {
					t.Error("loaded before it is in force")
				}
				commit()
			}
			c, ok := r.Loaded("js")
			if !ok || c.State != tt.state || c.Agent != "b" || !strings.Contains(c.Reason, tt.reason) {
				t.Errorf("%+v", c)
			}
			if _, ok := r.Loaded("python"); ok {
				t.Error("python is not granted")
			}
			commit, err = r.Prepare(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if commit(); true {
				if _, ok := r.Loaded("js"); ok {
					t.Error("nothing is in force")
				}
			}
		})
	}
}
