// Policies as a command reads them: one file, or a folder as the daemon would read it, with the JavaScript
// modules and guardrails beside it. Names are relative to the policy's folder, so the compiled set does not
// depend on its location; [Policy.Shown] returns them as the user would type them. Input that is too large,
// no regular file, or no policy is refused. The daemon's sync folder is read by package syncer.

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema"
)

// Policy is the source of one policy.
type Policy struct {
	Path    string // as given by the user
	Folder  bool
	Others  []string        // other policies in the folder of a single file, which were not read
	Sources []schema.Source // policies, and their files below modules/ and guardrails/
}

// ReadSources reads a file, or every .yaml, .yml, .json and .cue file of a folder, and the files of modules/
// and guardrails/*.rego beside them. It skips hidden files and tests, *_test.yaml and *_test.rego.
func ReadSources(path string) (Policy, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Policy{}, fmt.Errorf("read policy: %w", Bare(err))
	}
	p := Policy{Path: path, Folder: info.IsDir()}
	if p.Folder {
		push, err := syncer.Read(path, syncer.Limits{})
		if errors.Is(err, syncer.ErrEmpty) {
			return Policy{}, fmt.Errorf("read policy %s: no .yaml, .yml, .json or .cue file in it", path)
		}
		if err != nil {
			return Policy{}, fmt.Errorf("read policy %s: %w", path, err)
		}
		p.Sources = push.Sources
		return p, nil
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json", ".cue":
	default:
		return Policy{}, fmt.Errorf("read policy %s: not a .yaml, .yml, .json or .cue file", path)
	}
	if err := p.add(path, filepath.Base(path)); err != nil {
		return Policy{}, fmt.Errorf("read policy: %w", err)
	}
	for _, name := range []string{"modules", "guardrails"} {
		if err := p.readCompanions(filepath.Join(filepath.Dir(path), name)); err != nil {
			return Policy{}, fmt.Errorf("read %s: %w", name, Bare(err))
		}
	}
	p.Others = othersFound(path)
	return p, nil
}

// maxOthers limits the number of names that are read of a folder.
const maxOthers = 1000

// othersFound returns the other policies in the folder of a file, sorted. They are only for a hint, so a
// folder that cannot be listed has none.
func othersFound(path string) (names []string) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxOthers)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && name != filepath.Base(path) && !strings.HasPrefix(name, ".") &&
			syncer.IsPolicy(name) && !syncer.IsTest(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Split separates policies from the files that they name: modules, which are below modules/, and guardrails,
// which are below guardrails/ and end in .rego.
func Split(all []schema.Source) (policies []schema.Source, files map[string][]byte) {
	files = map[string][]byte{}
	for _, s := range all {
		if strings.HasPrefix(s.Name, "modules/") || strings.HasPrefix(s.Name, "guardrails/") &&
			strings.HasSuffix(s.Name, ".rego") {
			files[s.Name] = s.Data
		} else {
			policies = append(policies, s)
		}
	}
	return policies, files
}

// Shown returns the path that the user would type for a file of the policy.
func (p Policy) Shown(name string) string {
	switch {
	case name == "":
		return p.Path
	case p.Folder:
		return filepath.Join(p.Path, filepath.FromSlash(name))
	default:
		return filepath.Join(filepath.Dir(p.Path), filepath.FromSlash(name))
	}
}

// Place replaces the paths in findings, and in their related places, by those that the user would type. If a
// single file was read, a missing parent may be in its folder, and the hint says so.
func (p Policy) Place(ds schema.Diagnostics) schema.Diagnostics {
	out := make(schema.Diagnostics, len(ds))
	for i, d := range ds {
		d.Pos.File = p.Shown(d.Pos.File)
		d.Related = slices.Clone(d.Related)
		for j, was := range d.Related {
			d.Related[j].File = p.Shown(was.File)
			d.Msg = replacePlace(d.Msg, was.String(), d.Related[j].String())
		}
		if d.Code == codeUnknownParent && !p.Folder && !strings.HasPrefix(d.Hint, "did you mean") {
			d.Hint = p.parentHint()
		}
		out[i] = d
	}
	return out
}

// codeUnknownParent is the code of compiler/layers for a parent that is no policy.
const codeUnknownParent = "unknown-parent"

// parentHint returns the hint for a layer that a file names and does not contain.
func (p Policy) parentHint() string {
	dir := filepath.Dir(p.Path)
	if len(p.Others) == 0 {
		return fmt.Sprintf("only this file was read, and %s has no other policy: give the folder of the OrgPolicy or "+
			"TeamPolicy, or leave parent out", dir)
	}
	list := strings.Join(p.Others[:min(len(p.Others), 3)], ", ")
	if more := len(p.Others) - 3; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("only this file was read; `ringd vet %s` also reads the layers of the folder: %s", dir, list)
}

// replacePlace replaces a place in a text where it is a whole word.
func replacePlace(text, was, is string) string {
	var out strings.Builder
	for was != is {
		i := strings.Index(text, was)
		if i < 0 {
			break
		}
		before, after := out.String()+text[:i], text[i+len(was):]
		whole := (before == "" || strings.ContainsRune(" (", rune(before[len(before)-1]))) &&
			(after == "" || after[0] < '0' || after[0] > '9')
		out.WriteString(text[:i])
		if whole {
			out.WriteString(is)
		} else {
			out.WriteString(was)
		}
		text = after
	}
	return out.String() + text
}

// readCompanions reads the optional folders of a policy.
func (p *Policy) readCompanions(dir string) error {
	root := filepath.Dir(dir)
	return filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == dir:
			return filepath.SkipAll
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return filepath.SkipDir
		case strings.HasPrefix(e.Name(), "."), e.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, at)
		name := filepath.ToSlash(rel)
		if err != nil || !syncer.Wanted(name) || syncer.IsPolicy(name) {
			return err
		}
		return p.add(at, name)
	})
}

// add reads one file.
func (p *Policy) add(at, name string) error {
	info, err := os.Stat(at)
	if err != nil {
		return Bare(err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", at)
	}
	f, err := os.Open(at)
	if err != nil {
		return Bare(err)
	}
	defer f.Close()
	b, err := Bounded(f, syncer.DefaultFileBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", at, Bare(err))
	}
	p.Sources = append(p.Sources, schema.Source{Name: name, Data: b})
	total := 0
	for _, s := range p.Sources {
		total += len(s.Data)
	}
	if total > syncer.DefaultTotalBytes || len(p.Sources) > syncer.DefaultFiles {
		return fmt.Errorf("%s: more than %d files or %d bytes in all", p.Path, syncer.DefaultFiles,
			syncer.DefaultTotalBytes)
	}
	return nil
}

// Bounded reads all of r, or fails if that is more than most bytes.
func Bounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("larger than %d bytes", most)
	}
	return b, err
}

// Bare removes the name of the system call: "open x: no such file or directory" becomes "x: no such file or
// directory".
func Bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
