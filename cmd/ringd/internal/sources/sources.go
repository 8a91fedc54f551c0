// Package sources reads a policy for a command: one file, or a folder as the
// daemon would read it, and the JavaScript modules beside it. Names are relative
// to the policy's folder, so that the compiled set does not depend on where it
// lies; Shown gives them back as the user would type them.
//
// It refuses what is too large, no regular file, or no policy. The commands call
// it; the daemon's sync folder is the syncer's.
package sources

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

// maxFile is the size of one file, maxAll that of all of them.
const (
	maxFile = syncer.DefaultFileBytes
	maxAll  = syncer.DefaultTotalBytes
)

// Policy is one policy as it was read.
type Policy struct {
	Path    string // as the user gave it
	Folder  bool
	Sources []schema.Source // policies and, below modules/, modules
}

// Read reads a file, or every .yaml, .yml, .json and .cue file of a folder, and
// the files of modules/ beside them. Hidden files and *_test.yaml are left out.
func Read(path string) (Policy, error) {
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
	if err := p.modules(filepath.Join(filepath.Dir(path), "modules")); err != nil {
		return Policy{}, fmt.Errorf("read modules: %w", Bare(err))
	}
	return p, nil
}

// Split tells policies from modules, which lie below modules/.
func Split(all []schema.Source) (policies []schema.Source, modules map[string][]byte) {
	modules = map[string][]byte{}
	for _, s := range all {
		if strings.HasPrefix(s.Name, "modules/") {
			modules[s.Name] = s.Data
		} else {
			policies = append(policies, s)
		}
	}
	return policies, modules
}

// Shown is the path the user would type for a file of the policy.
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

// Place puts the paths the user would type into findings.
func (p Policy) Place(ds schema.Diagnostics) schema.Diagnostics {
	out := make(schema.Diagnostics, len(ds))
	for i, d := range ds {
		d.Pos.File = p.Shown(d.Pos.File)
		d.Related = slices.Clone(d.Related)
		for j := range d.Related {
			d.Related[j].File = p.Shown(d.Related[j].File)
		}
		out[i] = d
	}
	return out
}

// modules adds the visible files of a folder that may be missing.
func (p *Policy) modules(dir string) error {
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
		if err != nil {
			return err
		}
		return p.add(at, filepath.ToSlash(rel))
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
	b, err := Bounded(f, maxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", at, Bare(err))
	}
	p.Sources = append(p.Sources, schema.Source{Name: name, Data: b})
	total := 0
	for _, s := range p.Sources {
		total += len(s.Data)
	}
	if total > maxAll || len(p.Sources) > syncer.DefaultFiles {
		return fmt.Errorf("%s: more than %d files or %d bytes in all", p.Path, syncer.DefaultFiles, maxAll)
	}
	return nil
}

// Bounded reads all of r, or fails when that is more than most bytes.
func Bounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("larger than %d bytes", most)
	}
	return b, err
}

// Bare drops the name of the system call: "open x: no such file or directory"
// becomes "x: no such file or directory".
func Bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
