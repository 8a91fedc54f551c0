package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringd/ringd/schema"
)

// Bounds of a policy on disk; the compile child has its own.
const (
	maxPolicyFile  = 1 << 20
	maxPolicyBytes = 8 << 20
	maxPolicyFiles = 4096
	maxPolicyDepth = 16
)

// policyFiles is one policy as read at the edge: names are relative to its
// folder, so that the compiled set does not depend on where it lies.
type policyFiles struct {
	path    string // as the user gave it
	folder  bool
	sources []schema.Source
	modules map[string][]byte // files below modules/, by name
}

// readPolicy reads a file, or every .yaml, .yml, .json and .cue file of a
// folder, and the JavaScript modules in modules/ beside them. Hidden files,
// *_test.yaml and everything else are left out; a device or pipe where a file
// should be is refused, and so is what is too large. Links are followed: the
// user named the folder. The daemon's sync folder is read by the syncer.
func readPolicy(given string) (policyFiles, error) {
	info, err := os.Stat(given)
	if err != nil {
		return policyFiles{}, usage("read policy: %w", bare(err))
	}
	p := policyFiles{path: given, folder: info.IsDir(), modules: map[string][]byte{}}
	r := policyReader{into: &p}
	switch {
	case info.IsDir():
		err = r.folder(given, "", 0)
	case !isPolicy(given):
		return policyFiles{}, usage("read policy %s: not a .yaml, .yml, .json or .cue file", given)
	case !info.Mode().IsRegular():
		return policyFiles{}, usage("read policy %s: not a regular file", given)
	default:
		if err = r.file(given, filepath.Base(given)); err == nil {
			err = r.modules(filepath.Join(filepath.Dir(given), "modules"))
		}
	}
	if err != nil {
		return policyFiles{}, &exit{exitUsage, err}
	}
	if len(p.sources) == 0 {
		return policyFiles{}, usage("read policy %s: no .yaml, .yml, .json or .cue file in it", given)
	}
	return p, nil
}

// shown is the path the user would type for a file of the policy.
func (p policyFiles) shown(name string) string {
	switch {
	case name == "":
		return p.path
	case p.folder:
		return filepath.Join(p.path, filepath.FromSlash(name))
	default:
		return filepath.Join(filepath.Dir(p.path), filepath.FromSlash(name))
	}
}

// place puts the paths the user gave into findings.
func (p policyFiles) place(ds schema.Diagnostics) schema.Diagnostics {
	out := make(schema.Diagnostics, len(ds))
	for i, d := range ds {
		d.Pos.File = p.shown(d.Pos.File)
		d.Related = slices.Clone(d.Related)
		for j := range d.Related {
			d.Related[j].File = p.shown(d.Related[j].File)
		}
		out[i] = d
	}
	return out
}

type policyReader struct {
	into  *policyFiles
	bytes int64
	files int
}

func isPolicy(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		return !strings.HasSuffix(strings.TrimSuffix(name, filepath.Ext(name)), "_test")
	case ".json", ".cue":
		return true
	default:
		return false
	}
}

func (r *policyReader) folder(dir, prefix string, depth int) error {
	if depth > maxPolicyDepth {
		return fmt.Errorf("read policy %s: folders nest deeper than %d", dir, maxPolicyDepth)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read policy: %w", bare(err))
	}
	for _, e := range entries {
		name, at := path.Join(prefix, e.Name()), filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case prefix == "" && e.Name() == "modules" && e.IsDir():
			err = r.modules(at)
		case e.IsDir():
			err = r.folder(at, name, depth+1)
		case isPolicy(e.Name()):
			err = r.file(at, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *policyReader) modules(dir string) error {
	root := filepath.Dir(dir)
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && at == dir {
			return filepath.SkipAll
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			if e.IsDir() && strings.HasPrefix(e.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		b, err := r.read(at)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		r.into.modules[filepath.ToSlash(rel)] = b
		return err
	})
	if err != nil {
		return fmt.Errorf("read modules: %w", bare(err))
	}
	return nil
}

func (r *policyReader) file(at, name string) error {
	b, err := r.read(at)
	if err != nil {
		return fmt.Errorf("read policy: %w", bare(err))
	}
	r.into.sources = append(r.into.sources, schema.Source{Name: name, Data: b})
	return nil
}

func (r *policyReader) read(at string) ([]byte, error) {
	if r.files++; r.files > maxPolicyFiles {
		return nil, fmt.Errorf("%s: more than %d files", r.into.path, maxPolicyFiles)
	}
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", at)
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPolicyFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxPolicyFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", at, maxPolicyFile)
	}
	if r.bytes += int64(len(b)); r.bytes > maxPolicyBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes in all", r.into.path, maxPolicyBytes)
	}
	return b, nil
}

// bare drops the system call's name: "open x: no such file" is "x: no such
// file or directory".
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
