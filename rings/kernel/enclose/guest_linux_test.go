package enclose_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/order"
)

// modes are the two ways of an init.
var modes = []struct {
	name string
	reap bool
}{{"becomes the program", false}, {"stays", true}}

func TestTrue(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			l := launch(t)
			o := orderOf(t, profiles.Kernel{}, "/usr/bin/true")
			o.Reap = m.reap
			l.send(o)
			r := l.stands()
			if len(r.Proved) < 15 || r.ABI < 1 {
				t.Errorf("proved %q with version %d of Landlock", r.Proved, r.ABI)
			}
			l.run("/usr/bin/true")
			if m.reap {
				if got := l.told(); !got.Started {
					t.Errorf("told %+v, want started", got)
				}
				if got := l.told(); !got.Ended || got.Code != 0 || got.Signal != 0 {
					t.Errorf("told %+v, want ended with 0", got)
				}
			}
			if code := l.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func (l *launched) told() (t order.Told) {
	l.t.Helper()
	if _, err := l.receive(&t); err != nil {
		l.t.Fatalf("not told: %v", err)
	}
	return t
}

var _ = errors.Is
var _ = io.EOF
var _ = strings.Contains
