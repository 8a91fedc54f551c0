package rules

// Names of the errors that a program can catch.
const (
	NameDenied         = "CapabilityDenied"
	NameRevoked        = "CapabilityRevoked"
	NameUnapproved     = "ApprovalDenied"
	NameBudget         = "BudgetExceeded"
	NameArgument       = "ArgumentError"
	NameResultTooLarge = "ResultTooLarge"
	NameBridge         = "BridgeError"
)

// IsRefusal reports whether an error of this name says that the policy or a
// person refused.
func IsRefusal(name string) bool {
	return name == NameDenied || name == NameRevoked || name == NameUnapproved
}
