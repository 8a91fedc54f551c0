package wire

// The codes of Error. Beside these, a refusal by policy has the code of its
// decision (profiles.Code). Codes are API: one is added, never renamed.
const (
	CodeRequestInvalid   = "request_invalid"    // 400: cannot be understood
	CodeUnauthorized     = "unauthorized"       // 401: over TCP, no token that counts
	CodeForbidden        = "forbidden"          // 403: not with the caller's roles
	CodeWrongRole        = "wrong_role"         // 403: the call waits for someone else
	CodeNotFound         = "not_found"          // 404: no such run, call, agent or executor
	CodePathUnknown      = "path_unknown"       // 404: no such path
	CodeMethodNotAllowed = "method_not_allowed" // 405
	CodeSelfApproval     = "self_approval"      // 403: nobody approves what was asked in its own name
	CodeNotAnApprover    = "not_an_approver"    // 403: not one of those whom the call waits for
	CodeNotWaiting       = "not_waiting"        // 409: the call waits for no approver, or not for this one any more
	CodeApprovalExpired  = "approval_expired"   // 409: too late
	CodeAlreadyResumed   = "already_resumed"    // 409: another resume won; the message says whose and when
	// 409: the record of the pause is not what was sealed; nothing was loaded
	CodeIntegrity     = "integrity"
	CodeKeyUnknown    = "key_unknown"    // 409: the record is sealed with a key that this daemon does not have
	CodeEngineUnknown = "engine_unknown" // 409: the record needs an engine that this daemon does not have
	CodeFormatUnknown = "format_unknown" // 409: the record has a format that this daemon does not know
	// 409: an approved call needs a bridge that nothing here performs, or whose command is missing
	CodeBridgeUnprovided = "bridge_unprovided"
	// 409: the run could not be resumed for another reason; it stays paused
	CodeResumeFailed     = "resume_failed"
	CodeSessionBusy      = "session_busy"        // 409: another run has the session
	CodeRunEnded         = "run_ended"           // 409
	CodeAlreadyAnswered  = "already_answered"    // 409: the first answer counts
	CodeParentUnfit      = "parent_unfit"        // 409: not an open call that may start a subagent
	CodeDigestMismatch   = "digest_mismatch"     // 409: answered for other arguments
	CodeTooLarge         = "too_large"           // 413
	CodeMediaType        = "media_type"          // 415: not application/json
	CodeQuota            = "quota"               // 429: too many live runs
	CodeTooManyAttempts  = "too_many_attempts"   // 429: wrong tokens from this address; wait
	CodeCancelled        = "cancelled"           // 499: the caller went away
	CodeInternal         = "internal"            // 500: see the daemon's log, by request id
	CodeDraining         = "draining"            // 503: no new runs
	CodeDiskLow          = "disk_low"            // 503: the disk of the state folder is nearly full; no new runs
	CodeAuditUnavailable = "audit_unavailable"   // 503: audit or store cannot be written
	CodeNotLifted        = "lockdown.not_lifted" // 503: its end cannot be written down: everything stays closed
	CodeNotArchived      = "not_archived"        // 503: the archive cannot take the audit log, which stays as it is
	CodeNotReady         = "not_ready"           // 503: GET /readyz
)
