package bridges

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// Names of errors for programs.
const (
	nameType     = "TypeError"
	nameTimeout  = "TimeoutError"
	nameTooLarge = "ResultTooLarge"
)

// errLate: the timeout of the program has passed.
var errLate = errors.New("the timeout of the program is over")

// redirectError marks a denial as one of a redirect.
func redirectError(n int, err error) error {
	var no *profiles.Denial
	if n == 0 || !errors.As(err, &no) || no.Decision.Code == profiles.CodeEgressNoAddress {
		return err
	}
	d := no.Decision
	d.Code = profiles.Code(dest.Redirect)
	d.Reason = fmt.Sprintf("redirect %d is refused: %s", n, d.Reason)
	return &profiles.Denial{Capability: no.Capability, Decision: d}
}

// programError returns an error that a program may read. About a server it has what the program could see itself,
// and about this host and addresses nothing.
func programError(ctx context.Context, err error) error {
	var no *profiles.Denial
	var told *binding.Failure
	awaitDeadline(ctx, err)
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		return &binding.Failure{Name: nameTimeout, Text: "the operation timed out", Err: err}
	case ctx.Err() != nil:
		return fmt.Errorf("fetch: %w", err)
	case errors.As(err, &no) && no.Decision.Code == profiles.CodeEgressNoAddress: // a failure, and no denial
		return &binding.Failure{Name: nameType, Text: no.Decision.Reason, Err: errors.New(string(no.Decision.Code))}
	case errors.As(err, &no):
		return no
	case errors.As(err, &told):
		return told
	}
	return &binding.Failure{Name: nameType, Text: words(err), Err: err}
}

// awaitDeadline waits until ctx itself reports its deadline: a dial with the deadline may fail slightly
// earlier.
func awaitDeadline(ctx context.Context, err error) {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return
	}
	at, ok := ctx.Deadline()
	if !ok {
		return
	}
	passed, cancel := context.WithDeadline(context.WithoutCancel(ctx), at) // done at once if it has passed
	defer cancel()
	if passed.Err() != nil {
		<-ctx.Done()
	}
}

func words(err error) string {
	var (
		authority   x509.UnknownAuthorityError
		other       x509.HostnameError
		invalid     x509.CertificateInvalidError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		record      tls.RecordHeaderError
		lookup      *net.DNSError
		timeout     net.Error
	)
	switch {
	case errors.Is(err, proxy.ErrClosed):
		return "the run has no network any more"
	case errors.Is(err, proxy.ErrCut):
		return "the policy in force cut the connection"
	case errors.As(err, &authority):
		return "its certificate is signed by an unknown authority"
	case errors.As(err, &other):
		return "its certificate is for another name"
	case errors.As(err, &invalid), errors.As(err, &certificate):
		return "its certificate is not valid"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.As(err, &alert):
		return "it refuses the TLS connection"
	case errors.As(err, &lookup):
		return "its name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was lost"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "it cannot be reached"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	default:
		return "the exchange with it failed"
	}
}
