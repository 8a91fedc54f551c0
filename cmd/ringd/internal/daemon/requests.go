package daemon

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Limits of a request.
const (
	MaxSource = 1 << 20 // of a program, in bytes
	MaxInputs = 4 << 20 // of all inputs, in bytes
	MaxNames  = 256     // of the name of an agent, a program or an input, in bytes
)

// checkRunRequest checks a request of actor for a run, and fills in the agent if it is missing.
func checkRunRequest(actor string, req *wire.RunRequest) error {
	if req.Agent == "" {
		req.Agent = "default"
	}
	size := 0
	for name, v := range req.Inputs {
		if len(name) > MaxNames {
			return requestsInvalid("inputs", fmt.Sprintf("a name is longer than %d bytes", MaxNames))
		}
		size += len(name) + len(v)
	}
	switch {
	case actor == "":
		return requestsInvalid("", "the request has no actor")
	case req.Executor == "":
		return requestsInvalid("executor", "is missing: js, python or shell")
	case len(req.Executor) > MaxNames || len(req.Agent) > MaxNames || len(req.Program.Name) > MaxNames:
		return requestsInvalid("", fmt.Sprintf("a name is longer than %d bytes", MaxNames))
	case req.Parent != nil && (req.Parent.Run == "" || req.Parent.Call == ""):
		return requestsInvalid("parent", "needs run and call")
	case req.Parent != nil && (len(req.Parent.Run) > MaxNames || len(req.Parent.Call) > MaxNames):
		return requestsInvalid("parent", fmt.Sprintf("a name is longer than %d bytes", MaxNames))
	case len(req.Program.Source) > MaxSource:
		return requestsInvalid("program.source", fmt.Sprintf("is larger than %d bytes", MaxSource))
	case len(req.Program.Stdin) > MaxInputs:
		return requestsInvalid("program.stdin", fmt.Sprintf("is larger than %d bytes", MaxInputs))
	case (req.Program.Stdin != "" || req.Program.Cwd != "") &&
		req.Executor != profiles.ExecutorShell && req.Executor != profiles.ExecutorPython:
		return requestsInvalid(
			"program",
			"stdin and cwd are only for the executors shell and python",
		)
	case req.Program.Cwd != "" && (!path.IsAbs(req.Program.Cwd) || path.Clean(req.Program.Cwd) != req.Program.Cwd ||
		strings.Contains(req.Program.Cwd, "\x00")):
		return requestsInvalid("program.cwd", "is not an absolute path without \".\", \"..\" and a slash at the end")
	case size > MaxInputs:
		return requestsInvalid("inputs", fmt.Sprintf("are larger than %d bytes", MaxInputs))
	case req.WaitMillis < 0 || req.WaitMillis > wire.MaxWaitMillis:
		return requestsInvalid("wait_ms", fmt.Sprintf("is not between 0 and %d", wire.MaxWaitMillis))
	}
	return session(req.Session)
}

// session checks the name of a session.
func session(name string) error {
	if len(name) > MaxNames ||
		strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '/' }) {
		return requestsInvalid(
			"session",
			fmt.Sprintf("want at most %d bytes without control characters and slashes", MaxNames),
		)
	}
	return nil
}

func checkAnswers(answers wire.Answers) error {
	if len(answers.Answers) == 0 {
		return requestsInvalid("answers", "are missing")
	}
	if answers.WaitMillis < 0 || answers.WaitMillis > wire.MaxWaitMillis {
		return requestsInvalid("wait_ms", fmt.Sprintf("is not between 0 and %d", wire.MaxWaitMillis))
	}
	seen := map[string]bool{}
	for i, a := range answers.Answers {
		field := fmt.Sprintf("answers[%d]", i)
		switch {
		case (a.Error == nil) == (a.Value == nil):
			return requestsInvalid(field, "needs exactly one of value and error")
		case seen[a.Call]:
			return requestsInvalid(field, "answers a call twice")
		}
		seen[a.Call] = true
	}
	return nil
}

func requestsInvalid(field, text string) error { return &policy.InvalidError{Field: field, Text: text} }
