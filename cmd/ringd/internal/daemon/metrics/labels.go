package metrics

import "github.com/ringd/ringd/profiles"

// The closed lists of label values. They are functions, so that no caller can change a list.

func states() []string {
	return []string{"done", "failed", "denied", "paused", "limit", "cancelled", "unknown"}
}

func verdicts() []string { return []string{"allow", "ask", "deny"} }

func results() []string { return []string{"applied", "unchanged", "rejected"} }

func callStates() []string { return []string{"done", "failed", "unrun", "unknown"} }

func pauseSteps() []string { return []string{"paused", "resumed", "expired", "cancelled", "refused"} }

func approvals() []string { return []string{"allow", "deny", "refused"} }

func tellings() []string { return []string{"heard", "failed"} }

func places() []string { return []string{"archive", "audit", "store"} }

// acts returns the kinds of records about acts of guests.
func acts() []string { return []string{"exec_decided", "file_decided", "variable_decided"} }

func executors() []string { return []string{"js", "python", "shell"} }

// layers returns the layers of rings/kernel that report what they refuse. A test compares the list with that
// package.
func layers() []string { return []string{"exec", "landlock", "rlimits", "seal", "seccomp"} }

func codes() []string {
	all := []profiles.Code{
		profiles.CodeAllowed, profiles.CodeActionMalformed, profiles.CodeNoPolicy, profiles.CodeUnknownAgent,
		profiles.CodeExecutorNotGranted, profiles.CodeExecutorUnavailable, profiles.CodeTierUnavailable,
		profiles.CodeRingUnavailable, profiles.CodeHostFull, profiles.CodeClosed, profiles.CodeLockdown,
		profiles.CodeImportNotAllowed, profiles.CodeImportDenied,
		profiles.CodeBridgeNotGranted, profiles.CodeBridgeArguments, profiles.CodeBridgeArgumentsBytes,
		profiles.CodeBridgeResult, profiles.CodeBridgeResultBytes, profiles.CodeBridgeCalls,
		profiles.CodeBridgeConcurrent, profiles.CodeBridgeSpawn, profiles.CodeBridgeDepth, profiles.CodeBridgeTotal,
		profiles.CodeBridgeTimeout, profiles.CodeBridgeRefused, profiles.CodeBridgeRevoked,
		profiles.CodeFileNotGranted, profiles.CodeFileDenied, profiles.CodeFilePath, profiles.CodeExecNotGranted,
		profiles.CodeExecDenied, profiles.CodeShellDenied, profiles.CodeGuestRefused,
		profiles.CodeApprovalRequired, profiles.CodeApprovalDenied, profiles.CodeApprovalExpired,
		profiles.CodeApprovalsFull, profiles.CodeRuleOfTwo,
		profiles.CodeShellParse, profiles.CodeShellSize, profiles.CodeShellUnsupported, profiles.CodeShellSwitch,
		profiles.CodeShellOpaque, profiles.CodeShellUnsettled, profiles.CodeShellEndless, profiles.CodeShellRedirect,
		profiles.CodeShellSubcommand, profiles.CodeShellConfig, profiles.CodeShellStarts, profiles.CodeVariable,
		profiles.CodeShellBuiltin,
	}
	out := egressCodes()
	for _, c := range all {
		out = append(out, string(c))
	}
	return out
}
