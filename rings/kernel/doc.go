// The resource limits of a guest's processes combine those of its executor and of its profile. This file also
// sets them on a guest without an init.

package kernel
