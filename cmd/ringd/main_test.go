package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary ringd when it is called so.
func TestMain(m *testing.M) {
	testscript.Main(shared{m}, map[string]func(){"ringd": main, "ringd-killed": killedMain,
		"ringd-lacking": lackingMain})
}

// sharedCache holds the compiled engine of the daemons that tests start.
var sharedCache string

type shared struct{ m *testing.M }

// Run runs the tests with a cache that all of them share.
func (s shared) Run() int {
	dir, err := os.MkdirTemp("", "ringd-test-cache-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sharedCache = dir
	return s.m.Run()
}
