// Package initproto owns what the kernel ring and the init of a guest tell each other: the
// Order that a guest is built from, the reports and questions afterwards, and how they are
// sent: as JSON, one message a packet, with descriptors.
//
// It refuses a message that is cut, too long or no JSON; init then ends the guest. It
// imports nothing of the project, since init is a small static program.
package initproto
