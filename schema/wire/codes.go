package wire

// The codes of Error. If the policy denies, the code is that of the decision instead
// (profiles.Code). Codes are API: a code may be added, never renamed.
const (
	CodeRequestInvalid   = "request_invalid"    // 400: cannot be understood
	CodeUnauthorized     = "unauthorized"       // 401: over TCP, without a valid token
	CodeForbidden        = "forbidden"          // 403: the caller's roles do not allow it
	CodeWrongRole        = "wrong_role"         // 403: the call waits for someone else
	CodeNotFound         = "not_found"          // 404: no such run, call, agent or executor
	CodePathUnknown      = "path_unknown"       // 404: no such path
	CodeMethodNotAllowed = "method_not_allowed" // 405
	CodeSelfApproval     = "self_approval"      // 403: an actor cannot approve its own requests
	CodeNotAnApprover    = "not_an_approver"    // 403: the caller is none of the approvers for whom the call waits
	CodeNotWaiting       = "not_waiting"        // 409: the call waits for no approver, or not for this one any more
	CodeApprovalExpired  = "approval_expired"   // 409: too late
	CodeAlreadyResumed   = "already_resumed"    // 409: another resume was first; the message says whose and when
	// 409: the record of the pause was changed after it was sealed; nothing was loaded
	CodeIntegrity     = "integrity"
	CodeKeyUnknown    = "key_unknown"    // 409: the record is sealed with a key that this daemon does not have
	CodeEngineUnknown = "engine_unknown" // 409: the record needs an engine that this daemon does not have
	CodeFormatUnknown = "format_unknown" // 409: the record has a format that this daemon does not know
	// 409: an approved call needs a bridge that nothing here performs, or whose command is missing
	CodeBridgeUnprovided = "bridge_unprovided"
	// 409: the run could not be resumed for another reason; it stays paused
	CodeResumeFailed     = "resume_failed"
	CodeSessionBusy      = "session_busy"        // 409: another run uses the session
	CodeRunEnded         = "run_ended"           // 409
	CodeAlreadyAnswered  = "already_answered"    // 409: only the first answer is accepted
	CodeParentUnfit      = "parent_unfit"        // 409: not an open call that may start a subagent
	CodeDigestMismatch   = "digest_mismatch"     // 409: the digest is not that of the call's arguments
	CodeTooLarge         = "too_large"           // 413
	CodeMediaType        = "media_type"          // 415: not application/json
	CodeQuota            = "quota"               // 429: too many live runs
	CodeTooManyAttempts  = "too_many_attempts"   // 429: wrong tokens from this address; wait
	CodeCancelled        = "cancelled"           // 499: the caller went away
	CodeInternal         = "internal"            // 500: see the daemon's log, by request id
	CodeDraining         = "draining"            // 503: no new runs
	CodeDiskLow          = "disk_low"            // 503: the disk of the state folder is nearly full; no new runs
	CodeAuditUnavailable = "audit_unavailable"   // 503: audit or store cannot be written
	CodeNotLifted        = "lockdown.not_lifted" // 503: its end cannot be recorded: everything stays closed
	CodeNotArchived      = "not_archived"        // 503: the archive cannot store the audit log, which stays as it is
	CodeNotReady         = "not_ready"           // 503: GET /readyz
)
