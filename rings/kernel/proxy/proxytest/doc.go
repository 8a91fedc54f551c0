// Package proxytest is an internet for tests: a network namespace in which every address is local, names with
// addresses that a test sets, and listeners on those addresses that record what arrives. It has no connection
// to the host's own network.
package proxytest
