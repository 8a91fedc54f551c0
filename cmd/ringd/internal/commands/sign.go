// The commands for signed pushes: keygen, sign, verify, push and rollback. Signing refuses a policy that does
// not compile, and prints the statement that it signs. keygen overwrites no file.

package commands

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
)

// SigningConfig configures the commands.
type SigningConfig struct {
	*cli.Program
	Now    func() time.Time
	Random io.Reader // for keys
	// Compile reads and compiles a policy. It has printed what it refuses.
	Compile func(ctx context.Context, path string) (*profiles.Set, cli.Policy, error)
	// Guardrails checks a set against its guardrails, with the previous set. It has printed what they refuse.
	Guardrails func(ctx context.Context, set, previous *profiles.Set) error
	// Sleep waits between two requests to the daemon. It ends with ctx.
	Sleep func(ctx context.Context, d time.Duration)
}

// NewSigning returns the commands.
func NewSigning(c SigningConfig) []*cobra.Command {
	return []*cobra.Command{c.newKeygen(), c.newSign(), c.newVerify(), c.newPush(), c.newRollback()}
}

// maxLife limits the life of a push.
const maxLife = 398 * 24 * time.Hour

// signFlags holds the flags of sign and rollback.
type signFlags struct {
	keys                   []string
	out, previous, expires string
	issuer, reason         string
	audience               string
	sequence               int64
	json                   bool
	before                 *trust.Push // the previous push, if --previous is a file
}

func (t *signFlags) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.keys, "key", nil, "private key file; may be repeated (required)")
	f.StringVarP(&t.out, "output", "o", trust.FileName, "envelope to write")
	f.StringVar(&t.previous, "previous", "", "the push in force: its file or its revision")
	f.Int64Var(&t.sequence, "sequence", 0, "number of the push (default: --previous + 1, or 1)")
	f.StringVar(&t.expires, "expires", "30d", "expiry: 30d, 12h, or a time")
	f.StringVar(&t.issuer, "issuer", "", "issuer, such as user:ana@acme.example (required)")
	f.StringVar(&t.audience, "audience", "", "hosts that it is for (default: as in --previous)")
	f.StringVar(&t.reason, "reason", "", "reason, in one line; every host records it")
	f.BoolVar(&t.json, "json", false, "print JSON")
	_ = cmd.MarkFlagRequired("key") // the flag is defined above
	_ = cmd.MarkFlagRequired("issuer")
	_ = cmd.MarkFlagFilename("key")
	_ = cmd.MarkFlagFilename("previous")
	_ = cmd.MarkFlagFilename("output", "json")
	for _, name := range []string{"sequence", "expires", "issuer", "audience", "reason"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// read reads the keys and the previous push, and returns the statement to sign.
func (c SigningConfig) read(t *signFlags) (trust.Statement, []ed25519.PrivateKey, error) {
	var s trust.Statement
	keys, err := c.keys(t.keys)
	if err != nil {
		return s, nil, err
	}
	now := c.Now().UTC().Truncate(time.Second)
	s = trust.Statement{Sequence: t.sequence, Issued: now, Reason: t.reason, Issuer: t.issuer, Audience: t.audience}
	if s.Expires, err = parseExpiry(t.expires, now); err != nil {
		return s, nil, err
	}
	switch {
	case t.previous == "":
		s.Sequence = cmp.Or(s.Sequence, 1)
	case strings.HasPrefix(t.previous, "sha256:"):
		if s.Previous = t.previous; s.Sequence == 0 {
			return s, nil, cli.Usage("--previous REVISION needs --sequence: one above that of the push in force, as " +
				"ringd status shows it")
		}
	default:
		raw, err := readKeyFile(t.previous)
		if err != nil {
			return s, nil, err
		}
		if t.before, _, err = trust.Peek(raw); err != nil {
			return s, nil, cli.Usage("--previous %s: %w", t.previous, err)
		}
		s.Previous, s.Audience = t.before.Revision, cmp.Or(s.Audience, t.before.Audience)
		s.Sequence = cmp.Or(s.Sequence, t.before.Sequence+1)
		if s.Sequence <= t.before.Sequence {
			return s, nil, cli.Usage("--sequence %d is not above that of --previous, %d", s.Sequence, t.before.Sequence)
		}
	}
	return s, keys, nil
}

// keys reads private keys. An error never contains one.
func (c SigningConfig) keys(names []string) ([]ed25519.PrivateKey, error) {
	var out []ed25519.PrivateKey
	for _, name := range names {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, cli.Usage("--key: %w", err)
		}
		text, err := config.Secret{File: abs}.Value(c.Env)
		if err != nil {
			return nil, cli.Usage("--key: %w", err)
		}
		key, err := trust.ParsePrivateKey(name, []byte(text))
		if err != nil {
			return nil, cli.Usage("--key: %w", err)
		}
		out = append(out, key)
	}
	return out, nil
}

