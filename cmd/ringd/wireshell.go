package main

import (
	"context"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/dryrun"
	"github.com/ringd/ringd/executors/shell/preflight"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// verbScripts is the hidden command that parses scripts, verbCalls the one that evaluates guardrails and
// conditions on calls.
const (
	verbScripts = "shell-check"
	verbCalls   = "call-check"
)

// answers returns the configuration of decide and explain.
func (p policyVerbs) answers() commands.DecideConfig {
	return commands.DecideConfig{
		Program: p.Program,
		Now:     time.Now,
		Compile: p.policies().Compiled,
		Layers:  p.layers,
		Scripts: p.scripts(),
		Calls:   p.calls(),
	}
}

// scripts returns how to start the process that parses scripts.
func (p *program) scripts() worker.ScriptsConfig {
	return worker.ScriptsConfig{Path: p.Self, Args: []string{verbScripts}, Home: p.Env.Home}
}

// calls returns how to start the process that evaluates guardrails and conditions.
func (p *program) calls() worker.CallsConfig {
	return worker.CallsConfig{Path: p.Self, Args: []string{verbCalls}}
}

// readScript decides a script in the process that parses it.
func readScript(d *profiles.Decider, a profiles.ShellAction, tree bool) (profiles.Decision, any) {
	dec, report := dryrun.Decide(context.Background(), d, a)
	dec.Text = shellproto.RefusalText(dec, shellproto.RefusalPlace{Script: a.Script})
	if !tree || report == nil {
		return dec, nil
	}
	return dec, scriptNodes(report.Tree)
}

// scriptNodes converts commands for display.
func scriptNodes(tree []*preflight.Node) []worker.ScriptNode {
	out := make([]worker.ScriptNode, len(tree))
	for i, n := range tree {
		out[i] = worker.ScriptNode{
			Kind:     n.Kind,
			Text:     n.Text,
			Line:     n.Line,
			Column:   n.Column,
			Chain:    n.Chain,
			Children: scriptNodes(n.Children),
		}
		switch n.Verdict {
		case command.Allow:
			out[i].Verdict = profiles.Allow.String()
		case command.Ask:
			out[i].Verdict = profiles.Ask.String()
		case command.Unsettled:
			out[i].Verdict = "at run time"
		case command.Deny:
			out[i].Verdict = profiles.Deny.String()
			if n.Decision.Code != profiles.CodeAllowed { // otherwise a command below it is denied
				out[i].Decision = &n.Decision
			}
		}
	}
	return out
}

// withShell adds the daemon's own provider of the bridge shell if the host names no other.
func withShell(named map[string]contract.Provider, scripts executors.Executor) map[string]contract.Provider {
	if named[bridges.ShellBridge] == nil {
		named[bridges.ShellBridge] = bridges.NewShell(scripts)
	}
	return named
}
