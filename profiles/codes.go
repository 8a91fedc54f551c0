package profiles

import "github.com/ringd/ringd/profiles/egress"

// ExitRefused is the exit code of a shell script that was denied something, and of the command that ran it.
const ExitRefused = 126

// Code names the reason of a decision. Codes are API: they may be added, never renamed.
type Code string

// The codes of decisions.
const (
	CodeAllowed Code = "allowed" // a grant covers the action

	CodeActionMalformed Code = "action.malformed" // not a valid action
	CodeNoPolicy        Code = "policy.none"      // no valid set is in force
	CodeUnknownAgent    Code = "agent.unknown"    // the set has no such agent

	CodeExecutorNotGranted  Code = "executor.not_granted" // the policy does not grant this executor
	CodeExecutorUnavailable Code = "executor_unavailable" // this build or host has no such executor
	CodeTierUnavailable     Code = "tier_unavailable"     // the host cannot provide the required isolation tier
	CodeRingUnavailable     Code = "ring_unavailable"     // the ring that would enforce this is not available
	CodeHostFull            Code = "host_full"            // the host has no capacity for another guest
	CodeClosed              Code = "closed"               // the ring, executor or daemon denies everything
	CodeLockdown            Code = "lockdown"             // an operator locked the host down

	CodeImportNotAllowed Code = "import.not_allowed" // no allow rule covers the module
	CodeImportDenied     Code = "import.denied"      // a deny rule covers the module

	CodeBridgeNotGranted     Code = "bridge.not_granted"
	CodeBridgeArguments      Code = "bridge.arguments"       // the arguments do not match the schema
	CodeBridgeArgumentsBytes Code = "bridge.arguments_bytes" // the arguments are larger than granted
	CodeBridgeResult         Code = "bridge.result"          // the result does not match the schema
	CodeBridgeResultBytes    Code = "bridge.result_bytes"    // the result is larger than granted
	CodeBridgeCalls          Code = "bridge.calls"           // the run has used up its calls
	CodeBridgeConcurrent     Code = "bridge.concurrent"      // too many concurrent calls
	CodeBridgeSpawn          Code = "bridge.spawn"           // one call asks for too many subagents
	CodeBridgeDepth          Code = "bridge.depth"           // the subagent tree is too deep
	CodeBridgeTotal          Code = "bridge.total"           // the subagent tree is too large
	CodeBridgeTimeout        Code = "bridge.timeout"
	CodeBridgeRefused        Code = "bridge.refused_budget" // too many denied calls: the run ends
	CodeBridgeRevoked        Code = "bridge.revoked"        // the policy in force no longer grants the bridge
	CodeBridgeUnavailable    Code = "bridge.unavailable"    // granted, but this host has no provider for it

	CodeGuardrailDenied Code = "guardrail_denied" // a guardrail on calls denies it
	CodeGuardrailFailed Code = "guardrail_failed" // a guardrail on calls could not be evaluated, which denies

	CodeApprovalRequired Code = "approval_required" // the call needs an approval first
	CodeApprovalDenied   Code = "approval_denied"   // an approver denied it
	CodeApprovalExpired  Code = "approval_expired"  // no approver answered in time
	CodeApprovalsFull    Code = "approvals_full"    // the agent and actor have too many calls waiting for approval

	CodeRuleOfTwo Code = "rule_of_two" // untrusted input, sensitive data and an external effect would meet in the run

	// the policy grants no state between runs, or the host keeps none
	CodeSessionNotGranted Code = "session.not_granted"

	CodeFileNotGranted Code = "file.not_granted"
	CodeFileDenied     Code = "file.denied"
	CodeFilePath       Code = "file.path" // not an absolute, clean path

	CodeExecNotGranted Code = "exec.not_granted"
	CodeExecDenied     Code = "exec.denied_pattern" // only in old records; replaced by shell.denied_pattern
	CodeShellDenied    Code = "shell.denied_pattern"

	// Scripts, and the arguments, files and variables of their commands.
	CodeShellParse       Code = "shell.parse"        // the script does not parse
	CodeShellSize        Code = "shell.size"         // too long, or nested too deeply
	CodeShellUnsupported Code = "shell.unsupported"  // a construct that would behave differently from bash
	CodeShellSwitch      Code = "shell.switched_off" // pipes, redirects or substitution that the policy does not grant
	CodeShellOpaque      Code = "shell.opaque"       // the code that it would run cannot be read in advance
	CodeShellUnsettled   Code = "shell.unsettled"    // neither the text nor a dry run gives the final arguments
	CodeShellEndless     Code = "shell.endless"      // the dry run does not end
	CodeShellRedirect    Code = "shell.redirect"     // a redirect to a file or network that is not granted
	// a sub-command, flag or number of arguments that the program's rules deny
	CodeShellSubcommand Code = "shell.subcommand"
	CodeShellConfig     Code = "shell.config"   // a configuration key that can start programs
	CodeShellStarts     Code = "shell.starts"   // arguments make an allowed program start one that is not allowed
	CodeVariable        Code = "shell.variable" // a variable that changes what an allowed program runs or loads
	CodeShellBuiltin    Code = "shell.builtin"  // a builtin, or an option of one, that scripts do not have

	CodeGuestRefused Code = "guest.refused" // the kernel denied a guest something that its profile does not grant

	// Codes of package egress, documented there.
	CodeEgressOff        = Code(egress.Off)
	CodeEgressNotGranted = Code(egress.NotGranted)
	CodeEgressPort       = Code(egress.Port)
	codeEgressDenied     = Code(egress.Denied)
	CodeEgressExpired    = Code(egress.Expired)
	CodeEgressTarget     = Code(egress.Target)
	CodeEgressAddress    = Code(egress.Address)
	CodeEgressNoAddress  = Code(egress.NoAddress)
	CodeEgressNotTLS     = Code(egress.NotTLS)
	CodeEgressSNI        = Code(egress.SNI)
	CodeEgressECH        = Code(egress.ECH)
	CodeEgressRequest    = Code(egress.Request)
	codeEgressMethod     = Code(egress.Method)
	codeEgressPath       = Code(egress.Path)
	CodeEgressField      = Code(egress.Field)
	CodeEgressRedirect   = Code(egress.Redirect)
	codeEgressOpaque     = Code(egress.Opaque)
	CodeEgressBudget     = Code(egress.Budget)
	CodeEgressGateway    = Code(egress.Gateways)
)
