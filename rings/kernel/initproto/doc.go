// Package talk is how the init of a guest sends and receives messages: JSON, one
// message a packet, with descriptors. What is cut, too long or no JSON is an error,
// on which init ends the guest.
package initproto
