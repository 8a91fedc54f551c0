// Any-IP makes every address local to a network namespace that has nothing but loopback. A listener on a port
// then accepts connections to that port of any address, and the local address of a connection is its intended
// destination. The init of a guest uses it, and so do tests, whose internet is a namespace of their own.
//
// It must never be used in the network of a host: no packet would leave it.

package guestinit
