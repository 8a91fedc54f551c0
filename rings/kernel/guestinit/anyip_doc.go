// This file makes every address local to a network namespace that has nothing
// but loopback: a listener on a port then takes connections to that port of any
// address, and the local address of each is where it was meant to go. The init of
// a guest calls it; so do tests, whose internet is a namespace of their own.
//
// It never belongs into the network of a host: nothing there would leave it.

package guestinit
