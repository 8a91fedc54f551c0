package profiles

import "slices"

// Names of the errors that a program can catch. In JavaScript and in Python each is a class. The
// one exception is ImportDenied, which in Python is ImportError. The names are API: a name may be
// added, never changed.
const (
	ErrorImportDenied      = "ImportDenied"
	ErrorCapabilityDenied  = "CapabilityDenied"  // the policy denies it
	ErrorCapabilityRevoked = "CapabilityRevoked" // a push or an operator removed the grant
	ErrorApprovalDenied    = "ApprovalDenied"    // an approver denied it, or none approved it in time
	ErrorBudgetExceeded    = "BudgetExceeded"
	ErrorArgument          = "ArgumentError"
	ErrorResultTooLarge    = "ResultTooLarge"
	ErrorBridge            = "BridgeError" // the provider of the call failed
)

// Names of the errors that end a run. No program can catch them.
const (
	ErrorTimeout         = "Timeout"
	ErrorOutOfMemory     = "OutOfMemory"
	ErrorDeadlock        = "Deadlock"
	ErrorCancelled       = "Cancelled"
	ErrorGuestLost       = "GuestLost"       // the guest ended without a result
	ErrorPauseExpired    = "PauseExpired"    // the run was paused for longer than allowed
	ErrorApprovalExpired = "ApprovalExpired" // the run was paused for an approval that did not arrive in time
)

// CatchableErrors lists the names of the errors that a program can catch.
func CatchableErrors() []string {
	return []string{ErrorImportDenied, ErrorCapabilityDenied, ErrorCapabilityRevoked, ErrorApprovalDenied,
		ErrorBudgetExceeded, ErrorArgument, ErrorResultTooLarge, ErrorBridge}
}

// IsRefusal reports whether an error of this name means that the policy or an approver denied.
func IsRefusal(name string) bool {
	return slices.Contains([]string{ErrorCapabilityDenied, ErrorCapabilityRevoked, ErrorApprovalDenied}, name)
}