// parseExpiry parses 30d, 12h, or a time.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		var life time.Duration
		if life, err = config.Span(text); err != nil {
			return at, cli.Usage("--expires %q: want a span such as 30d or 12h, or a time such as 2026-12-31T00:00:00Z",
				text)
		}
		at = now.Add(life)
	}
	at = at.UTC().Truncate(time.Second)
	if !at.After(now) || at.Sub(now) > maxLife {
		return at, cli.Usage("--expires %s: want a time from now on, at most %d days away", text,
			int(maxLife.Hours()/24))
	}
	return at, nil
}

func readKeyFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cli.Usage("read push: %w", cli.Bare(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, trust.MaxEnvelope+1))
	if err != nil {
		return nil, cli.Usage("read push: %w", cli.Bare(err))
	}
	return b, nil
}

// replaceFile replaces a file.
func replaceFile(name string, text []byte) error {
	if err := atomicfile.Replace(name, text, 0o644); err != nil {
		return cli.Usage("write %w", cli.Bare(err))
	}
	return nil
}

// shownPush is a push as the commands print it.
type shownPush struct {
	Type     string         `json:"type"`
	Digest   string         `json:"digest"` // of the signed payload
	Revision string         `json:"revision"`
	Previous string         `json:"previous"`
	Sequence int64          `json:"sequence"`
	Issued   time.Time      `json:"issued"`
	Expires  time.Time      `json:"expires"`
	Issuer   string         `json:"issuer"`
	Audience string         `json:"audience,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Rollback bool           `json:"rollback,omitempty"`
	Agents   []string       `json:"agents"`
	Changes  map[string]int `json:"changes,omitempty"` // since the previous push, by class
	KeyIDs   []string       `json:"keyids"`            // claimed signers
	Signers  []trust.Signer `json:"signers,omitempty"` // signers whose signatures are valid; after verify
	Roles    []roleCount    `json:"roles,omitempty"`
}

// roleCount is the number of signers of a role.
type roleCount struct {
	Role      string `json:"role"`
	Signed    int    `json:"signed"`
	Threshold int    `json:"threshold"`
	Keys      int    `json:"keys"`
}

func show(p *trust.Push, e *trust.Envelope, before *trust.Push) shownPush {
	out := shownPush{Type: p.Type, Digest: p.Digest, Revision: p.Revision, Previous: p.Previous, Sequence: p.Sequence,
		Issued: p.Issued, Expires: p.Expires,
		Issuer: p.Issuer, Audience: p.Audience, Reason: p.Reason, Rollback: p.Rollback, Agents: []string{},
		KeyIDs: []string{}, Signers: p.Signers}
	for name := range p.Policy.Agents {
		out.Agents = append(out.Agents, name)
	}
	slices.Sort(out.Agents)
	for _, s := range e.Signatures {
		out.KeyIDs = append(out.KeyIDs, cli.Clean(s.KeyID))
	}
	if before != nil {
		out.Changes = diff.Compare(before.Policy, p.Policy, diff.Config{Now: p.Issued}).Counts
	}
	return out
}

// printLine prints a value beside its name, or below it if it is too wide. A digest must be copied whole.
func (c SigningConfig) printLine(name, value string) {
	value = cli.Clean(value)
	if utf8.RuneCountInString(value) <= 68 {
		fmt.Fprintf(c.Out, "  %-10s%s\n", name, value)
		return
	}
	fmt.Fprintf(c.Out, "  %s\n", name)
	for _, text := range cli.Folded(value, 76) {
		fmt.Fprintf(c.Out, "    %s\n", text)
	}
}

// printJSON prints v on one line, with invisible characters escaped.
func (c SigningConfig) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = c.Out.Write(safetext.Text(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// printPush prints a push, as text or as JSON.
func (c SigningConfig) printPush(s shownPush, asJSON bool) error {
	if asJSON {
		return c.printJSON(s)
	}
	line := func(name, format string, args ...any) { c.printLine(name, fmt.Sprintf(format, args...)) }
	what := "push"
	if s.Rollback {
		what = "rollback"
	}
	fmt.Fprintf(c.Out, "%s %d by %s\n", what, s.Sequence, cli.Clean(s.Issuer))
	line("revision", "%s", s.Revision)
	line("on top of", "%s", cmp.Or(s.Previous, "nothing"))
	line("issued", "%s", s.Issued.Format(time.RFC3339))
	line("expires", "%s", s.Expires.Format(time.RFC3339))
	if s.Audience != "" {
		line("audience", "%s", cli.Clean(s.Audience))
	}
	if s.Reason != "" {
		line("reason", "%s", cli.Clean(s.Reason))
	}
	line("agents", "%s", cli.Clean(strings.Join(s.Agents, ", ")))
	if s.Changes != nil {
		line("changes", "%d widen, %d narrow, %d neutral; see ringd diff", s.Changes["widens"], s.Changes["narrows"],
			s.Changes["neutral"])
	}
	for _, id := range s.KeyIDs {
		line("signed", "%s", id)
	}
	for _, r := range s.Roles {
		line("role", "%s: %d signed, %d of %d needed", cli.Clean(r.Role), r.Signed, r.Threshold, r.Keys)
	}
	return nil
}
