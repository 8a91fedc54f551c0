package main

import (
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/answer"
	"github.com/ringd/ringd/cmd/ringd/internal/script"
	"github.com/ringd/ringd/profiles"
)

// verbScripts is this binary where it reads scripts.
const verbScripts = "shell-check"

// answers is what decide and explain are made of.
func (p *program) answers() answer.Config {
	return answer.Config{Program: p.Program, Now: time.Now, Compile: p.compiled, Scripts: p.scripts()}
}

// scripts says how to start what reads scripts.
func (p *program) scripts() script.Config {
	return script.Config{Path: p.Self, Args: []string{verbScripts}}
}

// readScript decides a script in the process that reads it.
func readScript(d *profiles.Decider, _ profiles.ShellAction, _ bool) (profiles.Decision, any) {
	return profiles.Decision{Code: profiles.CodeExecutorUnavailable, Reason: "this build has no shell executor to read the script", Revision: d.Revision()}, nil
}
