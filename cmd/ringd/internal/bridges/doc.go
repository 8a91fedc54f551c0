// Package provider performs bridges with commands of the host. A command is
// configured by the host's owner, never by policy or program; it gets the
// arguments on stdin and prints the result on stdout, both as JSON.
package bridges
