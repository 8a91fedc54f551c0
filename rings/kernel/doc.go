// This file owns the resource limits of a guest's processes: which those of
// its executor and its profile come to, and how they are set on one that has no
// init. The kernel ring calls it.

package kernel
