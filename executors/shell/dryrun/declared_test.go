package dryrun_test

import (
	"testing"

	"github.com/ringd/ringd/executors/shell/dryrun"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// What the policy declares is no change of a script: the same variable, set by the
// script itself, is refused.
func TestDeclaredVariables(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		env          []string
		refused      bool
	}{
		{"declared", "git fetch", []string{"GIT_SSH_COMMAND=ssh -i key"}, false},
		{"declared and kept", "GIT_SSH_COMMAND=$GIT_SSH_COMMAND git fetch", nil, true},
		{"set", "x=GIT_SSH_COMMAND; export $x=other; git fetch", []string{"GIT_SSH_COMMAND=ssh -i key"}, true},
		{"seen", `[ "$CI" = true ] && git fetch || curl x`, []string{"CI=true"}, false},
		{"not seen", `[ "$CI" = true ] && git fetch || curl x`, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent := profiles.Agent{
				Shell: &profiles.Shell{Binaries: []profiles.Binary{{Path: "/usr/bin/git"}}, Env: tt.env, Pipes: true,
					Redirects: true, Substitution: true}}
			s, refusal := script.Parse(tt.script)
			if refusal != nil {
				t.Fatal(refusal)
			}
			got := dryrun.Run(t.Context(),
				dryrun.Config{Decider: profiles.NewDecider(agent, "", profiles.Environment{})}, s)
			if (len(got.Refused) > 0) != tt.refused {
				t.Errorf("refused %+v, want %t", got.Refused, tt.refused)
			}
		})
	}
}

// A text that a program gives to a shell sees the variables that the script exports.
func TestVariablesOfInnerTexts(t *testing.T) {
	for _, tt := range []struct {
		script  string
		refused bool
	}{
		{`export A=curl; find . -exec sh -c '$A x' \;`, true},
		{`A=curl find . -exec sh -c 'eval "$A"' \;`, true},
		{`export A=curl; find . -exec sh -c 'xargs sh -c "\$A"' \;`, true},
		{`export A=git; find . -exec sh -c '$A status' \;`, false},
		{`A=curl; find . -exec sh -c '$A' \;`, false}, // not exported
	} {
		t.Run(tt.script, func(t *testing.T) {
			shell := profiles.Shell{Pipes: true, Redirects: true, Substitution: true}
			for _, p := range []string{"git", "find", "xargs", "sh"} {
				shell.Binaries = append(shell.Binaries, profiles.Binary{Path: "/usr/bin/" + p, Interpreted: p == "sh"})
			}
			s, refusal := script.Parse(tt.script)
			if refusal != nil {
				t.Fatal(refusal)
			}
			got := dryrun.Run(t.Context(),
				dryrun.Config{Decider: profiles.NewDecider(profiles.Agent{Shell: &shell}, "", profiles.Environment{})},
				s)
			if (len(got.Refused) > 0) != tt.refused {
				t.Errorf("refused %+v, want %t", got.Refused, tt.refused)
			}
		})
	}
}
