// This file is what a guest and the daemon say to each other through: the
// connection of the guest protocol and the standard streams, as the daemon holds
// them. The kernel ring makes them and closes them.

package kernel
