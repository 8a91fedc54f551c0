// This file performs the bridge fetch: requests over HTTP for JavaScript
// programs, each hop of a redirect decided, recorded and dialed by package egress
// like anything else that a guest reaches. What a program sees of it is in
// docs/FETCH.md; cmd/ringd constructs the one Provider of a daemon.
//
// It refuses what it cannot read strictly: a target that is no http or https URL, a
// header that is the host's to set, an answer larger than the grant says. It keeps
// no cookies, knows no proxy and no credential, and reads nothing of its
// environment.

package bridges
