package spawn

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseSession(t *testing.T) {
	for _, c := range []struct {
		line string
		own  int
		want int
		bad  bool
	}{
		{"/autogroup-17 nice 5\n", 14, 5, false},
		{"/autogroup-17 nice 0\n", 14, 0, false}, // the nice value counts within the session alone
		{"/autogroup-17 nice -20\n", 0, -20, false},
		{"", 14, 14, false},
		{"", 0, 0, false},
		{"/autogroup-17 nice", 14, 0, true},
	} {
		got, err := parseSession(c.line, c.own)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q at %d: %d %v, want %d", c.line, c.own, got, err, c.want)
		}
	}
}

// lowWeight is the variable of the process that TestGuestsWeighNoMore starts.
const lowWeight = "RINGD_TEST_LOW_WEIGHT"

// A process in a session of low weight starts guests, and other programs, whose sessions have the same weight, also
// when it starts more of them at a time than an ordinary user may weigh in a second.
func TestGuestsWeighNoMore(t *testing.T) {
	if os.Getenv(lowWeight) != "" {
		weighNoMore(t)
		return
	}
	if _, err := os.Stat(autogroup("self")); err != nil {
		t.Skip(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestGuestsWeighNoMore$", "-test.v")
	c.Env = append(os.Environ(), lowWeight+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "SKIP") {
		t.Skipf("%s", out)
	}
}

func weighNoMore(t *testing.T) {
	const low = 12
	if err := setSession("self", low); err != nil {
		t.Fatal(err)
	}
	s, place := spawner(t)
	check := func(p *os.Process) {
		line, err := os.ReadFile(autogroup(strconv.Itoa(p.Pid)))
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(line)), " nice "+strconv.Itoa(low)) {
			t.Errorf("its session: %q %v", line, err)
		}
	}
	var all sync.WaitGroup
	for range 15 {
		all.Go(func() {
			process, control, err := s.Init(place)
			if err != nil {
				t.Error(err)
				return
			}
			check(process)
			if err := (&started{process, control, place}).drop(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	p, err := s.Unconfined([]string{"/bin/sleep", "60"}, nil, "/", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	check(p)
	if err := End(p); err != nil {
		t.Error(err)
	}
	p, err = s.Unconfined([]string{"/bin/true"}, nil, "/", nil, false) // it may have ended before it is weighed
	if err != nil {
		t.Fatal(err)
	}
	var end unix.WaitStatus
	if _, err := unix.Wait4(p.Pid, &end, 0, nil); err != nil || end.ExitStatus() != 0 {
		t.Errorf("%v %v", end, err)
	}
}
