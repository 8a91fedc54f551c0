package ends

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// Claims are refusals that a guest tells of and nobody of the host has decided.
type Claims struct {
	Executor string
	Denials  []profiles.Decision
	Beyond   int64 // those that are not told
	Full     bool  // records hold the words of scripts
}

// Bounds of the text of one record.
const (
	maxClaim  = 512
	maxTarget = 200
)

// Records are the records of c, each like rec: of refusals that differ one each, up to
// port.MaxClaims, and one that counts the rest.
func (c Claims) Records(rec port.Record) (out []port.Record) {
	var all profiles.Refusals
	all.Beyond(c.Beyond)
	for _, d := range c.Denials {
		all.Add(rules.Brief(d), port.MaxClaims)
	}
	for i := range all.List {
		out = append(out, c.record(rec, all.List[i]))
	}
	if all.More > 0 {
		rec.Kind, rec.State, rec.Detail = port.RefusalsCounted, "refused", c.detail(all.More)
		rec.Decision = &profiles.Decision{Code: profiles.CodeGuestRefused, Reason: "more refusals like those on record before"}
		out = append(out, rec)
	}
	return out
}

func (c Claims) detail(count int64) map[string]string {
	out := map[string]string{"source": port.SourceGuest, "executor": c.Executor}
	if count > 0 {
		out["count"] = strconv.FormatInt(count, 10)
	}
	return out
}

// record is that of one refusal. The code says what was tried, and so which kind of
// record it is.
func (c Claims) record(rec port.Record, d profiles.Decision) port.Record {
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
		rec.Kind, rec.Capability = port.ImportDecided, strings.TrimSuffix(rules.GrantImport, ":")
		if len(argv) > 0 && len(Imports(argv[:1])) > 0 {
			rec.Capability = rules.GrantImport + argv[0]
		}
	case "exec", "shell":
		c.exec(&rec, argv)
	case "file":
		rec.Kind, rec.Capability = port.FileDecided, area
	case "egress":
		rec.Kind, rec.Capability = port.EgressDecided, area
	default:
		rec.Kind, rec.Detail["layer"] = port.GuestRefused, "guard"
	}
	if c.Executor == profiles.ExecutorShell && !c.Full {
		rec.Decision.Reason = "" // it quotes the script
	}
	return rec
}

// exec makes rec that of a command with these words.
func (c Claims) exec(rec *port.Record, argv []string) {
	rec.Kind, rec.Capability = port.ExecDecided, "exec"
	if len(argv) == 0 {
		return
	}
	a := &profiles.Action{Exec: &profiles.ExecAction{Argv: argv}}
	rec.Capability = inert(pause.NameOf(a, ""), maxTarget)
	rec.Detail["words"] = strconv.Itoa(len(argv))
	args, err := pause.ArgsOf(a)
	if err != nil {
		return // words are text: it marshals
	}
	if rec.Digest = pause.Digest(args); c.Full && len(args) <= port.MaxFull {
		rec.Full = args
	}
}

// inert is text of a guest in one line that a terminal shows as it is.
func inert(s string, most int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, shape.Clip(strings.ToValidUTF8(s, "\uFFFD"), most))
}
