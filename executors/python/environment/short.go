package environment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/ringd/ringd/executors"
)

// ErrShort is wrapped by an error of Config.Ask for a program that the host could not
// start or ended: it says nothing of the program.
var ErrShort = errors.New("the host is short of something")

// short reports whether an error is the host's, which could not look: then what was
// looked for is neither there nor missing.
func short(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Short || errors.Is(err, ErrShort) || errors.Is(err, context.DeadlineExceeded) ||
		slices.ContainsFunc([]error{
			syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EIO,
		}, func(e error) bool { return errors.Is(err, e) })
}

// unavailable says what cannot be given, and whether that is only because the host could
// not look.
func unavailable(cause error, fix, format string, args ...any) error {
	u := &executors.Unavailable{Text: fmt.Sprintf(format, args...), Fix: fix, Short: short(cause)}
	if u.Short {
		u.Fix = "see what the host is short of (memory, processes, open files, disk); ringd looks again with the next try"
	}
	return u
}

// lost says what a path did not lead to; the cause is kept where the host could not look.
func lost(cause error, format string, args ...any) error {
	if short(cause) {
		return fmt.Errorf("%s cannot be looked at: %w", fmt.Sprint(args[0]), cause)
	}
	return fmt.Errorf(format, args...)
}
