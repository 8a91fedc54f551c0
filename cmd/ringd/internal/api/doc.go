// Package api owns the harness API: the routes, their roles, strict decoding, and the one table that converts
// errors to codes.
//
// It refuses a caller without a role for the route, and a harness that wants to approve, whatever its other
// roles. It refuses bodies with unknown or repeated fields, trailing data, another media type or too many
// bytes. It holds no state of runs or policy: the daemon has that, behind the interfaces of Config.
//
// A caller on the Unix socket is known by the peer's uid and gid. A caller over TCP is known by a token: TLS
// 1.3 comes first, and the uid is not used. A token on the socket is ignored. cmd/ringd calls the package.
package api
