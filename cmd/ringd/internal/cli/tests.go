package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema"
)

// ReadTests reads the policy of a path and the tests beside it. For a folder these are all *_test.yaml and
// *_test.rego in it and below. For a file x_test.yaml it is that file, with the policy of its folder. For
// guardrails/x_test.rego it is that file, with the policy of the folder above guardrails. For x.yaml these
// are x_test.yaml beside it and guardrails/*_test.rego.
func ReadTests(path string) (Policy, []schema.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Policy{}, nil, fmt.Errorf("read tests: %w", Bare(err))
	}
	switch {
	case info.IsDir():
		return folderTests(path, "")
	case filepath.Ext(path) == ".rego" && syncer.IsTest(filepath.ToSlash(path)):
		dir, name, err := aboveGuardrails(path)
		if err != nil {
			return Policy{}, nil, fmt.Errorf("read tests: %w", err)
		}
		return folderTests(dir, name)
	case syncer.IsTest(filepath.ToSlash(path)):
		return folderTests(filepath.Dir(path), filepath.Base(path))
	}
	policy, err := ReadSources(path)
	if err != nil {
		return policy, nil, err
	}
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	tests := Policy{Path: path}
	for _, name := range []string{stem + "_test.yaml", stem + "_test.yml"} {
		if err := tests.add(name, filepath.Base(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return policy, nil, fmt.Errorf("read tests: %w", err)
		}
	}
	all, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(path)), "guardrails", "*_test.rego"))
	if err != nil {
		return policy, nil, fmt.Errorf("read tests: %w", err)
	}
	for _, name := range all {
		if err := tests.add(name, "guardrails/"+filepath.Base(name)); err != nil {
			return policy, nil, fmt.Errorf("read tests: %w", err)
		}
	}
	return policy, tests.Sources, nil
}

// escapeGlob escapes a path for filepath.Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// aboveGuardrails returns the folder that contains guardrails, and the name of a file of guardrails relative
// to it.
func aboveGuardrails(path string) (dir, name string, err error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", "", err
	}
	dir, name = filepath.Dir(path), filepath.Base(full)
	for at := filepath.Dir(full); at != filepath.Dir(at); at = filepath.Dir(at) {
		name, dir = filepath.Base(at)+"/"+name, filepath.Join(dir, "..")
		if filepath.Base(at) == "guardrails" {
			return dir, name, nil
		}
	}
	return "", "", fmt.Errorf("%s: tests of guardrails belong in a folder guardrails next to the policies", path)
}

// folderTests reads the policy of a folder with its tests, or with only one of them.
func folderTests(dir, only string) (Policy, []schema.Source, error) {
	policy, err := ReadSources(dir)
	if err != nil {
		return policy, nil, err
	}
	all, err := syncer.Read(dir, syncer.Limits{Tests: true})
	if err != nil {
		return policy, nil, fmt.Errorf("read tests %s: %w", dir, err)
	}
	var tests []schema.Source
	for _, src := range all.Sources {
		if syncer.IsTest(src.Name) && (only == "" || src.Name == only) {
			tests = append(tests, src)
		}
	}
	return policy, tests, nil
}
