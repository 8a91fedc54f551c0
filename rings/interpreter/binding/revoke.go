package binding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Prefixes of the grants that can be taken from a run.
const (
	GrantBridge = "bridge:"
	GrantImport = "import:"
	grantHost   = "host:"
	grantExec   = "exec:"
)

// ErrGrant says that a text is not the name of a grant, or of none that the run can lose.
var ErrGrant = errors.New("not a grant of this run")

// Revocable returns those of the grants that a live run can lose. If some cannot be lost, flaw says why the first
// of them cannot, and wraps ErrGrant. If all can be lost, flaw is nil.
func (b *Binding) Revocable(grants []string) (can []string, flaw error) {
	if len(grants) == 0 {
		return nil, fmt.Errorf("revoke: none is named: %w", ErrGrant)
	}
	for _, g := range grants {
		text := b.irrevocable(g)
		if text == "" {
			can = append(can, g)
		} else if flaw == nil {
			flaw = fmt.Errorf("revoke %s: %s: %w", jsonvalue.Clip(g, 40), text, ErrGrant)
		}
	}
	return can, flaw
}

// irrevocable says why a live run cannot lose a grant. It is empty if it can.
func (b *Binding) irrevocable(grant string) string {
	name, bridge := strings.CutPrefix(grant, GrantBridge)
	has := b.recorded[0].Has(name)
	host, isHost := strings.CutPrefix(grant, grantHost)
	program, isExec := strings.CutPrefix(grant, grantExec)
	switch {
	case len(grant) > 256:
		return "too long"
	case bridge && !has:
		return "the run has no such bridge"
	case strings.HasPrefix(grant, GrantImport):
		return "a module cannot be taken from a live guest; cancel the run"
	case isExec && !b.lists(program):
		return "the run has no grant for this program"
	case !bridge && !isHost && !isExec:
		return "want bridge:NAME, host:NAME, exec:PATH or import:NAME"
	case isHost:
		if _, err := egress.ReadPattern(host); err != nil {
			return err.Error()
		}
	}
	return ""
}

// lists reports whether the policy of the start lists a program.
func (b *Binding) lists(program string) bool {
	shell := b.recorded[0].Agent.Shell
	listed := func(p profiles.Binary) bool { return p.Path == program }
	return shell != nil && slices.ContainsFunc(shell.Binaries, listed)
}
