// Package initproto is the protocol between the kernel ring and the init of a guest: the Order from which a
// guest is built, the reports and requests afterwards, and their encoding: JSON, one message a packet, with
// descriptors.
//
// It rejects a message that is cut short, too long or not JSON; init then ends the guest. It imports nothing of
// the project, since init is a small static program.
package initproto
