// This file holds the verbs that make a first policy: init writes one from a
// template, import makes one of another system's settings.
//
// They write nothing over what is there, and say where what they wrote does not compile.
// main adds them.

package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
)

// InitConfig is what the verbs are made of.
type InitConfig struct {
	*cli.Program
	// Check reads and compiles a policy, for its findings.
	Check func(ctx context.Context, p cli.Policy) (schema.Diagnostics, error)
}

// NewInit returns the verbs.
func NewInit(cfg InitConfig) []*cobra.Command {
	return []*cobra.Command{newInit(cfg), newImport(cfg)}
}

// ownerText is what schema takes for an owner.
var ownerText = regexp.MustCompile(`^(user|group|team):[^\s]+$`)

// owner is the owner of a new policy: what was given, or who asks.
func owner(given string) (string, error) {
	if given != "" {
		if !ownerText.MatchString(given) {
			return "", cli.Usage("--owner %q: want user:, group: or team: followed by an identity", given)
		}
		return given, nil
	}
	who, err := user.Current()
	if err != nil || who.Username == "" {
		return "", cli.Usage("--owner is missing, and this user has no name: give an owner, such as --owner " +
			"team:devex@acme.example")
	}
	return "user:" + strings.ReplaceAll(who.Username, " ", "-"), nil
}

// find gives the file behind a program's name. A link keeps its own name, by which the
// settings, and so the rules of the policy, call it; the host follows it.
func find(word string) (string, bool) {
	path, err := exec.LookPath(word)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	return path, true
}

// write puts new files into a folder, all of them or none, and never over one that is
// there.
func write(dir string, files map[string][]byte, order []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Failed(cli.Misused, fmt.Errorf("make folder: %w", cli.Bare(err)))
	}
	for _, f := range order {
		if _, err := os.Lstat(filepath.Join(dir, f)); err == nil {
			return cli.Usage("%s exists already: nothing was written", filepath.Join(dir, f))
		}
	}
	var done []string
	for _, f := range order {
		path := filepath.Join(dir, f)
		if err := create(path, files[f]); err != nil {
			for _, undo := range done {
				err = errors.Join(err, os.Remove(undo))
			}
			return cli.Failed(cli.Misused, fmt.Errorf("write policy: %w", cli.Bare(err)))
		}
		done = append(done, path)
	}
	return nil
}

func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Create(path, text, 0o644)
}
