package executors

import (
	"errors"
	"syscall"
)

// Reason is an error with a text for the caller of the program. The text names neither paths nor numbers of the
// host that no policy names. The error itself is for the record and the daemon's log.
type Reason struct {
	Text string
	Err  error
}

// Because wraps err with this text. If err is nil, it returns nil.
func Because(err error, text string) error {
	if err == nil || text == "" {
		return err
	}
	return &Reason{Text: text, Err: err}
}

// Error returns the text of the wrapped error.
func (r *Reason) Error() string { return r.Err.Error() }

// Unwrap returns the error.
func (r *Reason) Unwrap() error { return r.Err }

// Why says in plain words why a guest was lost, or returns an empty text if the reason is not known. It repeats
// only errors that were made to be shown.
func Why(err error) string {
	var reason *Reason
	var errno syscall.Errno
	switch {
	case errors.As(err, &reason):
		return reason.Text
	case errors.Is(err, ErrViolation):
		return "it was ended because of a forbidden system call, or of too many refused ones"
	case errors.Is(err, ErrRevoked):
		return ErrRevoked.Error()
	case errors.Is(err, ErrOwn):
		return ErrOwn.Error()
	case errors.Is(err, ErrProtocol):
		return "it broke the protocol, and was ended"
	case errors.As(err, &errno):
		return "a call of the host failed: " + errno.Error()
	case errors.Is(err, ErrGone):
		return "its process was gone before the program began"
	case errors.Is(err, ErrGuest):
		return "its process is gone: it crashed, or the host ended it, for example for lack of memory"
	default:
		return ""
	}
}

// Fallen is a Guest that knows why its process ended, once Kill has returned.
type Fallen interface {
	// Fell says it in plain words. It is empty if nothing is known, or if the guest ended in order.
	Fell() string
}
