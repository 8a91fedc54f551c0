package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// root is the folder of the repository.
const root = "../../../.."

// figures is the page of the metrics.
func figures(t *testing.T, s *daemontest.Stack) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(
		context.WithoutCancel(t.Context()), "GET", "/metrics", nil))
	return w.Body.String()
}

// faultTable is the last column of the fault table of docs/ARCHITECTURE.md.
func faultTable(t *testing.T) (codes []string) {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| what goes wrong |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		codes = append(codes, strings.Trim(cells[3], " `"))
	}
	return codes
}

// TestClosedIsShown: whatever row of the fault table holds, ringd_closed is 1 exactly
// when every new run is refused, ringd_condition shows the row, and status agrees.
func TestClosedIsShown(t *testing.T) {
	const sync = 10 * time.Minute
	var free atomic.Uint64
	var archive string
	states := map[string]struct {
		closed bool
		bring  func(t *testing.T, s *daemontest.Stack)
	}{
		wire.ConditionNoPolicy: {true, nil},
		wire.ConditionLockdown: {true, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			s.Lock.Begin(t.Context(), "uid:1", "fire")
		}},
		wire.ConditionPushRejected: {false, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("broken")); err == nil {
				t.Fatal("taken")
			}
		}},
		wire.ConditionExecutorClosed: {false, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			s.Executor.Reject(errors.New("no"))
			if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("two act")); err == nil {
				t.Fatal("taken")
			}
		}},
		wire.ConditionSyncLost: {false, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			s.Daemon.Sink().Lost(t.Context(), errors.New("it is gone"))
		}},
		wire.ConditionStale: {true, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			s.Daemon.Sink().Lost(t.Context(), errors.New("it is gone"))
			s.Clock.Advance(2 * sync)
			until(t, s, func() bool { return s.Daemon.Status(t.Context()).Generation == 0 })
		}},
		wire.ConditionDiskLow: {true, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			free.Store(1)
			until(t, s, func() bool { _, err := run(t, s, "1+1"); return errors.Is(err, daemon.ErrDiskLow) })
		}},
		wire.ConditionNotArchived: {false, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			if err := os.Remove(archive); err != nil {
				t.Fatal(err)
			}
			until(t, s, func() bool {
				s.Clock.Advance(10 * time.Second)
				return slices.ContainsFunc(s.Daemon.Status(t.Context()).Conditions,
					func(c wire.Condition) bool { return c.Code == wire.ConditionNotArchived })
			})
			if page := figures(t, s); !strings.Contains(page, "\nringd_faults_total{place=\"archive\"} ") ||
				strings.Contains(page, "\nringd_faults_total{place=\"archive\"} 0\n") {
				t.Error(page)
			}
		}},
		wire.ConditionAuditUnavailable: {true, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			s.Faults.On(func(what string) error {
				if strings.HasPrefix(what, "audit ") {
					return errInjected
				}
				return nil
			})
			_, _ = run(t, s, "1+1")
		}},
		wire.ConditionDraining: {true, func(t *testing.T, s *daemontest.Stack) {
			s.Apply(t, "one act")
			if err := s.Daemon.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, code := range faultTable(t) {
		if _, ok := states[code]; !ok {
			t.Errorf("the fault table has %s, and nobody tries it here", code)
		}
	}
	for code, st := range states {
		t.Run(code, func(t *testing.T) {
			free.Store(1000)
			archive = t.TempDir()
			s := daemontest.New(t, daemontest.Config{Staleness: sync,
				Archive: daemon.Archive{To: archive, Bytes: 1 << 30}, Room: &daemon.Room{Floor: 100,
					Free:   func() (uint64, bool) { return free.Load(), true },
					Shares: func(string) bool { return false }}})
			if st.bring != nil {
				if page := figures(t, s); !strings.Contains(page, "\nringd_condition{code=\""+code+"\"} 0\n") {
					t.Error("it holds from the start")
				}
				st.bring(t, s)
			}
			page, want := figures(t, s), "\nringd_closed 0\n"
			if st.closed {
				want = "\nringd_closed 1\n"
			}
			if !strings.Contains(page, want) || !strings.Contains(page, "\nringd_condition{code=\""+code+"\"} 1\n") {
				t.Errorf("want%s%s", want, page)
			}
			if ready := s.Daemon.Status(t.Context()).Ready; ready == st.closed {
				t.Errorf("status says ready %v", ready)
			}
			if r, err := run(t, s, "1+1"); code != wire.ConditionExecutorClosed &&
				(err != nil || r.State != "done") != st.closed {
				t.Errorf("a run: %+v, %v", r, err)
			}
			free.Store(1000)
		})
	}
}

// TestClosesIsShown: what is about to be closed, and the sizes, have figures.
func TestClosesIsShown(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Staleness: 10 * time.Minute})
	s.Apply(t, "one act")
	if page := figures(t, s); strings.Contains(page, "\nringd_closes_seconds") ||
		strings.Contains(page, "\nringd_push_expires_seconds") ||
		!strings.Contains(page, "\nringd_audit_log_segments 1\n") ||
		strings.Contains(page, "\nringd_audit_log_bytes 0\n") {
		t.Error(page)
	}
	s.Daemon.Sink().Lost(t.Context(), errors.New("it is gone"))
	s.Clock.Advance(time.Minute)
	if page := figures(t, s); !strings.Contains(page, "\nringd_closes_seconds 540\n") {
		t.Error(page)
	}
}

// TestConditionsAreListed: every condition that status may have is among those that
// have a figure.
func TestConditionsAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "schema/wire/status.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`\tCondition\w+ += "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	have := wire.Conditions()
	slices.Sort(all)
	slices.Sort(have)
	if len(all) < 10 || !slices.Equal(all, have) {
		t.Errorf("constants %v, list %v", all, have)
	}
}

// TestMetricsDocument: docs/METRICS.md has each figure with its help, and no other.
func TestMetricsDocument(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Room: &daemon.Room{
		Free: func() (uint64, bool) { return 1, true }, Shares: func(string) bool { return false }}})
	s.Apply(t, "one act")
	s.Metrics.Living("python", func() (int, int64) { return 0, 0 })
	var help []string
	for name, text := range s.Metrics.Help() {
		help = append(help, "| `"+name+"` | "+text)
	}
	slices.Sort(help)
	f, err := os.Open(root + "/docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var have []string
	for in := bufio.NewScanner(f); in.Scan(); {
		if line := in.Text(); strings.HasPrefix(line, "| `ringd_") {
			have = append(have, line)
		}
	}
	slices.Sort(have)
	if os.Getenv("RINGD_SHOW") != "" {
		t.Log("\n" + strings.Join(help, "\n"))
	}
	for _, line := range help {
		if !slices.Contains(have, line) {
			t.Errorf("docs/METRICS.md lacks %s", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(help, line) {
			t.Errorf("docs/METRICS.md has %s", line)
		}
	}
}
