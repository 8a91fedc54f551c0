package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// codedError is an error that this package finds itself.
type codedError struct {
	status int
	code   string
	text   string
}

func (e *codedError) Error() string { return e.code + ": " + e.text }

// statusCancelled is "client closed request", as proxies name it. No client reads it.
const statusCancelled = 499

// sentinels maps the states of the daemon to codes. The answer has the text of the sentinel, never that of an
// error that wraps it.
func sentinels() []struct {
	err    error
	status int
	code   string
} {
	return []struct {
		err    error
		status int
		code   string
	}{
		{records.ErrUnavailable, http.StatusServiceUnavailable, wire.CodeAuditUnavailable},
		{daemon.ErrDraining, http.StatusServiceUnavailable, wire.CodeDraining},
		{daemon.ErrDiskLow, http.StatusServiceUnavailable, wire.CodeDiskLow},
		{daemon.ErrQuota, http.StatusTooManyRequests, wire.CodeQuota},
		{daemon.ErrTooFast, http.StatusTooManyRequests, wire.CodeQuota},
		{policy.ErrNotFound, http.StatusNotFound, wire.CodeNotFound},
		{daemon.ErrEnded, http.StatusConflict, wire.CodeRunEnded},
		{daemon.ErrAnswered, http.StatusConflict, wire.CodeAlreadyAnswered},
		{daemon.ErrParent, http.StatusConflict, wire.CodeParentUnfit},
		{daemon.ErrDigest, http.StatusConflict, wire.CodeDigestMismatch},
		{daemon.ErrRole, http.StatusForbidden, wire.CodeWrongRole},
		{daemon.ErrNotAnswered, http.StatusConflict, wire.CodeNotWaiting},
		{daemon.ErrSessionBusy, http.StatusConflict, wire.CodeSessionBusy},
		{waiting.ErrNotFound, http.StatusNotFound, wire.CodeNotFound},
		{waiting.ErrEnded, http.StatusConflict, wire.CodeRunEnded},
		{waiting.ErrNotWaiting, http.StatusConflict, wire.CodeNotWaiting},
		{waiting.ErrDecided, http.StatusConflict, wire.CodeAlreadyAnswered},
		{waiting.ErrDigest, http.StatusConflict, wire.CodeDigestMismatch},
		{waiting.ErrExpired, http.StatusConflict, wire.CodeApprovalExpired},
		{waiting.ErrSelf, http.StatusForbidden, wire.CodeSelfApproval},
		{waiting.ErrNotApprover, http.StatusForbidden, wire.CodeNotAnApprover},
	}
}

// errorFor converts any error to the answer. An unknown error becomes internal, without detail. The log has
// it under the request's id.
func errorFor(err error) (status int, e wire.Error) {
	var own *codedError
	if errors.As(err, &own) {
		return own.status, wire.Error{Code: own.code, Message: own.text}
	}
	// A state of the daemon has precedence over a denial that it is joined with: it is no matter of policy if
	// something cannot be recorded.
	for _, s := range sentinels() {
		if errors.Is(err, s.err) {
			return s.status, wire.Error{Code: s.code, Message: s.err.Error()}
		}
	}
	var denial *profiles.Denial
	if errors.As(err, &denial) {
		d := denial.Decision
		text := strings.Join(append([]string{denial.Capability + ": " + d.Reason}, d.Instead...), "; ")
		return http.StatusForbidden, wire.Error{Code: string(d.Code), Message: text}
	}
	var invalid *policy.InvalidError
	var word *waiting.InvalidError
	var order *lockdown.InvalidError
	switch {
	case errors.As(err, &invalid):
		return http.StatusBadRequest, wire.Error{Code: wire.CodeRequestInvalid, Message: invalid.Error()}
	case errors.As(err, &word):
		return http.StatusBadRequest, wire.Error{Code: wire.CodeRequestInvalid, Message: word.Error()}
	case errors.As(err, &order):
		return http.StatusBadRequest, wire.Error{Code: wire.CodeRequestInvalid, Message: order.Error()}
	case errors.Is(err, daemon.ErrNotArchived):
		return http.StatusServiceUnavailable, wire.Error{Code: wire.CodeNotArchived, Message: err.Error()}
	case errors.Is(err, lockdown.ErrNotLifted):
		return http.StatusServiceUnavailable, wire.Error{Code: wire.CodeNotLifted, Message: err.Error()}
	}
	// The claim's owner, and why a run is stuck, may be shown: neither text has data of the run.
	var claimed *store.ClaimedError
	var stuck *waiting.StuckError
	switch {
	case errors.As(err, &claimed):
		return http.StatusConflict, wire.Error{Code: wire.CodeAlreadyResumed, Message: claimed.Error()}
	case errors.As(err, &stuck):
		return http.StatusConflict, wire.Error{Code: stuck.Code, Message: stuck.Text}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return statusCancelled, wire.Error{Code: wire.CodeCancelled, Message: "the request was cancelled"}
	}
	return http.StatusInternalServerError, wire.Error{Code: wire.CodeInternal,
		Message: "internal error; the daemon's log has it under the request id"}
}
