package enclose_test

import (
	"testing"

	"github.com/ringd/ringd/profiles"
)

func TestTrue(t *testing.T) {
	l := launch(t)
	l.send(orderOf(t, profiles.Kernel{}, "/usr/bin/true"))
	r := l.stands()
	t.Log(r)
	l.run("/usr/bin/true")
	if code := l.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
