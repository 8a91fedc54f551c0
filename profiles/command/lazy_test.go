package command_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// TestConcurrent: rules that nobody has asked yet are asked by many at once.
func TestConcurrent(t *testing.T) {
	for range 20 {
		r := command.New(command.Config{
			Binaries: []command.Binary{
				{Path: "/usr/bin/git", Allow: [][]string{{"status"}, {"push"}}, Deny: [][]string{{"push", "--force"}}, Ask: [][]string{{"push"}}}},
			Patterns: [][]string{{"git", "status", "-z"}, {}, {"git", "gc"}},
		})
		var all sync.WaitGroup
		for text, want := range map[string]command.Verdict{
			"git status": command.Allow, "git push": command.Ask, "git push -f": command.Deny, "git status -sz": command.Deny, "git gc": command.Deny, "git log": command.Deny,
		} {
			for range 2 {
				all.Go(func() {
					if j := r.Judge(argv.Command{Words: argv.AllKnown(strings.Fields(text))}); j.Verdict != want {
						t.Errorf("%s: %+v", text, j)
					}
				})
			}
		}
		all.Wait()
	}
}
