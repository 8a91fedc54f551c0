package profiles

import (
	"path"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/paths"
)

// scriptWorkspace is the working folder of a script without file grants. It is private and deleted
// afterwards.
const scriptWorkspace = "/workspace"

// ScriptTemp is the TMPDIR of a script. It belongs to the script's guest and is deleted with it.
const ScriptTemp = "/tmp/tmp"

// Redirect decides on a file that a redirect of a script, or the builtin source, would open. op is read,
// write, append or readwrite. A relative target is below cwd. If the target is known only in part, Redirect
// returns false and a Deny. Then the caller must ask again with the final target.
//
// The path is not resolved: the ring that opens the file handles links.
func (d *Decider) Redirect(op string, target argv.Word, cwd string) (Decision, bool) {
	if dec, closed := d.noShell(); closed {
		return dec, true
	}
	t := command.ReadRedirect(op, target, cwd)
	switch t.Kind {
	case command.RedirectMalformed:
		return d.deny(CodeActionMalformed, nil, "a redirect is read, write, append or readwrite, not %q", clip(op)),
			true
	case command.RedirectUnsettled:
		return d.deny(CodeShellUnsettled, &d.agent.Shell.Rule, "which file is opened is known only at run time"),
			false
	case command.RedirectDevice:
		return d.allow(&d.agent.Shell.Rule, "it keeps nothing"), true
	case command.RedirectFile:
		return d.openFile(t), true
	case command.RedirectRefused:
		return d.deny(CodeShellRedirect, &d.agent.Shell.Rule, "%s cannot be opened: %s", clip(target.Text), t.Reason),
			true
	default:
		return d.deny(CodeShellRedirect, &d.agent.Shell.Rule, "what is opened is not known"), true
	}
}

// openFile decides by the file grants. If there are none, only the script's own folder may be used.
func (d *Decider) openFile(t command.RedirectTarget) Decision {
	p := t.Path
	if paths.Of(ScriptTemp).Above(p) && d.File("read", p).Code == CodeFileNotGranted &&
		d.File("write", p).Code == CodeFileNotGranted {
		return d.allow(&d.agent.Shell.Rule, "it is the script's own temporary folder")
	}
	if len(d.agent.Files.Read)+len(d.agent.Files.Write) > 0 {
		dec := Decision{}
		if t.Reads {
			if dec = d.File("read", p); dec.Verdict != Allow || !t.Writes {
				return dec
			}
		}
		return d.File("write", p)
	}
	if dec := d.File("read", p); dec.Code == CodeFileDenied {
		return dec
	}
	if t.Writes && !paths.Of(d.shell.place).Above(p) {
		dec := d.deny(CodeShellRedirect, &d.agent.Shell.Rule, "%s is outside of %s, where alone a script may write",
			clip(p), d.shell.place)
		dec.Instead = []string{d.shell.place + "/" + path.Base(p)}
		return dec
	}
	return d.allow(&d.agent.Shell.Rule, "scripts have a folder of their own")
}
