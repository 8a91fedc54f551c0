package profiles

import "github.com/ringd/ringd/profiles/egress"

// ExitRefused is the exit code of a shell script that was refused something, and of the
// command that ran it.
const ExitRefused = 126

// Code names the reason of a decision. Codes are API: a code is added, never
// renamed.
type Code string

// The codes of decisions.
const (
	CodeAllowed Code = "allowed" // a grant covers the action

	CodeActionMalformed Code = "action.malformed" // not a valid action
	CodeNoPolicy        Code = "policy.none"      // no valid set is in force
	CodeUnknownAgent    Code = "agent.unknown"    // the set has no such agent

	CodeExecutorNotGranted  Code = "executor.not_granted" // the policy does not grant this executor
	CodeExecutorUnavailable Code = "executor_unavailable" // this build or host has no such executor
	CodeTierUnavailable     Code = "tier_unavailable"     // the host cannot give the isolation tier asked for
	CodeRingUnavailable     Code = "ring_unavailable"     // the ring that would enforce this is not there
	CodeHostFull            Code = "host_full"            // the host has no room for another guest
	CodeClosed              Code = "closed"               // the ring, executor or daemon refuses everything
	CodeLockdown            Code = "lockdown"             // an operator closed everything

	CodeImportNotAllowed Code = "import.not_allowed" // no allow rule covers the module
	CodeImportDenied     Code = "import.denied"      // a deny rule covers the module

	CodeBridgeNotGranted     Code = "bridge.not_granted"
	CodeBridgeArguments      Code = "bridge.arguments"       // arguments do not fit the schema
	CodeBridgeArgumentsBytes Code = "bridge.arguments_bytes" // arguments are larger than granted
	CodeBridgeResult         Code = "bridge.result"          // the result does not fit the schema
	CodeBridgeResultBytes    Code = "bridge.result_bytes"    // the result is larger than granted
	CodeBridgeCalls          Code = "bridge.calls"           // calls of the run are used up
	CodeBridgeConcurrent     Code = "bridge.concurrent"      // too many calls at once
	CodeBridgeSpawn          Code = "bridge.spawn"           // one call asks for too many subagents
	CodeBridgeDepth          Code = "bridge.depth"           // the subagent tree is too deep
	CodeBridgeTotal          Code = "bridge.total"           // the subagent tree is too large
	CodeBridgeTimeout        Code = "bridge.timeout"
	CodeBridgeRefused        Code = "bridge.refused_budget" // too many refused calls: the run ends
	CodeBridgeRevoked        Code = "bridge.revoked"        // the policy in force no longer grants it
	CodeBridgeUnavailable    Code = "bridge.unavailable"    // granted, and this host has no provider for it

	CodeGuardrailDenied Code = "guardrail_denied" // a guardrail on calls refuses it
	CodeGuardrailFailed Code = "guardrail_failed" // one of them could not tell, which refuses

	CodeApprovalRequired Code = "approval_required" // people have to approve the call first
	CodeApprovalDenied   Code = "approval_denied"   // somebody refused it
	CodeApprovalExpired  Code = "approval_expired"  // nobody answered in time
	CodeApprovalsFull    Code = "approvals_full"    // too many calls of the agent and actor wait for people

	CodeRuleOfTwo Code = "rule_of_two" // untrusted input, sensitive data and an external effect would meet in the run

	// the policy grants no state between runs, or the host keeps none
	CodeSessionNotGranted Code = "session.not_granted"

	CodeFileNotGranted Code = "file.not_granted"
	CodeFileDenied     Code = "file.denied"
	CodeFilePath       Code = "file.path" // not an absolute, clean path

	CodeExecNotGranted Code = "exec.not_granted"
	// of records before shell.denied_pattern, which is produced since; codes keep their names
	CodeExecDenied  Code = "exec.denied_pattern"
	CodeShellDenied Code = "shell.denied_pattern"

	// Of scripts, and of the words, files and variables of their commands.
	CodeShellParse       Code = "shell.parse"       // it cannot be read
	CodeShellSize        Code = "shell.size"        // too long, or nested too deeply
	CodeShellUnsupported Code = "shell.unsupported" // a construct that would not run as in bash
	// pipes, redirects or substitution, which the policy does not grant
	CodeShellSwitch    Code = "shell.switched_off"
	CodeShellOpaque    Code = "shell.opaque"    // what it would run cannot be read before it runs
	CodeShellUnsettled Code = "shell.unsettled" // neither the text nor a dry run settles it
	CodeShellEndless   Code = "shell.endless"   // the dry run does not come to an end
	CodeShellRedirect  Code = "shell.redirect"  // a file or network that a redirect may not open
	// a sub-command, flag or number of words that the program's rules refuse
	CodeShellSubcommand Code = "shell.subcommand"
	CodeShellConfig     Code = "shell.config" // a configuration key that can start programs
	// words that make an allowed program start another, which is not allowed
	CodeShellStarts  Code = "shell.starts"
	CodeVariable     Code = "shell.variable" // a variable that changes what an allowed program runs or loads
	CodeShellBuiltin Code = "shell.builtin"  // a builtin, or an option of one, that is not granted to scripts

	CodeGuestRefused Code = "guest.refused" // the kernel refused a guest what its profile does not grant

	// Those of package egress; what each means stands there.
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
