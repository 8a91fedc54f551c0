// A guest and the daemon communicate over the connection of the guest protocol and over the standard streams.
// The kernel ring makes both and closes them.

package kernel
