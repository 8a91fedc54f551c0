package shellguest // the environment of a script is made inside

import (
	"slices"
	"testing"

	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// A script begins with what its policy declares, and the proxy variables of the network win.
func TestEnvironment(t *testing.T) {
	agent := profiles.Agent{
		Shell: &profiles.Shell{Env: []string{"TZ=Europe/Vienna", "LANG=de_AT.UTF-8",
			"https_proxy=http://elsewhere.example"}}}
	r := &run{p: &process{cfg: Config{Env: []string{"https_proxy=http://127.0.0.1:3128", "GOMAXPROCS=2"}}},
		o: shellproto.Options{Agent: agent, Env: []string{"A=1"}}}
	got := r.environment()
	for _, want := range []string{"TZ=Europe/Vienna", "LANG=de_AT.UTF-8", "https_proxy=http://127.0.0.1:3128", "A=1",
		"TERM=dumb"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	for _, other := range []string{"LANG=C.UTF-8", "https_proxy=http://elsewhere.example", "GOMAXPROCS=2"} {
		if slices.Contains(got, other) {
			t.Errorf("%s in %q", other, got)
		}
	}
	r.o.Agent.Shell = nil
	if got := r.environment(); slices.Contains(got, "TZ=Europe/Vienna") || !slices.Contains(got, "LANG=C.UTF-8") {
		t.Errorf("without a policy: %q", got)
	}
}
