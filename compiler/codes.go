package compiler

// The codes of findings about a policy's meaning. They are API: tools match on
// them. schema has those about its text.
const (
	CodeUnsupported    = "unsupported"          // part of the language that nothing compiles yet
	CodeNoPolicy       = "no-policy"            // nothing to compile
	CodeNoAgent        = "no-agent"             // the policy is for nobody
	CodeDuplicateAgent = "duplicate-agent"      // two policies for one agent
	CodeNotAllowed     = "executor-not-allowed" // an executor is set up and not allowed
	CodeSize           = "size"                 // not a size
	CodeDuration       = "duration"             // not a duration
	CodeLimit          = "limit"                // a limit of zero, or beyond reason
	CodeLimitAbove     = "limit-above"          // an executor's limit above that of the agent
	CodeBridgeName     = "bridge-name"          // the name is taken in the program
	CodeJSONSchema     = "json-schema"          // a JSON Schema that does not compile
	CodeModuleUnknown  = "module-unknown"       // no module has this name
	CodeModuleMissing  = "module-missing"       // the module's file is not there
	CodeModuleDigest   = "module-digest"        // the module is not what its digest says
	CodeModuleTwice    = "module-twice"         // two modules of one name
	CodeModuleText     = "module-text"          // the module is no text, or too large
	CodeDenyWins       = "deny-wins"            // a denial takes an allowed name back
	CodeNeverMatches   = "never-matches"        // a rule that no action can meet
	CodePattern        = "pattern"              // not a list of words
	CodePath           = "path"                 // not an absolute, clean path
	CodeEgressEntry    = "egress-entry"         // not a host, address or range
	CodeEgressUnused   = "egress-unused"        // hosts or gateways that the mode of the network leaves out
	CodeEgressOpaque   = "egress-opaque"        // methods or paths where no request can be read
	CodeEgressBroad    = "egress-broad"         // an entry that covers what nobody has looked at
	CodeGateway        = "gateway"              // a gateway that cannot be one
	CodeSecret         = "secret"               // what looks like a secret
	CodeRate           = "rate"                 // not a rate
	CodeDate           = "date"                 // not a date
	CodeApproval       = "approval"             // an approval that nobody could give, or that nobody is asked for
	CodeModeAudit      = "mode-audit"           // what would be refused is recorded, and happens
	CodeSetTooLarge    = "set-too-large"        // the compiled set is above its limit
	CodeEngine         = "engine-missing"       // this build or host lacks the engine that is asked for
)
