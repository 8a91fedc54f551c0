package environment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/ringd/ringd/executors"
)

// ErrShort is wrapped by an error of Config.Ask for a program that the host could not start or that it ended.
// It says nothing about the program.
var ErrShort = errors.New("the host is short of a resource")

// short reports whether an error is a shortage of the host: then it is not known whether the searched thing
// exists.
func short(err error) bool {
	var u *executors.Unavailable
	return errors.As(err, &u) && u.Short || errors.Is(err, ErrShort) || errors.Is(err, context.DeadlineExceeded) ||
		slices.ContainsFunc([]error{
			syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EIO,
		}, func(e error) bool { return errors.Is(err, e) })
}

// unavailable says what cannot be given, and whether that is only because of a shortage.
func unavailable(cause error, fix, format string, args ...any) error {
	u := &executors.Unavailable{Text: fmt.Sprintf(format, args...), Fix: fix, Short: short(cause)}
	if u.Short {
		u.Fix = "check memory, processes, open files and disk of the host; ringd checks again at the next attempt"
	}
	return u
}

// lost describes a path that leads to nothing. The cause is kept if it is a shortage of the host.
func lost(cause error, format string, args ...any) error {
	if short(cause) {
		return fmt.Errorf("%s cannot be read: %w", fmt.Sprint(args[0]), cause)
	}
	return fmt.Errorf(format, args...)
}
