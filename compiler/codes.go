package compiler

// The codes of findings about a policy's meaning. They are API: tools match on
// them. schema has those about its text.
const (
	CodeUnsupported    = "unsupported"          // part of the language that nothing compiles yet
	CodeNoPolicy       = "no-policy"            // nothing to compile
	codeNoAgent        = "no-agent"             // the policy is for nobody
	codeDuplicateAgent = "duplicate-agent"      // two policies for one agent
	codeNotAllowed     = "executor-not-allowed" // an executor is set up and not allowed
	codeSize           = "size"                 // not a size
	codeDuration       = "duration"             // not a duration
	CodeLimit          = "limit"                // a limit of zero, or beyond reason
	codeLimitAbove     = "limit-above"          // an executor's limit above that of the agent
	codeBridgeName     = "bridge-name"          // the name is taken in the program
	CodeJSONSchema     = "json-schema"          // a JSON Schema that does not compile
	codeModuleUnknown  = "module-unknown"       // no module has this name
	codeModuleMissing  = "module-missing"       // the module's file is not there
	codeModuleDigest   = "module-digest"        // the module is not what its digest says
	codeModuleTwice    = "module-twice"         // two modules of one name
	codeModuleText     = "module-text"          // the module is no text, or too large
	codeDenyWins       = "deny-wins"            // a denial takes an allowed name back
	codeNeverMatches   = "never-matches"        // a rule that no action can meet
	codePattern        = "pattern"              // not a list of words
	codePath           = "path"                 // not an absolute, clean path
	codeEgressEntry    = "egress-entry"         // not a host, address or range
	codeEgressUnused   = "egress-unused"        // hosts or gateways that the mode of the network leaves out
	codeEgressOpaque   = "egress-opaque"        // methods or paths where no request can be read
	codeEgressBroad    = "egress-broad"         // an entry that covers what nobody has looked at
	codeGateway        = "gateway"              // a gateway that cannot be one
	codeSecret         = "secret"               // what looks like a secret
	codeRate           = "rate"                 // not a rate
	codeDate           = "date"                 // not a date
	codeApproval       = "approval"             // an approval that nobody could give, or that nobody is asked for
	codeModeAudit      = "mode-audit"           // what would be refused is recorded, and happens
	codeSetTooLarge    = "set-too-large"        // the compiled set is above its limit
	CodeEngine         = "engine-missing"       // this build or host lacks the engine that is asked for
)
