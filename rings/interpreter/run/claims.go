package run

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// guestClaims are refusals that a guest reports and the host has not decided.
type guestClaims struct {
	Executor string
	Denials  []profiles.Decision
	Beyond   int64 // refusals that are not in Denials
	Full     bool  // records hold the words of scripts
}

// Limits of the texts of one record.
const (
	maxClaim  = 512
	maxTarget = 200
)

// Records returns the audit records of c, made from rec: one for each different refusal, up to
// contract.MaxClaims, and one with the number of all further refusals.
func (c guestClaims) Records(rec contract.Record) (out []contract.Record) {
	var all profiles.Refusals
	all.Beyond(c.Beyond)
	for _, d := range c.Denials {
		all.Add(binding.Brief(d), contract.MaxClaims)
	}
	for i := range all.List {
		out = append(out, c.record(rec, all.List[i]))
	}
	if all.More > 0 {
		rec.Kind, rec.State, rec.Detail = contract.RefusalsCounted, "refused", c.detail(all.More)
		rec.Decision = &profiles.Decision{Code: profiles.CodeGuestRefused,
			Reason: "more refusals like those on record before"}
		out = append(out, rec)
	}
	return out
}

func (c guestClaims) detail(count int64) map[string]string {
	out := map[string]string{"source": contract.SourceGuest, "executor": c.Executor}
	if count > 0 {
		out["count"] = strconv.FormatInt(count, 10)
	}
	return out
}

// record returns the record of one refusal. Its kind follows from the code, which says what
// was tried.
func (c guestClaims) record(rec contract.Record, d profiles.Decision) contract.Record {
	rec.State, rec.Detail = "refused", c.detail(d.Count)
	rec.Decision = &profiles.Decision{Code: d.Code, Reason: inert(d.Reason, maxClaim), Rule: d.Rule}
	var argv []string
	if e := d.Evidence; e != nil {
		argv = e.Argv
		if e.Line > 0 {
			rec.Detail["line"] = strconv.Itoa(e.Line)
		}
	}
	switch area, _, _ := strings.Cut(string(d.Code), "."); area {
	case "import":
		rec.Kind, rec.Capability = contract.ImportDecided, strings.TrimSuffix(binding.GrantImport, ":")
		if len(argv) > 0 && len(importsOf(argv[:1])) > 0 {
			rec.Capability = binding.GrantImport + argv[0]
		}
	case "exec", "shell":
		c.exec(&rec, argv)
	case "file":
		rec.Kind, rec.Capability = contract.FileDecided, area
	case "egress":
		rec.Kind, rec.Capability = contract.EgressDecided, area
	default:
		rec.Kind, rec.Detail["layer"] = contract.GuestRefused, "guard"
	}
	if c.Executor == profiles.ExecutorShell && !c.Full {
		rec.Decision.Reason = "" // it quotes the script
	}
	return rec
}

// exec makes rec the record of a command with these words.
func (c guestClaims) exec(rec *contract.Record, argv []string) {
	rec.Kind, rec.Capability = contract.ExecDecided, "exec"
	if len(argv) == 0 {
		return
	}
	a := &profiles.Action{Exec: &profiles.ExecAction{Argv: argv}}
	rec.Capability = inert(pause.NameOf(a, ""), maxTarget)
	rec.Detail["words"] = strconv.Itoa(len(argv))
	args, err := pause.ArgsOf(a)
	if err != nil {
		return // cannot happen: words are text
	}
	if rec.Digest = pause.Digest(args); c.Full && len(args) <= binding.MaxFull {
		rec.Full = args
	}
}

// inert returns text of a guest as one line of at most limit bytes that a terminal shows as
// it is.
func inert(s string, limit int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, jsonvalue.Clip(strings.ToValidUTF8(s, "\uFFFD"), limit))
}
