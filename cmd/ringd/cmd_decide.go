package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/profiles"
)

func newDecide(p *program) *cobra.Command {
	var policy, agent, workspace string
	cmd := &cobra.Command{
		Use:   "decide -p PATH",
		Short: "Decide actions, one a line; runs nothing",
		Long: `Decide reads one action a line from stdin, as JSON, and prints one decision a
line, in the same order. It runs nothing, opens nothing and resolves nothing.
A line that is not a valid action is denied as action.malformed; the rest goes
on.

Exit codes: 0 nothing denied, 1 something denied, 2 the policy or stdin cannot
be read.`,
		Example: `  echo '{"import":{"executor":"python","module":"urllib3.util"}}' |
    ringd decide -p policy.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := readPolicy(policy)
			if err != nil {
				return err
			}
			set, found, err := p.compile(cmd.Context(), files)
			if err != nil {
				return err
			}
			if err := p.refuseFindings(found); err != nil {
				return err
			}
			d := set.Decider(defaultAgent(set, agent), profiles.Environment{Workspace: workspace, Home: p.env.Home})
			denied, err := decideLines(cmd.Context(), d, set.Revision, p.in, p.out)
			if err != nil {
				return &exit{exitUsage, err}
			}
			if denied {
				return &exit{exitRefused, nil}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&policy, "policy", "p", "", "policy file or folder (required)")
	agentFlag(cmd, &agent)
	cmd.Flags().StringVar(&workspace, "workspace", "/workspace", "what $WORKSPACE stands for")
	required(cmd, "policy")
	return cmd
}

func agentFlag(cmd *cobra.Command, agent *string) {
	cmd.Flags().StringVar(agent, "agent", "", "agent (default: the only one, else \"default\")")
}

// defaultAgent is the agent that is meant when none is named: the only one of
// the set, else that of the compact form.
func defaultAgent(set *profiles.Set, agent string) string {
	if agent == "" && len(set.Agents) == 1 {
		for name := range set.Agents {
			return name
		}
	}
	if agent == "" {
		return "default"
	}
	return agent
}

// decideLines answers every line of in, and flushes when no further line is
// there yet, so that a caller may ask and wait. A line above the largest action
// is denied without being kept.
func decideLines(ctx context.Context, d *profiles.Decider, revision string, in io.Reader, out io.Writer) (denied bool, err error) {
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for {
		if ctx.Err() != nil {
			return denied, fmt.Errorf("decide: %w", context.Cause(ctx))
		}
		line, tooLong, err := readLine(r, profiles.MaxActionBytes)
		if errors.Is(err, io.EOF) {
			return denied, w.Flush()
		}
		if err != nil {
			return denied, fmt.Errorf("read actions: %w", err)
		}
		dec := decideLine(d, line, tooLong)
		if dec.Revision == "" {
			dec.Revision = revision
		}
		denied = denied || dec.Verdict == profiles.Deny
		if err := enc.Encode(dec); err != nil {
			return denied, fmt.Errorf("write decisions: %w", err)
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return denied, fmt.Errorf("write decisions: %w", err)
			}
		}
	}
}

func decideLine(d *profiles.Decider, line []byte, tooLong bool) profiles.Decision {
	if tooLong {
		return profiles.Malformed(fmt.Errorf("action is larger than %d bytes", profiles.MaxActionBytes))
	}
	action, err := profiles.DecodeAction(line)
	if err != nil {
		return profiles.Malformed(err)
	}
	return d.Decide(action)
}

// readLine reads up to a newline or the end. Of a line above max it keeps
// nothing but says so. io.EOF means that there is no further line.
func readLine(r *bufio.Reader, max int) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		ended := err == nil || errors.Is(err, io.EOF)
		if !ended && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
		if !tooLong && len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > max {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, io.EOF) && len(part) == 0 && len(line) == 0 && !tooLong {
			return nil, false, io.EOF
		}
		if ended {
			return bytes.TrimSuffix(line, []byte("\n")), tooLong, nil
		}
	}
}
