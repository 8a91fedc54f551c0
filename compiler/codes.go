package compiler

// Codes of findings about the meaning of a policy. They are API: tools match on them. Package schema has the
// codes of findings about its text.
const (
	CodeUnsupported    = "unsupported"          // a part of the language that is not compiled yet
	CodeNoPolicy       = "no-policy"            // nothing to compile
	codeNoAgent        = "no-agent"             // the policy names no agent
	codeDuplicateAgent = "duplicate-agent"      // two policies for one agent
	codeNotAllowed     = "executor-not-allowed" // an executor is configured but not allowed
	codeSize           = "size"                 // not a size
	codeDuration       = "duration"             // not a duration
	CodeLimit          = "limit"                // a limit of zero, or an unreasonable one
	codeLimitAbove     = "limit-above"          // an executor's limit above that of the agent
	codeBridgeName     = "bridge-name"          // another bridge or the language already uses the name
	CodeJSONSchema     = "json-schema"          // a JSON Schema that does not compile
	codeModuleUnknown  = "module-unknown"       // no module has this name
	codeModuleMissing  = "module-missing"       // the module's file is missing
	codeModuleDigest   = "module-digest"        // the module does not match its digest
	codeModuleTwice    = "module-twice"         // two modules with one name
	codeModuleText     = "module-text"          // the module is not text, or too large
	codeDenyWins       = "deny-wins"            // a denied name covers an allowed one
	codeNeverMatches   = "never-matches"        // a rule that no action can match
	codePattern        = "pattern"              // not a list of words
	codePath           = "path"                 // not an absolute, clean path
	codeEgressEntry    = "egress-entry"         // not a host, address or range
	codeEgressUnused   = "egress-unused"        // hosts or gateways that the network mode ignores
	codeEgressOpaque   = "egress-opaque"        // methods or paths where requests cannot be read
	codeEgressBroad    = "egress-broad"         // a very broad entry
	codeGateway        = "gateway"              // an invalid gateway
	codeSecret         = "secret"               // text that looks like a secret
	codeRate           = "rate"                 // not a rate
	codeDate           = "date"                 // not a date
	codeApproval       = "approval"             // an approval that cannot be given, or is never needed
	codeModeAudit      = "mode-audit"           // denied actions are recorded and still happen
	codeSetTooLarge    = "set-too-large"        // the compiled set is too large
	CodeEngine         = "engine-missing"       // this build or host lacks the required engine
)
