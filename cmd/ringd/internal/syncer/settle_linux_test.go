package syncer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
)

// stranger is the user of a daemon that does not own the policy.
const stranger = 4712

// TestMain lets the test binary be a syncer of another user.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RINGD_TEST_SYNC"); dir != "" {
		os.Exit(watchAsStranger(dir, os.Getenv("RINGD_TEST_SETTLE") != ""))
	}
	os.Exit(m.Run())
}

// teller prints what it is told.
type teller struct{}

func (teller) Apply(_ context.Context, p syncer.Push) error {
	fmt.Println("apply", strings.ReplaceAll(string(p.Sources[0].Data), "\n", "/"))
	return nil
}
func (teller) Current(context.Context, string) {}
func (teller) Reject(_ context.Context, err error) {
	fmt.Println("reject", errors.Is(err, syncer.ErrFresh), err)
}
func (teller) Lost(_ context.Context, err error) { fmt.Println("lost", err) }

// watchAsStranger watches until its input ends; each line there puts its clock two hours
// ahead, or right again, and a file has to stay as it is for one.
func watchAsStranger(dir string, settle bool) int {
	var ahead atomic.Int64
	cfg := syncer.Config{Dir: dir, Sink: teller{}, Now: func() time.Time {
		return time.Now().Add(time.Duration(ahead.Load()) * 2 * time.Hour)
	},
		After: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTimer(min(d, 5*time.Millisecond))
			return t.C, func() { t.Stop() }
		}}
	if settle {
		cfg.Settle = time.Hour
	}
	s, err := syncer.Start(context.Background(), cfg)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		ahead.Store(1 - ahead.Load())
		fmt.Println("clock")
	}
	if s.Close() != nil {
		return 1
	}
	return 0
}

// TestSettle: half a policy of another owner, of which no lease can be had, is never
// handed over while its writer is at work, and the whole is. Without the wait it is.
func TestSettle(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs two users")
	}
	for _, settle := range []bool{true, false} {
		t.Run(fmt.Sprint("settle ", settle), func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "ringd-settle") // a folder that the stranger can enter
			must(t, err, os.Chmod(dir, 0o755))
			defer os.RemoveAll(dir)
			policy := filepath.Join(dir, "p.yaml")
			write(t, policy, "old")
			self, err := os.Executable()
			must(t, err)
			copied := filepath.Join(dir, ".binary") // where the test binary lies only its owner may look
			b, err := os.ReadFile(self)
			must(t, err, os.WriteFile(copied, b, 0o755))
			c := exec.CommandContext(t.Context(), copied)
			c.Env = []string{"RINGD_TEST_SYNC=" + dir}
			if settle {
				c.Env = append(c.Env, "RINGD_TEST_SETTLE=1")
			}
			c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{
				Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
			in, err := c.StdinPipe()
			must(t, err)
			out, err := c.StdoutPipe()
			must(t, err, c.Start())
			lines := bufio.NewScanner(out)
			until := func(want string) {
				t.Helper()
				for lines.Scan() {
					if lines.Text() == want || strings.HasPrefix(lines.Text(), want+" ") {
						return
					}
					if strings.HasPrefix(lines.Text(), "apply") {
						t.Fatalf("%q came before %q", lines.Text(), want)
					}
				}
				t.Fatalf("never came: %s", want)
			}
			later := func() {
				t.Helper()
				_, err := in.Write([]byte("\n"))
				must(t, err)
			}
			if settle {
				until("reject true")
				later() // it is old enough then
			}
			until("apply old")
			if settle {
				later() // and the clock right again
				until("clock")
			}
			f, err := os.OpenFile(policy, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			defer f.Close()
			_, err = f.WriteString("allow: git\n")
			must(t, err)
			if !settle {
				until("apply allow: git/") // what is wrong without it
				must(t, in.Close(), c.Wait())
				return
			}
			until("reject true")
			_, err = f.WriteString("deny: push\n")
			must(t, err, f.Close())
			later()
			until("apply allow: git/deny: push/")
			must(t, in.Close(), c.Wait())
		})
	}
}
