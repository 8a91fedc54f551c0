// The commands that create a first policy: init from a template, import from settings of another system. They
// overwrite nothing. If the result does not compile, they print where.

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

// InitConfig configures the commands.
type InitConfig struct {
	*cli.Program
	// Check reads and compiles a policy, and returns its findings.
	Check func(ctx context.Context, p cli.Policy) (schema.Diagnostics, error)
}

// NewInit returns the commands.
func NewInit(cfg InitConfig) []*cobra.Command {
	return []*cobra.Command{newInit(cfg), newImport(cfg)}
}

// ownerText matches an owner as schema accepts it.
var ownerText = regexp.MustCompile(`^(user|group|team):[^\s]+$`)

// policyOwner returns the given owner, or the current user.
func policyOwner(given string) (string, error) {
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

// findProgram returns the file of a program's name. A link keeps its own name, because the settings, and so the
// rules of the policy, use that name; the host resolves it.
func findProgram(word string) (string, bool) {
	path, err := exec.LookPath(word)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	return path, true
}

// writeNew creates new files in a folder, all of them or none. It never overwrites a file.
func writeNew(dir string, files map[string][]byte, order []string) error {
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
		if err := createFile(path, files[f]); err != nil {
			for _, undo := range done {
				err = errors.Join(err, os.Remove(undo))
			}
			return cli.Failed(cli.Misused, fmt.Errorf("write policy: %w", cli.Bare(err)))
		}
		done = append(done, path)
	}
	return nil
}

func createFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Create(path, text, 0o644)
}
