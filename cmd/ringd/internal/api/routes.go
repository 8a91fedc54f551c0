package api

import (
	"net/http"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Route is one route of the API. The server and the OpenAPI document use it.
type Route struct {
	Method   string
	Path     string
	Name     string // operation id
	Summary  string
	Roles    []Role // roles that may use it; empty means every known peer
	Waits    bool   // may take as long as the caller asks for
	Query    []param
	Request  any    // a value of the body's type; nil means no body
	Response any    // a value of the answer's type, or of an event's type
	Content  string // empty means application/json
	Success  int    // zero means 200
	Unread   bool   // 304 without a body if the caller has the current version
	Codes    []string

	handle func(*Server, *call) error
}

// param is a query parameter or a header.
type param struct {
	Name, In, Text string
	Many           bool // may be repeated
}

// OneOrMore is a body that is one value or a list of them.
type OneOrMore struct{ Of any }

// Routes returns the table of the API. It is the only list of routes.
func Routes() []Route {
	return slices.Concat(runRoutes(), pausedRoutes(), agentRoutes(), hostRoutes())
}

func everyone() []Role { return []Role{Harness, Approver, Operator, Viewer} }

// runRoutes starts runs, and shows and ends them.
func runRoutes() []Route {
	return []Route{
		{Method: "POST", Path: "/v1/runs", Name: "startRun", Summary: "Start a program under the policy in force",
			Roles: []Role{Harness}, Waits: true, Request: wire.RunRequest{}, Response: wire.Run{},
			Success: http.StatusCreated,
			Codes: []string{wire.CodeRequestInvalid, wire.CodeQuota, wire.CodeDraining, wire.CodeDiskLow,
				wire.CodeAuditUnavailable,
				wire.CodeNotFound, wire.CodeRunEnded, wire.CodeParentUnfit, wire.CodeSessionBusy,
				string(profiles.CodeBridgeDepth), string(profiles.CodeBridgeRevoked),
				string(profiles.CodeNoPolicy), string(profiles.CodeClosed), string(profiles.CodeLockdown),
				string(profiles.CodeUnknownAgent),
				string(profiles.CodeExecutorNotGranted), string(profiles.CodeExecutorUnavailable),
				string(profiles.CodeTierUnavailable)},
			handle: (*Server).startRun},
		{Method: "GET", Path: "/v1/runs", Name: "listRuns", Summary: "List runs, newest first; a harness sees its own",
			Roles: everyone(), Response: wire.RunList{}, Query: []param{
				{Name: "id", In: "query", Text: "runs whose id begins with this; at least 4 letters"},
				{Name: "agent", In: "query", Text: "of this agent"},
				{Name: "state", In: "query", Text: "in this state; may be repeated", Many: true},
				{Name: "before", In: "query", Text: "created before this RFC 3339 time"},
				{Name: "limit", In: "query", Text: "maximum number, 1 to 1000"}},
			Codes: []string{wire.CodeRequestInvalid}, handle: (*Server).listRuns},
		{Method: "GET", Path: "/v1/runs/{id}", Name: "getRun", Summary: "The current state of a run",
			Roles: everyone(), Waits: true, Response: wire.Run{},
			Query: []param{{Name: "wait_ms", In: "query", Text: "wait at most this time for the run to pause or end"}},
			Codes: []string{wire.CodeNotFound, wire.CodeAuditUnavailable}, handle: (*Server).getRun},
		{Method: "GET", Path: "/v1/runs/{id}/events", Name: "runEvents",
			Summary: "Server-sent events: console, call, decision, state; each data line is an Event",
			Roles:   everyone(), Waits: true, Response: wire.Event{}, Content: "text/event-stream",
			Query: []param{{Name: "Last-Event-ID", In: "header", Text: "continue after this event"},
				{Name: "after", In: "query", Text: "the same, for a first request"}},
			Codes: []string{wire.CodeNotFound}, handle: (*Server).runEvents},
		{Method: "POST", Path: "/v1/runs/{id}/answers", Name: "answerRun",
			Summary: "Settle calls that wait for the harness",
			Roles:   []Role{Harness}, Waits: true, Request: wire.Answers{}, Response: wire.Run{},
			Codes: []string{wire.CodeRequestInvalid, wire.CodeNotFound, wire.CodeRunEnded, wire.CodeAlreadyAnswered,
				wire.CodeDigestMismatch, wire.CodeWrongRole, wire.CodeIntegrity, wire.CodeKeyUnknown,
				string(profiles.CodeBridgeRevoked), string(profiles.CodeLockdown), wire.CodeAuditUnavailable},
			handle: (*Server).answerRun},
		{Method: "POST", Path: "/v1/runs/{id}/cancel", Name: "cancelRun",
			Summary: "End a run; it can start no further effect",
			Roles:   []Role{Harness, Operator}, Waits: true, Response: wire.Run{},
			Codes: []string{wire.CodeNotFound, wire.CodeRunEnded}, handle: (*Server).cancelRun},
	}
}

// pausedRoutes shows and settles what runs wait for, and revokes their grants.
func pausedRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/approvals", Name: "listApprovals", Summary: "Calls that wait for an approval",
			Roles: []Role{Approver, Operator, Viewer}, Response: wire.Approvals{},
			Query: []param{{Name: "limit", In: "query", Text: "maximum number, 1 to 500; default: 100"},
				{Name: "after", In: "query", Text: "next of the page before"}},
			Codes: []string{wire.CodeRequestInvalid}, handle: (*Server).listApprovals},
		{Method: "GET", Path: "/v1/runs/{id}/calls/{call}", Name: "getCall",
			Summary: "A call that waits for an approval, with all of its arguments",
			Roles:   everyone(), Response: wire.WaitingCall{},
			Codes:  []string{wire.CodeNotFound, wire.CodeNotWaiting, wire.CodeIntegrity, wire.CodeKeyUnknown},
			handle: (*Server).getCall},
		{Method: "POST", Path: "/v1/approvals/{run}/{call}", Name: "approve",
			Summary: "Allow or deny a call that waits for an approval, after it was shown; the answer is valid for " +
				"the given digest only",
			Roles: []Role{Approver}, Waits: true, Request: wire.ApprovalAnswer{}, Response: wire.Run{},
			Codes: []string{wire.CodeRequestInvalid, wire.CodeNotFound, wire.CodeNotWaiting, wire.CodeIntegrity,
				wire.CodeKeyUnknown, wire.CodeDigestMismatch, wire.CodeSelfApproval,
				wire.CodeNotAnApprover, wire.CodeApprovalExpired, wire.CodeAlreadyAnswered, wire.CodeRunEnded,
				string(profiles.CodeLockdown), wire.CodeQuota, wire.CodeAuditUnavailable},
			handle: (*Server).approve},
		{Method: "POST", Path: "/v1/runs/{id}/resume", Name: "resumeRun",
			Summary: "Retry the resume of a run whose calls are answered and that an error stopped",
			Roles:   []Role{Harness, Operator, Approver}, Waits: true, Response: wire.Run{},
			Codes: []string{wire.CodeNotFound, wire.CodeRunEnded, wire.CodeNotWaiting, wire.CodeAlreadyResumed,
				wire.CodeIntegrity, wire.CodeKeyUnknown,
				wire.CodeEngineUnknown, wire.CodeFormatUnknown, wire.CodeBridgeUnprovided, wire.CodeResumeFailed,
				string(profiles.CodeLockdown), wire.CodeQuota, wire.CodeDraining, wire.CodeDiskLow,
				wire.CodeAuditUnavailable},
			handle: (*Server).resumeRun},
		{Method: "POST", Path: "/v1/runs/{id}/revoke", Name: "revoke",
			Summary: "Revoke grants of a run for good, while it runs or waits",
			Roles:   []Role{Harness, Operator, Approver}, Waits: true, Request: wire.Revocation{}, Response: wire.Run{},
			Codes: []string{wire.CodeRequestInvalid, wire.CodeNotFound, wire.CodeRunEnded, wire.CodeQuota,
				wire.CodeAuditUnavailable}, handle: (*Server).revoke},
	}
}

