// Package bridges performs bridges on the host: a command of the host's owner, fetch, and
// shell scripts that a program asks for. A bridge is configured by the owner of the host,
// never by a policy or a program. A command reads its arguments as JSON on its standard
// input and writes its result as JSON.
//
// It refuses what is too large, too late, or no value. The interpreter ring calls it after
// the call was decided and recorded.
package bridges
