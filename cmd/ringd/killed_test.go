package main

// In the package: it is main with a point set.

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
)

// The variables that tell ringd-killed where to die. Only tests read them.
const (
	killAt  = "RINGD_TEST_KILL_AT"
	killNth = "RINGD_TEST_KILL_NTH"
)

// killedMain is main that kills itself the Nth time it comes to a labelled point.
func killedMain() {
	label := os.Getenv(killAt)
	nth, err := strconv.ParseInt(os.Getenv(killNth), 10, 64)
	if err != nil {
		main() // a guest of the daemon: its environment is empty
		return
	}
	var seen atomic.Int64
	point := func(at string) {
		if at == label && seen.Add(1) == nth {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // dead
		}
	}
	os.Exit(runAt(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, point))
}
