// Package proxytest is an internet for tests: a network namespace in which every
// address is local, names that a test gives addresses to, and listeners on those
// addresses that keep what arrived. Nothing in it reaches, or is reached from,
// the host's own network.
package proxytest
