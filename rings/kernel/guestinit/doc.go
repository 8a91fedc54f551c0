// This file is the first process of a guest while its program runs: it collects
// what ends, counts processor time, lets a busy guest weigh about as much as one
// process, and ends with the ring or at a limit; with it the kernel ends the whole
// guest. It has no power: package guestinit has taken that before it calls Run.

package guestinit
