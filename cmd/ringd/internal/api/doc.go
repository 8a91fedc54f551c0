// Package api owns the harness API: the routes, who may use them, strict
// decoding, and the one table that turns errors into codes.
//
// It refuses a caller without a role for the route, bodies with unknown or
// repeated fields, trailing data, another media type or too many bytes, and a
// harness that wants to approve, whatever else it is. It holds no state of runs
// or policy: the daemon has that behind Runs and Views.
//
// Who calls is known from the peer's uid and gid on the Unix socket, and from a
// token over TCP, where TLS 1.3 comes first and no uid counts. The two never mix.
package api
