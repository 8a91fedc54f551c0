package profiles

import "slices"

// Names of the errors that a program can catch. In JavaScript and in Python each is a
// class, but ImportDenied, which is ImportError in Python. They are API: a name is
// added, never changed.
const (
	ErrorImportDenied      = "ImportDenied"
	ErrorCapabilityDenied  = "CapabilityDenied"  // the policy denies it
	ErrorCapabilityRevoked = "CapabilityRevoked" // a push or an operator took it away
	ErrorApprovalDenied    = "ApprovalDenied"    // a person denied it, or nobody approved it in time
	ErrorBudgetExceeded    = "BudgetExceeded"
	ErrorArgument          = "ArgumentError"
	ErrorResultTooLarge    = "ResultTooLarge"
	ErrorBridge            = "BridgeError" // what performs the call failed
)

// Names of the errors that end a run; no program can catch them.
const (
	ErrorTimeout         = "Timeout"
	ErrorOutOfMemory     = "OutOfMemory"
	ErrorDeadlock        = "Deadlock"
	ErrorCancelled       = "Cancelled"
	ErrorGuestLost       = "GuestLost"       // the guest ended without an outcome
	ErrorPauseExpired    = "PauseExpired"    // the run was paused longer than it may be
	ErrorApprovalExpired = "ApprovalExpired" // the run was paused for an approval that did not come in time
)

// CatchableErrors returns the names of the errors that a program can catch.
func CatchableErrors() []string {
	return []string{ErrorImportDenied, ErrorCapabilityDenied, ErrorCapabilityRevoked, ErrorApprovalDenied,
		ErrorBudgetExceeded, ErrorArgument, ErrorResultTooLarge, ErrorBridge}
}

// IsRefusal reports whether an error of this name says that the policy or a person
// refused.
func IsRefusal(name string) bool {
	return slices.Contains([]string{ErrorCapabilityDenied, ErrorCapabilityRevoked, ErrorApprovalDenied}, name)
}