// agentRoutes tells what an agent keeps and may do.
func agentRoutes() []Route {
	agentsAnd := []param{{Name: "If-None-Match", In: "header", Text: "the ETag of what the caller has"},
		{Name: "wait", In: "query", Text: "long-poll for the next revision, for at most this time: 30s"}}
	return []Route{
		{Method: "GET", Path: "/v1/sessions", Name: "listSessions", Summary: "Kept sessions; a harness sees its own",
			Roles: everyone(), Response: wire.SessionList{}, handle: (*Server).listSessions},
		{Method: "DELETE", Path: "/v1/sessions/{name}", Name: "dropSession", Summary: "Drop a session",
			Roles: []Role{Harness, Operator}, Response: wire.SessionList{},
			Query:  []param{{Name: "actor", In: "query", Text: "actor of the session; default: the caller"}},
			Codes:  []string{wire.CodeNotFound, wire.CodeSessionBusy, wire.CodeQuota, wire.CodeAuditUnavailable},
			handle: (*Server).dropSession},
		{Method: "GET", Path: "/v1/agents/{agent}/profiles/{executor}", Name: "getProfile",
			Summary: "What an agent may do in an executor, under the revision in force",
			Roles:   everyone(), Waits: true, Response: wire.Profile{}, Query: agentsAnd, Unread: true,
			Codes:  []string{wire.CodeNotFound, wire.CodeRequestInvalid, string(profiles.CodeLockdown)},
			handle: (*Server).getProfile},
		{Method: "GET", Path: "/v1/agents/{agent}/types.d.ts", Name: "getTypes",
			Summary: "TypeScript declarations of the bridges granted to an agent's JavaScript",
			Roles:   everyone(), Waits: true, Content: "application/typescript", Query: agentsAnd, Unread: true,
			Codes:  []string{wire.CodeNotFound, wire.CodeRequestInvalid, string(profiles.CodeLockdown)},
			handle: (*Server).getTypes},
		{Method: "POST", Path: "/v1/decide", Name: "decide",
			Summary: "Decide one action, or a list of them; nothing runs",
			Roles:   everyone(), Request: OneOrMore{wire.Action{}}, Response: OneOrMore{profiles.Decision{}},
			Query:  []param{{Name: "agent", In: "query", Text: "for this agent; default: default"}},
			Codes:  []string{wire.CodeRequestInvalid, wire.CodeQuota, wire.CodeAuditUnavailable},
			handle: (*Server).decide},
	}
}

