package profiles

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/profiles/spelling"
)

// fileIndex maps expanded paths to file rules.
type fileIndex struct {
	read, write, deny map[string]*PathRule
	unknown           *PathRule // a denial whose folder is unknown: every file is denied
}

func newFileIndex(f *Files, env Environment) fileIndex {
	x := fileIndex{read: map[string]*PathRule{}, write: map[string]*PathRule{}, deny: map[string]*PathRule{}}
	add := func(m map[string]*PathRule, rules []PathRule) {
		for i := range rules {
			if p, ok := paths.Expand(rules[i].Path, env.Workspace, env.Home); ok && m[p] == nil {
				m[p] = &rules[i]
			}
		}
	}
	add(x.read, f.Read)
	add(x.write, f.Write)
	add(x.deny, f.Deny)
	for i := range f.Deny {
		if _, ok := paths.Expand(f.Deny[i].Path, env.Workspace, env.Home); !ok && x.unknown == nil {
			x.unknown = &f.Deny[i]
		}
	}
	return x
}

// File decides reading or writing one path. The path is not resolved: the ring that opens it handles links.
// /a/b covers /a/b/c, not /a/bc. Deny wins. Write does not imply read.
func (d *Decider) File(op, p string) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	var grants map[string]*PathRule
	var list []PathRule
	switch op {
	case "read":
		grants, list = d.files.read, d.agent.Files.Read
	case "write":
		grants, list = d.files.write, d.agent.Files.Write
	default:
		return d.deny(CodeActionMalformed, nil, "a file is read or written, not %q", clip(op))
	}
	if len(p) >= paths.MaxPath {
		return d.deny(CodeFilePath, nil, "the path has %d bytes; no path has more than %d", len(p), paths.MaxPath-1)
	}
	if !paths.Clean(p) {
		dec := d.deny(CodeFilePath, nil, "%q is not an absolute path without \".\", \"..\", \"//\", NUL and a slash "+
			"at the end", clip(p))
		if path.IsAbs(p) && !strings.Contains(p, "..") && strings.IndexByte(p, 0) < 0 && utf8.ValidString(p) {
			dec.Instead = []string{path.Clean(p)}
		}
		return dec
	}
	if r := d.files.unknown; r != nil {
		return d.deny(CodeFileDenied, &r.Rule, "%s is denied, and this host does not say where that is", r.Path)
	}
	if r := paths.Closest(d.files.deny, p, '/'); r != nil {
		return d.deny(CodeFileDenied, &r.Rule, "%s of %s is denied by %s", op, clip(p), r.Path)
	}
	if r := paths.Closest(grants, p, '/'); r != nil {
		return Decision{Verdict: Allow, Code: CodeAllowed, Rule: ruleOrNil(&r.Rule), Revision: d.revision,
			Reason: op + " of " + clip(p) + " is granted by " + r.Path}
	}
	dec := d.deny(CodeFileNotGranted, &d.agent.Files.Rule, "%s of %s is not granted", op, clip(p))
	for i := range list[:min(len(list), spelling.MaxInstead)] {
		dec.Instead = append(dec.Instead, list[i].Path)
	}
	return dec
}
