package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

const (
	wholeID  = 27 // length of a run id
	maxNamed = 5  // ids listed in an error
)

// runID returns the whole id for a given id or prefix. list returns the runs with a prefix, newest first, and
// is not called for a whole id. A prefix of several runs is an error, so that no command acts on a run that
// its caller did not mean. A prefix of no run is returned unchanged: such a run does not exist. Errors are
// exits.
func runID(given string, list func(prefix string) (wire.RunList, error)) (string, error) {
	if len(given) >= wholeID {
		return given, nil
	}
	if len(given) < wire.MinRunPrefix {
		return "", Usage("run %q: give at least %d letters of its id", given, wire.MinRunPrefix)
	}
	found, err := list(given)
	if err != nil {
		return "", err
	}
	for _, r := range found.Runs {
		if !strings.HasPrefix(r.ID, given) {
			return "", Usage("run %q: this daemon accepts only whole ids", given)
		}
	}
	switch len(found.Runs) {
	case 0:
		return given, nil
	case 1:
		if found.Next == "" {
			return found.Runs[0].ID, nil
		}
	}
	return "", Failed(Refused, ambiguous(given, found))
}

// RunThere returns the whole id of a daemon's run for an id or a unique prefix. Errors are exits.
func RunThere(ctx context.Context, c *client.Client, given string) (string, error) {
	return runID(given, func(prefix string) (wire.RunList, error) {
		list, err := c.Runs(ctx, client.Filter{Prefix: prefix, Limit: maxNamed + 1})
		switch {
		case err != nil:
			return list, RefusedBy(err)
		case len(list.Runs) == 0:
			return list, Failed(Refused, fmt.Errorf("%s: no run that you may see has an id that begins with %s\n    "+
				"hint: ringd runs lists them", wire.CodeNotFound, Visible(prefix)))
		default:
			return list, nil
		}
	})
}

// RunKept is RunThere for a state folder, whose runs list returns.
func RunKept(given string, list func(prefix string, limit int) (wire.RunList, error)) (string, error) {
	return runID(given, func(prefix string) (wire.RunList, error) {
		found, err := list(prefix, maxNamed+1)
		if err != nil {
			return found, Usage("read state folder: %w", err)
		}
		return found, nil
	})
}

// ambiguous returns the error for a prefix of several runs.
func ambiguous(given string, found wire.RunList) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: the ids of several runs begin with these letters; give more", Visible(given))
	for i, r := range found.Runs {
		if i == maxNamed {
			b.WriteString("\n    …")
			break
		}
		fmt.Fprintf(&b, "\n    %s  %s  %s", Visible(r.ID), Visible(r.State), Visible(r.Agent))
	}
	return errors.New(b.String())
}