// hostRoutes is about the daemon and its machine.
func hostRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/status", Name: "status",
			Summary: "What is in force, and why the last push was refused",
			Roles:   everyone(), Response: wire.Status{}, handle: (*Server).status},
		{Method: "GET", Path: "/v1/lockdown", Name: "getLockdown",
			Summary: "The state of the lockdown: by whom, when and why",
			Roles:   everyone(), Response: wire.Lockdown{}, handle: (*Server).getLockdown},
		{Method: "POST", Path: "/v1/lockdown", Name: "setLockdown",
			Summary: "Close everything, including running guests, or lift the lockdown; repeating it changes nothing",
			Roles:   []Role{Operator}, Request: wire.LockdownOrder{}, Response: wire.Lockdown{},
			Codes: []string{wire.CodeRequestInvalid, wire.CodeNotLifted}, handle: (*Server).setLockdown},
		{Method: "POST", Path: "/v1/clock", Name: "acceptTime",
			Summary: "Make the current time the latest seen, after the host's clock was ahead",
			Roles:   []Role{Operator}, Request: wire.ClockOrder{}, Response: wire.Clock{},
			Codes: []string{wire.CodeRequestInvalid, wire.CodeAuditUnavailable}, handle: (*Server).acceptTime},
		{Method: "POST", Path: "/v1/audit/archive", Name: "archiveAudit",
			Summary: "Move the oldest records of the audit log to the configured archive",
			Roles:   []Role{Operator}, Waits: true, Request: wire.ArchiveOrder{}, Response: wire.Archived{},
			Codes:  []string{wire.CodeRequestInvalid, wire.CodeNotArchived, wire.CodeAuditUnavailable},
			handle: (*Server).archiveAudit},
		{Method: "GET", Path: "/healthz", Name: "healthz", Summary: "The process answers",
			Response: wire.Health{}, handle: (*Server).healthz},
		{Method: "GET", Path: "/readyz", Name: "readyz", Summary: "New runs are accepted",
			Response: wire.Health{}, Codes: []string{wire.CodeNotReady}, handle: (*Server).readyz},
		{Method: "GET", Path: "/metrics", Name: "metrics", Summary: "Metrics for Prometheus",
			Roles: []Role{Operator, Viewer}, Content: "text/plain", handle: (*Server).metrics},
		{Method: "GET", Path: "/openapi.json", Name: "openapi", Summary: "This document",
			Content: "application/json", handle: (*Server).openapi},
	}
}
